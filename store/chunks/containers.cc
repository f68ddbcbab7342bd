#include "store/chunks/containers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "base/assert.h"
#include "base/log.h"
#include "store/chunks/compression.h"
#include "store/chunks/node.h"

namespace braid::store {
namespace {

constexpr std::size_t number_digits = 8;
// So that a directory fits into one chunk.
constexpr std::size_t listed_max = 1U << 18U;
constexpr std::size_t look_bytes = 1U << 16U;
constexpr std::size_t compared_bytes = 96 * base::KiB;  // at a time: a usual chunk

// Nothing: there is none.
base::Result<std::optional<ChunkHeader>> header_at(File& file, std::uint64_t at) {
  std::array<std::byte, ChunkHeader::bytes> bytes;
  const auto got = file.read(at, bytes);
  if (!got) return base::fail(got.error());
  return decode_chunk_header(base::BytesView(bytes).first(*got));
}

// What the chunk says whose header is at `at`. Nothing: it is not whole.
base::Result<std::optional<base::Bytes>> whole_chunk(File& file, std::uint64_t at,
                                                     const ChunkHeader& header) {
  base::Bytes stored(header.stored());
  const auto got = file.read(header.stored_at(at), stored);
  if (!got) return base::fail(got.error());
  if (*got != stored.size() || !is_whole(header, stored)) return std::nullopt;
  if (header.compressed == 0) return stored;
  base::Bytes chunk(header.length);
  if (!decompress(stored, chunk)) return std::nullopt;
  return chunk;
}

// Of the bytes before `end`, those that are not written to any more.
std::uint32_t whole_pages(std::uint32_t end) {
  constexpr std::uint32_t page_bytes = 4096;
  return end / page_bytes * page_bytes;
}

bool is_of(const ChunkHeader& header, ChunkKind kind, const hashing::Digest& id, std::size_t length) {
  return header.kind == kind && header.id == id && header.length == length;
}

// Where the next thing begins that looks like a chunk's header.
base::Result<std::optional<std::uint64_t>> next_magic(File& file, std::uint64_t at) {
  base::Bytes window(look_bytes);
  for (;;) {
    const auto got = file.read(at, window);
    if (!got) return base::fail(got.error());
    const std::string_view text = base::text_of(base::BytesView(window).first(*got));
    const std::size_t found = std::min(text.find("Chnk"), text.find("Chng"));
    if (found != std::string_view::npos) return at + found;
    if (*got < window.size()) return std::nullopt;
    at += *got - 3;
  }
}

}  // namespace

std::string Containers::name_of(std::uint32_t number) {
  return fmt::format("{}/{:0{}x}", directory, number, number_digits);
}

std::optional<std::uint32_t> Containers::number_of(const std::string& name) {
  std::uint32_t out = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), out, 16);
  if (error != std::errc() || end != name.data() + name.size() || name.size() != number_digits || out == 0 ||
      out >= Location::container_end)
    return std::nullopt;
  return out;
}

base::Result<std::unique_ptr<Containers>> Containers::open(Medium& medium, const StoreId& store, OpenFor what,
                                                           std::uint32_t bytes_max) {
  std::unique_ptr<Containers> out(new Containers(medium, store, bytes_max));
  const auto numbers = out->numbers();
  if (!numbers) return base::fail(numbers.error());
  if (!numbers->empty()) out->number_max_ = numbers->back();
  if (what == OpenFor::reading) return out;
  if (auto begun = out->begin_writing(); !begun) return base::fail(begun.error());
  return out;
}

base::Result<std::vector<std::uint32_t>> Containers::numbers() {
  const auto names = medium_.list(directory);
  if (!names) return base::fail(names.error());
  std::vector<std::uint32_t> out;
  for (const std::string& name : *names)
    if (const auto number = number_of(name)) out.push_back(*number);
  std::ranges::sort(out);
  return out;
}

base::Result<std::uint64_t> Containers::bytes() {
  const auto all = numbers();
  if (!all) return base::fail(all.error());
  std::uint64_t out = 0;
  for (const std::uint32_t number : *all) {
    const auto one = bytes_of(number);
    if (!one) return base::fail(one.error());
    out += *one;
  }
  return out;
}

