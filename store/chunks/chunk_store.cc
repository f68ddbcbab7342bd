#include "store/chunks/chunk_store.h"

#include <cstring>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/assert.h"
#include "base/log.h"

namespace braid::store {
namespace {

// `compressed`: of each, or empty.
std::vector<Containers::NewChunk> with_compressed(std::span<const Containers::NewChunk> chunks,
                                                  const std::vector<base::Bytes>& compressed) {
  std::vector<Containers::NewChunk> out(chunks.begin(), chunks.end());
  for (std::size_t i = 0; i < compressed.size(); ++i) out[i].compressed = compressed[i];
  return out;
}

}  // namespace

base::Result<ChunkRef> ChunkStore::put(ChunkKind kind, base::BytesView bytes) {
  const auto named = named_bytes(kind, bytes);
  if (!named) return base::fail(EINVAL);
  return put(kind, keys_.id_of(kind, *named), bytes);
}

// Where it lies, not where it was: what a recipe names is what is kept. From when it is referred to, it does
// not move any more.
std::optional<ChunkRef> ChunkStore::found(ChunkKind kind, const Containers::NewChunk& chunk,
                                          std::optional<Location>& next, const Hint& hint) {
  if (const auto guess = std::exchange(next, std::nullopt))
    if (const auto there = found_at(kind, chunk, *guess, next)) return there;
  std::optional<Location> known = hint ? hint(chunk.id) : std::nullopt;
  if (!known && indexes(kind)) known = index_->find(chunk.id);
  if (!known) return std::nullopt;
  const auto place = containers_.place_of(*known);
  return place ? found_at(kind, chunk, *place, next) : std::nullopt;
}

// A hit is where the bytes are, byte by byte: neither the index nor an id is believed. A node with other
// locations in it is none: nobody keeps what these lead to.
std::optional<ChunkRef> ChunkStore::found_at(ChunkKind kind, const Containers::NewChunk& chunk, Location at,
                                             std::optional<Location>& next) {
  const std::uint64_t place = at.packed();
  if (bad_.with([place](const auto& bad) { return bad.contains(place); })) return std::nullopt;
  if (!pins_.refer(at.container)) return std::nullopt;
  const Containers::Held held = containers_.holds(at, kind, chunk.id, chunk.bytes);
  if (!held.whole) return std::nullopt;
  next = held.next;
  ++chunks_found_;
  bytes_found_ += chunk.bytes.size();
  return ChunkRef{.id = chunk.id, .at = at, .bytes = static_cast<std::uint32_t>(chunk.bytes.size())};
}

base::Result<ChunkRef> ChunkStore::put(ChunkKind kind, const hashing::Digest& id, base::BytesView bytes) {
  const std::scoped_lock lock(putting(id));
  const Containers::NewChunk chunk{.id = id, .bytes = bytes};
  std::optional<Location> next;
  if (const auto there = found(kind, chunk, next, {})) return *there;
  const std::optional<ChunkRef> unknown;
  const std::vector<base::Bytes> compressed = compress(kind, std::span(&chunk, 1), std::span(&unknown, 1));
  const auto added = append(kind, with_compressed(std::span(&chunk, 1), compressed));
  if (!added) return base::fail(added.error());
  ++chunks_added_;
  return added->front();
}

base::Result<std::vector<ChunkRef>> ChunkStore::put_all(ChunkKind kind,
                                                        std::span<const Containers::NewChunk> chunks,
                                                        const Hint& hint) {
  // Most that are there are found before anybody is kept from putting.
  std::vector<std::optional<ChunkRef>> refs;
  refs.reserve(chunks.size());
  const Turns looked = turns();
  // Those that were written one behind the other come so again, mostly: then nobody asks the index.
  std::optional<Location> next;
  for (const Containers::NewChunk& chunk : chunks) refs.push_back(found(kind, chunk, next, hint));
  // And what is not, is compressed.
  const std::vector<base::Bytes> compressed = compress(kind, chunks, refs);
  const std::vector<Containers::NewChunk> all = with_compressed(chunks, compressed);
  if (auto done = append_missing(kind, all, looked, hint, refs); !done) return base::fail(done.error());
  std::vector<ChunkRef> out;
  out.reserve(refs.size());
  for (const std::optional<ChunkRef>& ref : refs) out.push_back(*ref);
  return out;
}

std::vector<base::Bytes> ChunkStore::compress(ChunkKind kind, std::span<const Containers::NewChunk> chunks,
                                              std::span<const std::optional<ChunkRef>> known) const {
  std::vector<base::Bytes> out;
  if (kind != ChunkKind::data || compression_.how == Compression::none) return out;
  Compressor compressor(compression_);
  std::unordered_set<hashing::Digest> seen;  // the first with an id is the one that is kept
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    const bool is_new = !known[i] && seen.insert(chunks[i].id).second;
    out.push_back(is_new ? compressor.compress(chunks[i].bytes) : base::Bytes());
  }
  return out;
}

