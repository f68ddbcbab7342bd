#include "store/chunk_store.h"

#include <cstring>
#include <utility>

#include "base/assert.h"
#include "base/log.h"

namespace braid::store {

base::Result<ChunkRef> ChunkStore::put(ChunkKind kind, base::BytesView bytes) {
  const auto named = named_bytes(kind, bytes);
  if (!named) return base::fail(EINVAL);
  return put(kind, keys_.id_of(kind, *named), bytes);
}

base::Result<ChunkRef> ChunkStore::put(ChunkKind kind, const hashing::Digest& id, base::BytesView bytes) {
  ChunkRef chunk{.id = id, .at = {}, .bytes = static_cast<std::uint32_t>(bytes.size())};
  const std::scoped_lock lock(putting_[std::hash<hashing::Digest>{}(id) % puts_at_once]);
  const std::optional<Location> known = index_ == nullptr ? std::nullopt : index_->find(id);
  // Where it lies, not where it was: what a recipe names is what is kept.
  const auto place = known ? containers_.place_of(*known) : base::fail(ENOENT);
  if (place) {
    chunk.at = *place;
    if (is_there(kind, chunk, bytes) && pins_.refer(place->container)) {
      ++chunks_found_;
      bytes_found_ += bytes.size();
      return chunk;
    }
  }
  const auto added = append(kind, id, bytes);
  if (!added) return added;
  ++chunks_added_;
  bytes_added_ += ChunkHeader::bytes + bytes.size();
  return added;
}

base::Result<ChunkRef> ChunkStore::append(ChunkKind kind, const hashing::Digest& id, base::BytesView bytes) {
  const auto at = containers_.append(kind, id, bytes);
  if (!at) return base::fail(at.error());
  (void)pins_.refer(at->container);
  if (index_ != nullptr) index_->put(id, *at);
  return ChunkRef{.id = id, .at = *at, .bytes = static_cast<std::uint32_t>(bytes.size())};
}

base::Result<ChunkRef> ChunkStore::put_anew(ChunkKind kind, const hashing::Digest& id,
                                            base::BytesView bytes) {
  const std::scoped_lock lock(putting_[std::hash<hashing::Digest>{}(id) % puts_at_once]);
  return append(kind, id, bytes);
}

// A hit is where the bytes are, byte by byte: neither the index nor an id is believed. A node with other
// locations in it is none: nobody keeps what these lead to.
bool ChunkStore::is_there(ChunkKind kind, const ChunkRef& chunk, base::BytesView bytes) {
  const std::uint64_t place = chunk.at.packed();
  if (bad_.with([place](const auto& bad) { return bad.contains(place); })) return false;
  return containers_.holds(chunk.at, kind, chunk.id, bytes);
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

ChunkStore::Bytes ChunkStore::at_place(ChunkKind kind, const ChunkRef& chunk, Location at) {
  auto read = containers_.read(at, kind, chunk.id, chunk.bytes);
  if (!read) return nullptr;
  const auto named = named_bytes(kind, *read);
  if (!named || keys_.id_of(kind, *named) != chunk.id) return nullptr;
  return std::make_shared<const base::Bytes>(std::move(*read));
}

// It is not where the recipe says: there past the kernel's cache; elsewhere, by id.
ChunkStore::Bytes ChunkStore::find_damaged(ChunkKind kind, const ChunkRef& chunk, bool& elsewhere) {
  ++mismatches_;
  containers_.forget_cached(chunk.at, chunk.bytes);
  Bytes found = at_place(kind, chunk, chunk.at);
  if (found == nullptr) {
    note_bad(chunk.at);
    elsewhere = true;
    if (const auto place = places_of(chunk)[1]) found = at_place(kind, chunk, *place);
  }
  base::log_event(
      base::Level::error, "store_chunk_damaged", "container={} offset={} bytes={}: {}",
      Containers::name_of(chunk.at.container), chunk.at.offset, chunk.bytes,
      found == nullptr ? "it is not what the recipe names, and cannot be read" : "it was found elsewhere");
  return found;
}

base::Result<ChunkStore::Bytes> ChunkStore::get(ChunkKind kind, const ChunkRef& chunk) {
  if (Bytes cached = cache_.find(chunk.id, chunk.at); cached != nullptr && cached->size() == chunk.bytes)
    return cached;
  // If it moves meanwhile, that is forgotten with its place.
  const std::uint64_t begun = containers_.verified().begin();
  const auto place = containers_.place_of(chunk.at);
  bool elsewhere = false;
  Bytes found = at_place(kind, chunk, chunk.at);
  if (found == nullptr) found = find_damaged(kind, chunk, elsewhere);
  if (found == nullptr) return base::fail(EIO);
  const bool is_data = kind == ChunkKind::data;
  if (is_data && place && !elsewhere)
    containers_.verified().add({.id = chunk.id, .at = *place, .bytes = chunk.bytes}, begun);
  if (kind == ChunkKind::root || (is_data && elsewhere)) cache_.put(chunk.id, chunk.at, found, found->size());
  return found;
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
  auto decoded = decode_node(**bytes);
  if (!decoded) return base::fail(EIO);
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

base::Result<std::uint64_t> ChunkStore::catch_up() {
  if (index_ == nullptr) return 0;
  const auto numbers = containers_.numbers();
  if (!numbers) return base::fail(numbers.error());
  const Location known = index_->known_to().value_or(Location{});
  std::uint64_t put = 0;
  for (const std::uint32_t number : *numbers) {
    if (number < known.container) continue;
    const auto walked =
        containers_.walk(number, false, [&](Location at, const ChunkHeader& header, base::BytesView) {
          if (at < known) return;
          index_->put(header.id, at);
          ++put;
        });
    if (!walked) return base::fail(walked.error());
  }
  index_->put_known_to(containers_.end());
  return put;
}

ChunkCounts ChunkStore::counts() const {
  return {.chunks_added = chunks_added_,
          .bytes_added = bytes_added_,
          .chunks_found = chunks_found_,
          .bytes_found = bytes_found_,
          .mismatches = mismatches_};
}

}  // namespace braid::store