base::Result<std::uint64_t> Containers::bytes_of(std::uint32_t number) {
  const auto found = opened(number);
  if (!found && found.error() == base::errno_of(ENOENT)) return 0;
  if (!found) return base::fail(found.error());
  const auto now = found->file->status();
  if (!now) return base::fail(now.error());
  return now->size;
}

std::uint32_t Containers::last_number() {
  const std::scoped_lock lock(adding_);
  return number_max_;
}

// Who has it open sees it until the end: so nobody finds it open any more.
base::Result<void> Containers::remove(std::uint32_t number) {
  base::check(number < last_number(), "the last container stays");
  base::Result<void> done = medium_.remove(name_of(number));
  {
    const std::scoped_lock lock(opening_);
    open_.erase(number);
    ++replaced_;
  }
  verified_.forget(number);
  return done;
}

base::Result<void> Containers::forward(std::uint32_t number, std::span<const ForwardingEntry> entries) {
  base::check(number < last_number(), "the last container stays");
  const std::string name = name_of(number), fresh = fmt::format("{}{}", name, unfinished);
  if (auto removed = medium_.remove(fresh); !removed) return removed;
  auto made = medium_.open(fresh, OpenFor::creating);
  if (!made) return base::fail(made.error());
  base::Result<void> done = (*made)->write(0, encode_forwarding(store_, number, entries));
  if (done) done = (*made)->sync();
  if (done) done = medium_.rename(fresh, name);
  if (!done) (void)medium_.remove(fresh);
  if (!done) return done;
  {
    const std::scoped_lock lock(opening_);
    open_.erase(number);
    ++replaced_;
  }
  verified_.forget(number);
  return sync_names();
}

base::Result<void> Containers::begin(std::uint32_t number) {
  if (number >= Location::container_end) return base::fail(EFBIG);
  const std::string name = name_of(number);
  auto made = medium_.open(name, OpenFor::creating);
  if (!made) return base::fail(made.error());
  std::shared_ptr<File> file(std::move(*made));
  number_max_ = number;
  base::Result<void> done =
      file->write(0, encode(ContainerHeader{.store = store_, .volume = 0, .number = number}));
  if (done) done = medium_.sync_directory(directory);
  if (!done) {
    (void)medium_.remove(name);
    return done;
  }
  current_ = {
      .number = number, .file = std::move(file), .end = ContainerHeader::bytes, .begun = 0, .directory = {}};
  return {};
}

base::Result<void> Containers::close_current() {
  const base::Bytes listed = encode(current_.directory);
  base::Bytes tail = encode_chunk(ChunkKind::directory, {}, listed);
  const base::Bytes footer = encode_footer(current_.end);
  tail.insert(tail.end(), footer.begin(), footer.end());
  base::Result<void> done = current_.file->write(current_.end, tail);
  // Without a directory it is a container, too.
  if (!done && is_full(done.error())) done = current_.file->resize(current_.end);
  if (done) done = current_.file->sync();
  if (done) current_ = {};
  return done;
}

bool Containers::has_room(std::uint64_t bytes, std::size_t listed) const {
  return current_.end + bytes <= bytes_max_ && current_.directory.size() + listed <= listed_max;
}

// A group of any length has room in an empty one.
base::Result<void> Containers::make_room(std::uint64_t bytes, std::size_t listed) {
  if (broken_) return base::fail(EIO);
  base::Result<void> done;
  if (current_.file != nullptr && !has_room(bytes, listed)) {
    done = close_current();
    broken_ = !done;
  }
  if (done && current_.file == nullptr) done = begin(number_max_ + 1);
  return done;
}

// As many of the chunks as fit into one.
Containers::Group Containers::group_of(ChunkKind kind, std::span<const NewChunk> chunks) const {
  Group out;
  std::size_t count = 0;
  const std::uint64_t bytes_max = std::min<std::uint64_t>(group_bytes_max, bytes_max_ / 2);
  for (; count < std::min(chunks.size(), GroupPlace::chunks_max); ++count) {
    const std::uint64_t bytes = ChunkHeader::bytes + chunks[count].stored().bytes.size();
    if (count > 0 && out.bytes + bytes > bytes_max) break;
    out.bytes += bytes;
  }
  out.chunks = chunks.first(count);
  out.headers.reserve(count * ChunkHeader::bytes);
  std::size_t before = 0;  // stored bytes of the group
  for (std::size_t i = 0; i < count; ++i) {
    const StoredBytes stored = out.chunks[i].stored();
    const std::size_t following = count - 1 - i;
    const GroupPlace place{.following = static_cast<std::uint8_t>(following),
                           .distance = static_cast<std::uint32_t>(following * ChunkHeader::bytes + before)};
    const base::Bytes header = encode_header(kind, out.chunks[i].id, stored, place);
    out.headers.insert(out.headers.end(), header.begin(), header.end());
    before += stored.bytes.size();
  }
  return out;
}