ChunkStore::Turns ChunkStore::turns() const {
  Turns out{};
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = added_[i].load(std::memory_order_acquire);
  return out;
}

// Who puts one of them at the same time waits.
base::Result<void> ChunkStore::append_missing(ChunkKind kind, std::span<const Containers::NewChunk> chunks,
                                              const Turns& looked, const Hint& hint,
                                              std::vector<std::optional<ChunkRef>>& out) {
  std::bitset<puts_at_once> wanted;
  for (std::size_t i = 0; i < chunks.size(); ++i)
    if (!out[i]) wanted.set(turn_of(chunks[i].id));
  if (wanted.none()) return {};
  const Locks locks = locks_of(wanted);
  const Turns now = turns();
  std::vector<Containers::NewChunk> missing;
  std::unordered_map<hashing::Digest, std::size_t> first;  // with that id, in `missing`
  std::vector<std::size_t> which(chunks.size());
  std::optional<Location> next;
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    const std::size_t turn = turn_of(chunks[i].id);
    if (!out[i] && now[turn] != looked[turn]) out[i] = found(kind, chunks[i], next, hint);
    if (out[i]) continue;
    which[i] = first.emplace(chunks[i].id, missing.size()).first->second;
    // An id is not believed here either.
    if (which[i] < missing.size() && base::equal(missing[which[i]].bytes, chunks[i].bytes)) {
      ++chunks_found_;
      bytes_found_ += chunks[i].bytes.size();
      continue;
    }
    which[i] = missing.size();
    missing.push_back(chunks[i]);
  }
  const auto added = append(kind, missing);
  if (!added) return base::fail(added.error());
  chunks_added_ += missing.size();
  for (std::size_t i = 0; i < chunks.size(); ++i)
    if (!out[i]) out[i] = (*added)[which[i]];
  return {};
}

// Its caller has their locks.
base::Result<std::vector<ChunkRef>> ChunkStore::append(ChunkKind kind,
                                                       std::span<const Containers::NewChunk> chunks) {
  const auto lie = containers_.append_all(kind, chunks);
  if (!lie) return base::fail(lie.error());
  std::vector<Index::Entry> entries;
  std::vector<ChunkRef> out;
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    const Location at = (*lie)[i];
    (void)pins_.refer(at.container);
    entries.push_back({chunks[i].id, at});
    out.push_back(
        {.id = chunks[i].id, .at = at, .bytes = static_cast<std::uint32_t>(chunks[i].bytes.size())});
    bytes_added_ += ChunkHeader::bytes + chunks[i].stored().bytes.size();
  }
  if (indexes(kind)) index_->put_all(entries);
  for (const ChunkRef& chunk : out) note_added(chunk.id);
  if (!entries.empty()) filler_.note(entries.back().at);
  return out;
}

// The locks are taken in one order.
ChunkStore::Locks ChunkStore::locks_of(const std::bitset<puts_at_once>& wanted) {
  Locks out;
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (wanted[i]) out.emplace_back(putting_[i]);
  return out;
}

base::Result<std::vector<ChunkRef>> ChunkStore::put_anew(ChunkKind kind,
                                                         std::span<const Containers::NewChunk> chunks) {
  const std::vector<std::optional<ChunkRef>> unknown(chunks.size());
  const std::vector<base::Bytes> compressed = compress(kind, chunks, unknown);
  std::bitset<puts_at_once> wanted;
  for (const Containers::NewChunk& chunk : chunks) wanted.set(turn_of(chunk.id));
  const Locks locks = locks_of(wanted);
  return append(kind, with_compressed(chunks, compressed));
}

void ChunkStore::note_bad(Location at) {
  const Location place = containers_.place_of(at).value_or(at);
  containers_.verified().forget(place.container);
  bad_.with([place](auto& bad) {
    if (bad.size() < bad_max) bad.insert(place.packed());
  });
}

std::array<std::optional<Location>, 2> ChunkStore::places_of(const ChunkRef& chunk) {
  const auto known = index_ == nullptr ? std::nullopt : index_->find(chunk.id);
  return {chunk.at, known == chunk.at ? std::nullopt : known};
}

ChunkStore::Found ChunkStore::look_at(ChunkKind kind, const ChunkRef& chunk, Location at) {
  auto read = containers_.read(at, kind, chunk.id, chunk.bytes);
  if (!read) return {};
  const auto named = named_bytes(kind, read->bytes);
  if (!named || keys_.id_of(kind, *named) != chunk.id) return {};
  return {.bytes = std::make_shared<const base::Bytes>(std::move(read->bytes)),
          .compressed = read->compressed,
          .distance = read->distance};
}

ChunkStore::Bytes ChunkStore::at_place(ChunkKind kind, const ChunkRef& chunk, Location at) {
  return look_at(kind, chunk, at).bytes;
}