base::Result<void> Containers::append_group(ChunkKind kind, const Group& group, std::vector<Location>& out) {
  if (auto ready = make_room(group.bytes, group.chunks.size()); !ready) return ready;
  std::vector<base::BytesView> parts{group.headers};
  for (const NewChunk& chunk : group.chunks) parts.push_back(chunk.stored().bytes);
  if (const auto done = current_.file->write_all(current_.end, parts); !done) {
    // What was written of it must not stay behind a shorter chunk: whole chunks of it would look like damage.
    if (!is_full(done.error()) || !current_.file->resize(current_.end)) broken_ = true;
    return done;
  }
  std::uint32_t at = current_.end;
  for (const NewChunk& chunk : group.chunks) {
    out.push_back({.volume = 0, .container = current_.number, .offset = at});
    current_.directory.push_back({at, kind, static_cast<std::uint32_t>(chunk.bytes.size()), chunk.id,
                                  static_cast<std::uint32_t>(chunk.compressed.size())});
    at += static_cast<std::uint32_t>(ChunkHeader::bytes);
    ++appended_;
  }
  current_.end += static_cast<std::uint32_t>(group.bytes);
  return {};
}

// What the medium can take while more comes.
Containers::Unsynced Containers::take_unsynced() {
  const std::uint32_t end = whole_pages(current_.end);
  if (current_.file == nullptr || end < current_.begun + begin_sync_bytes) return {};
  return {.file = current_.file, .begin = std::exchange(current_.begun, end), .end = end};
}

// What takes long is done before anybody is kept from adding, or afterwards.
base::Result<std::vector<Location>> Containers::append_all(ChunkKind kind, std::span<const NewChunk> chunks) {
  std::vector<Group> groups;
  for (auto left = chunks; !left.empty(); left = left.subspan(groups.back().chunks.size()))
    groups.push_back(group_of(kind, left));
  std::vector<Location> out;
  out.reserve(chunks.size());
  Unsynced more;
  {
    const std::scoped_lock lock(adding_);
    for (const Group& group : groups)
      if (auto done = append_group(kind, group, out); !done) return base::fail(done.error());
    more = take_unsynced();
  }
  if (more.file != nullptr) more.file->begin_sync(more.begin, more.end - more.begin);
  return out;
}

base::Result<Location> Containers::append(ChunkKind kind, const hashing::Digest& id, base::BytesView bytes) {
  const NewChunk chunk{.id = id, .bytes = bytes};
  const auto at = append_all(kind, std::span(&chunk, 1));
  if (!at) return base::fail(at.error());
  return at->front();
}

base::Result<void> Containers::sync() {
  std::uint64_t wanted = 0;
  {
    const std::scoped_lock lock(adding_);
    wanted = appended_;
  }
  const std::scoped_lock turn(syncing_);
  if (synced_ >= wanted) return {};
  return sync_current();
}

// A container that is full was synced when it was closed.
base::Result<void> Containers::sync_current() {
  std::shared_ptr<File> file;
  std::uint64_t now = 0;
  std::uint32_t end = 0;
  {
    const std::scoped_lock lock(adding_);
    if (broken_) return base::fail(EIO);
    file = current_.file;
    now = appended_;
    end = current_.end;
  }
  base::Result<void> done;
  if (file != nullptr) done = file->sync();
  const std::scoped_lock lock(adding_);
  if (!done) broken_ = true;
  if (broken_) return base::fail(done ? base::errno_of(EIO) : done.error());
  synced_ = now;
  if (file == current_.file) current_.begun = std::max(current_.begun, whole_pages(end));
  return {};
}

Location Containers::end() {
  const std::scoped_lock lock(adding_);
  if (current_.file == nullptr) return {.volume = 0, .container = number_max_ + 1, .offset = 0};
  return {.volume = 0, .container = current_.number, .offset = current_.end};
}

base::Result<Containers::Chunk> Containers::read(Location at, ChunkKind kind, const hashing::Digest& id,
                                                 std::uint32_t length) {
  const auto place = find(at);
  if (!place) return base::fail(place.error());
  const auto header = header_at(*place->file, place->at.offset);
  if (!header) return base::fail(header.error());
  if (!*header || !is_of(**header, kind, id, length)) return base::fail(EBADMSG);
  auto chunk = whole_chunk(*place->file, place->at.offset, **header);
  if (!chunk) return base::fail(chunk.error());
  if (!*chunk) return base::fail(EBADMSG);
  return Chunk{.bytes = std::move(**chunk),
               .compressed = (*header)->compressed != 0,
               .distance = (*header)->place.distance};
}

// In pieces: memory for all of a large chunk would come from the kernel, page by page, each time.
bool Containers::equals(File& file, std::uint32_t at, const ChunkHeader& header, base::BytesView bytes) {
  if (header.compressed != 0) {
    const auto chunk = whole_chunk(file, at, header);
    return chunk && *chunk && base::equal(**chunk, bytes);
  }
  const std::size_t piece = std::min(compared_bytes, bytes.size());
  const auto room = std::make_unique_for_overwrite<std::byte[]>(piece);
  for (std::size_t done = 0; done < bytes.size();) {
    const base::BytesView wanted = bytes.subspan(done, std::min(piece, bytes.size() - done));
    const auto got = file.read(header.stored_at(at) + done, {room.get(), wanted.size()});
    if (!got || *got != wanted.size() || !base::equal({room.get(), *got}, wanted)) return false;
    done += *got;
  }
  return is_whole(header, bytes);
}

Containers::Held Containers::holds(Location at, ChunkKind kind, const hashing::Digest& id,
                                   base::BytesView bytes) {
  const auto place = find(at);
  if (!place || place->at != at) return {};
  const auto header = header_at(*place->file, at.offset);
  if (!header || !*header || !is_of(**header, kind, id, bytes.size())) return {};
  Held out{.whole = equals(*place->file, at.offset, **header, bytes)};
  if (out.whole && (*header)->place.following > 0) {
    out.next = at;
    out.next->offset = static_cast<std::uint32_t>((*header)->next_at(at.offset));
  }
  return out;
}

bool Containers::read_verified(const ChunkRef& chunk, std::uint32_t from, base::MutableBytes to) {
  const auto place = find(chunk.at);
  if (!place) return false;
  VerifiedChunk found{.lies = {.id = chunk.id, .at = place->at, .bytes = chunk.bytes}};
  if (!verified_.find(std::span(&found, 1))) return false;
  const std::uint64_t begin = std::uint64_t{place->at.offset} + ChunkHeader::bytes + found.distance;
  const auto got = place->file->read(begin + from, to);
  if (got && *got == to.size()) return true;
  verified_.forget(place->at.container);
  return false;
}

base::Result<ChunkHeader> Containers::look(Location at) {
  const auto place = find(at);
  if (!place) return base::fail(place.error());
  const auto header = header_at(*place->file, place->at.offset);
  if (!header) return base::fail(header.error());
  return *header ? base::Result<ChunkHeader>(**header) : base::fail(EBADMSG);
}

// The header as the medium has it tells where the bytes are.
void Containers::forget_cached(Location at, std::uint32_t length) {
  const auto place = find(at);
  if (!place) return;
  place->file->forget_cached(place->at.offset, ChunkHeader::bytes + length);
  const auto header = header_at(*place->file, place->at.offset);
  if (header && *header && (*header)->place.distance > 0)
    place->file->forget_cached((*header)->stored_at(place->at.offset), length);
}