// It is not where the recipe says: there past the kernel's cache; elsewhere, by id.
ChunkStore::Found ChunkStore::find_damaged(ChunkKind kind, const ChunkRef& chunk) {
  ++mismatches_;
  containers_.forget_cached(chunk.at, chunk.bytes);
  Found found = look_at(kind, chunk, chunk.at);
  if (found.bytes == nullptr) {
    note_bad(chunk.at);
    if (const auto place = places_of(chunk)[1]) found = look_at(kind, chunk, *place);
    found.elsewhere = true;
  }
  base::log_event(base::Level::error, "store_chunk_damaged", "container={} offset={} bytes={}: {}",
                  Containers::name_of(chunk.at.container), chunk.at.offset, chunk.bytes,
                  found.bytes == nullptr ? "it is not what the recipe names, and cannot be read"
                                         : "it was found elsewhere");
  return found;
}

base::Result<ChunkStore::Bytes> ChunkStore::get(ChunkKind kind, const ChunkRef& chunk) {
  if (Bytes cached = cache_.find(chunk.id, chunk.at); cached != nullptr && cached->size() == chunk.bytes)
    return cached;
  // If it moves meanwhile, that is forgotten with its place.
  const std::uint64_t begun = containers_.verified().begin();
  const auto place = containers_.place_of(chunk.at);
  Found found = look_at(kind, chunk, chunk.at);
  if (found.bytes == nullptr) found = find_damaged(kind, chunk);
  if (found.bytes == nullptr) return base::fail(EIO);
  const bool is_data = kind == ChunkKind::data, in_place = !found.elsewhere && !found.compressed;
  if (is_data && place && in_place)
    containers_.verified().add(
        {.lies = {.id = chunk.id, .at = *place, .bytes = chunk.bytes}, .distance = found.distance}, begun);
  if (kind == ChunkKind::root || (is_data && !in_place))
    cache_.put(chunk.id, chunk.at, found.bytes, found.bytes->size());
  return found.bytes;
}

base::Result<void> ChunkStore::read_data(const ChunkRef& chunk, std::uint32_t from, base::MutableBytes to) {
  if (containers_.read_verified(chunk, from, to)) return {};
  const auto bytes = get(ChunkKind::data, chunk);
  if (!bytes) return base::fail(bytes.error());
  base::check(to.size() <= (*bytes)->size() && from <= (*bytes)->size() - to.size(),
              "a piece lies within its chunk");
  std::memcpy(to.data(), (*bytes)->data() + from, to.size());
  return {};
}

base::Result<ChunkStore::NodeRef> ChunkStore::node(const ChunkRef& chunk) {
  if (NodeRef known = node_in_memory(chunk)) return known;
  const auto bytes = get(ChunkKind::node, chunk);
  if (!bytes) return base::fail(bytes.error());
  NodeRef out = keep_node(chunk, **bytes);
  if (out == nullptr) return base::fail(EIO);
  return out;
}

ChunkStore::NodeRef ChunkStore::node_if_there(const ChunkRef& chunk) {
  if (NodeRef known = node_in_memory(chunk)) return known;
  const Bytes bytes = at_place(ChunkKind::node, chunk, chunk.at);
  return bytes == nullptr ? nullptr : keep_node(chunk, *bytes);
}

// Null: they are none.
ChunkStore::NodeRef ChunkStore::keep_node(const ChunkRef& chunk, base::BytesView bytes) {
  auto decoded = decode_node(bytes);
  if (!decoded) return nullptr;
  const std::size_t takes = sizeof(Node) + decoded->entries.capacity() * sizeof(NodeEntry);
  auto out = std::make_shared<const Node>(std::move(*decoded));
  nodes_.put(chunk.id, chunk.at, out, takes);
  return out;
}

std::optional<ChunkRef> ChunkStore::root_at(const hashing::Digest& id, Location at) {
  const auto header = containers_.look(at);
  if (!header || header->kind != ChunkKind::root || header->id != id) return std::nullopt;
  return ChunkRef{.id = id, .at = at, .bytes = header->length};
}

base::Result<ChunkStore::Bytes> ChunkStore::get_root(const hashing::Digest& id, Location at) {
  if (Bytes cached = cache_.find(id, at)) return cached;
  std::optional<ChunkRef> found = root_at(id, at);
  if (!found) {
    containers_.forget_cached(at, chunk_bytes_limit(ChunkKind::root));
    found = root_at(id, at);
  }
  const auto elsewhere = found || index_ == nullptr ? std::nullopt : index_->find(id);
  if (elsewhere) found = root_at(id, *elsewhere);
  if (found) return get(ChunkKind::root, *found);
  ++mismatches_;
  base::log_event(base::Level::error, "store_chunk_damaged", "container={} offset={}: there is no such root",
                  Containers::name_of(at.container), at.offset);
  return base::fail(EIO);
}

ChunkCounts ChunkStore::counts() const {
  return {.chunks_added = chunks_added_,
          .bytes_added = bytes_added_,
          .chunks_found = chunks_found_,
          .bytes_found = bytes_found_,
          .mismatches = mismatches_};
}

}  // namespace braid::store