base::Result<std::optional<std::vector<DirectoryEntry>>> Containers::directory_of(File& file) {
  const auto now = file.status();
  if (!now) return base::fail(now.error());
  if (now->size < ContainerHeader::bytes + ChunkHeader::bytes + container_footer_bytes) return std::nullopt;
  base::Bytes footer(container_footer_bytes);
  const std::uint64_t footer_begin = now->size - footer.size();
  const auto got = file.read(footer_begin, footer);
  if (!got) return base::fail(got.error());
  const auto begin = decode_footer(base::BytesView(footer).first(*got));
  if (!begin || *begin > footer_begin || footer_begin - *begin < ChunkHeader::bytes ||
      footer_begin - *begin > ChunkHeader::bytes + chunk_bytes_limit(ChunkKind::directory))
    return std::nullopt;
  base::Bytes record(footer_begin - *begin);
  const auto read = file.read(*begin, record);
  if (!read) return base::fail(read.error());
  const auto header = decode_chunk_header(base::BytesView(record).first(*read));
  const base::BytesView listed = base::BytesView(record).subspan(ChunkHeader::bytes);
  if (*read != record.size() || !header || header->kind != ChunkKind::directory || !is_whole(*header, listed))
    return std::nullopt;
  return decode_directory(listed);
}

base::Result<bool> Containers::has_head(File& file, std::uint32_t number) const {
  base::Bytes head(ContainerHeader::bytes);
  const auto got = file.read(0, head);
  if (!got) return base::fail(got.error());
  const auto container = decode_container_header(base::BytesView(head).first(*got));
  return container && container->role == ContainerRole::chunks && container->store == store_ &&
         container->number == number;
}

// From header to header. Behind a chunk that is not whole the next that is, at any byte, is looked for.
base::Result<Containers::Scanned> Containers::scan(File& file, std::uint32_t number, const Take& take) {
  const auto ours = has_head(file, number);
  if (!ours) return base::fail(ours.error());
  Scanned out{.end = *ours ? std::uint32_t{ContainerHeader::bytes} : 0, .damaged = *ours ? 0U : 1U};
  bool gap = false, in_group = false;
  for (std::uint64_t at = ContainerHeader::bytes; at < Location::offset_end;) {
    const auto header = header_at(file, at);
    if (!header) return base::fail(header.error());
    auto chunk = *header ? whole_chunk(file, at, **header) : std::optional<base::Bytes>();
    if (!chunk) return base::fail(chunk.error());
    if (!*chunk) {
      gap = true;
      const auto next = next_magic(file, at + 1);
      if (!next) return base::fail(next.error());
      if (!*next) break;
      at = **next;
      continue;
    }
    if (gap) ++out.damaged;
    gap = false;
    // Behind a directory there is the footer, and nothing else.
    if ((*header)->kind == ChunkKind::directory) break;
    take({.volume = 0, .container = number, .offset = static_cast<std::uint32_t>(at)}, **header, **chunk);
    in_group = (*header)->place.following > 0;
    at = (*header)->next_at(at);
    if (out.damaged == 0 && !in_group) out.end = static_cast<std::uint32_t>(at);
  }
  out.torn = in_group;
  return out;
}

base::Result<Containers::Walked> Containers::walk(std::uint32_t number, bool with_bytes, const Take& take) {
  const auto found = opened(number);
  if (!found) return base::fail(found.error());
  Walked out;
  if (found->forwarding != nullptr)
    return Walked{
        .damaged = found->forwarding->damaged(), .forwarding = true, .entries = found->forwarding->size()};
  const auto listed = directory_of(*found->file);
  if (!listed) return base::fail(listed.error());
  out.full = listed->has_value();
  if (out.full && !with_bytes) {
    for (const DirectoryEntry& entry : **listed)
      take({.volume = 0, .container = number, .offset = entry.offset},
           {.kind = entry.kind, .length = entry.length, .id = entry.id, .compressed = entry.compressed}, {});
    out.chunks = (*listed)->size();
    return out;
  }
  const auto scanned =
      scan(*found->file, number, [&](Location at, const ChunkHeader& header, base::BytesView bytes) {
        ++out.chunks;
        take(at, header, bytes);
      });
  if (!scanned) return base::fail(scanned.error());
  out.damaged = scanned->damaged;
  // What the directory has and the scan did not find.
  if (out.full && out.chunks < (*listed)->size())
    out.damaged = std::max<std::uint64_t>(out.damaged, (*listed)->size() - out.chunks);
  return out;
}

}  // namespace braid::store
