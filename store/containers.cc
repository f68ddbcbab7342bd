#include "store/containers.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/assert.h"
#include "base/log.h"
#include "store/node.h"

namespace braid::store {
namespace {

constexpr std::size_t number_digits = 8;
// So that a directory fits into one chunk.
constexpr std::size_t listed_max = 1U << 18U;
// From so many bytes on a run begins where its file's pages do: a page lost to that counts for little.
constexpr std::uint64_t aligned_from = 256 * base::KiB;

bool may_pass(base::Errno error) {
  return error == base::errno_of(ENOSPC) || error == base::errno_of(EDQUOT);
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
    listed_.erase(number);
    ++replaced_;
  }
  verified_.forget(number);
  return done;
}

base::Result<void> Containers::forward(std::uint32_t number, std::span<const ForwardingEntry> entries) {
  base::check(number < last_number(), "the last container stays");
  const std::string name = name_of(number), fresh = name + ".new";
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
    listed_.erase(number);
    ++replaced_;
  }
  verified_.forget(number);
  return sync_names();
}

// The last container of an earlier run. Whatever its chunks are, they may be referred to as soon as this
// process knows them: so they are synced first.
base::Result<void> Containers::begin_writing() {
  if (number_max_ == 0) return {};
  if (auto taken = take_up(number_max_); !taken) return taken;
  return medium_.sync_directory(directory);
}

base::Result<void> Containers::take_up(std::uint32_t number) {
  auto opened = medium_.open(name_of(number), OpenFor::writing);
  if (!opened) return base::fail(opened.error());
  const std::shared_ptr<File> file(std::move(*opened));
  if (auto synced = file->sync(); !synced) return synced;
  // If it was rewritten, those behind it are lost. Nothing is added here.
  const auto role = role_of(*file, number);
  if (role && *role == ContainerRole::forwarding) return {};
  const auto listed = directory_of(*file);
  if (!listed) return base::fail(listed.error());
  if (*listed) return {};
  Current found{.number = number, .file = file, .end = 0, .directory = {}};
  const auto scanned = scan(*file, number, [&](Location at, const ChunkHeader& header, base::BytesView) {
    found.directory.push_back({at.offset, header.kind, header.length, header.id});
  });
  if (!scanned) return base::fail(scanned.error());
  if (scanned->damaged > 0) {
    base::log_event(base::Level::error, "store_container_damaged",
                    "container={}: nothing is added to it any more", name_of(number));
    return {};
  }
  const auto now = file->status();
  if (!now) return base::fail(now.error());
  if (now->size > scanned->end) {
    base::log_event(base::Level::warning, "store_container_cut",
                    "container={}: the last {} bytes were not whole", name_of(number),
                    now->size - scanned->end);
    if (auto cut = file->resize(scanned->end); !cut) return cut;
    if (auto synced = file->sync(); !synced) return synced;
  }
  found.end = scanned->end;
  current_ = std::move(found);
  return {};
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
  current_ = {.number = number, .file = std::move(file), .end = ContainerHeader::bytes, .directory = {}};
  return {};
}

base::Result<void> Containers::close_current() {
  const base::Bytes listed = encode(current_.directory);
  base::Bytes tail = encode_chunk(ChunkKind::directory, {}, listed);
  const base::Bytes footer = encode_footer(current_.end);
  tail.insert(tail.end(), footer.begin(), footer.end());
  base::Result<void> done = current_.file->write(current_.end, tail);
  // Without a directory it is a container, too.
  if (!done && may_pass(done.error())) done = current_.file->resize(current_.end);
  if (done) done = current_.file->sync();
  if (done) current_ = {};
  return done;
}

// Ends the one that chunks are added to if there is no room for `bytes` more, and begins one if there is
// none.
base::Result<void> Containers::make_room(std::size_t bytes) {
  if (broken_) return base::fail(EIO);
  const bool full = current_.file != nullptr &&
                    (current_.end + bytes > bytes_max_ || current_.directory.size() >= listed_max);
  if (full) {
    auto done = close_current();
    broken_ = !done;
    if (!done) return done;
  }
  return current_.file == nullptr ? begin(number_max_ + 1) : base::Result<void>();
}

base::Result<void> Containers::write_at_end(base::BytesView record) {
  auto done = current_.file->write(current_.end, record);
  if (!done && !may_pass(done.error())) broken_ = true;
  // Else a part of it might be at the end where the footer is looked for.
  if (!done && !broken_) (void)current_.file->resize(current_.end);
  return done;
}

Location Containers::listed(std::uint32_t offset, ChunkKind kind, const hashing::Digest& id,
                            base::BytesView bytes) {
  current_.directory.push_back({offset, kind, static_cast<std::uint32_t>(bytes.size()), id});
  ++appended_;
  return {.volume = 0, .container = current_.number, .offset = offset};
}

base::Result<Location> Containers::append(ChunkKind kind, const hashing::Digest& id, base::BytesView bytes) {
  const base::Bytes record = encode_chunk(kind, id, bytes);
  const std::scoped_lock lock(adding_);
  base::Result<void> done = make_room(record.size());
  if (done) done = write_at_end(record);
  if (!done) return base::fail(done.error());
  const Location at = listed(current_.end, kind, id, bytes);
  current_.end += static_cast<std::uint32_t>(record.size());
  return at;
}

// How many of them have room in one run behind `end`.
std::size_t Containers::room_for(std::span<const NewChunk> chunks, std::uint64_t end) const {
  std::uint64_t length = 0;
  for (std::size_t n = 0; n < chunks.size(); ++n) {
    length += chunks[n].bytes.size();
    const std::uint64_t heads = RunHeader::bytes + (n + 1) * ChunkHeader::bytes + RunHeader::align;
    if (n == RunHeader::chunks_max || length > RunHeader::bytes_max || end + heads + length > bytes_max_)
      return n;
  }
  return chunks.size();
}

std::size_t Containers::room_now(std::span<const NewChunk> chunks) {
  const std::scoped_lock lock(adding_);
  return room_for(chunks, current_.file == nullptr ? ContainerHeader::bytes : current_.end);
}

base::Result<std::vector<Location>> Containers::append_run(std::span<const NewChunk> chunks,
                                                           std::uint64_t offset) {
  std::vector<Location> out;
  while (out.size() < chunks.size()) {
    const auto left = chunks.subspan(out.size());
    // What has no room behind the others ends a container.
    const std::size_t here = room_now(left);
    const std::size_t taken = here < 2 ? room_for(left, ContainerHeader::bytes) : here;
    if (taken < 2) {
      const auto at = append(ChunkKind::data, left.front().id, left.front().bytes);
      if (!at) return base::fail(at.error());
      out.push_back(*at);
      offset += left.front().bytes.size();
      continue;
    }
    const auto run = left.first(taken);
    if (auto done = add_run(run, offset, out); !done) return base::fail(done.error());
    for (const NewChunk& chunk : run) offset += chunk.bytes.size();
  }
  return out;
}

// Whoever came meanwhile has taken room: then it lies in the next one.
base::Result<void> Containers::add_run(std::span<const NewChunk> chunks, std::uint64_t offset,
                                       std::vector<Location>& out) {
  base::Bytes heads;
  std::uint64_t length = 0;
  for (const NewChunk& chunk : chunks) {
    const base::Bytes head = encode_head(ChunkKind::data, chunk.id, chunk.bytes);
    heads.insert(heads.end(), head.begin(), head.end());
    length += chunk.bytes.size();
  }
  const std::scoped_lock lock(adding_);
  base::Result<void> done = make_room(RunHeader::bytes + heads.size() + RunHeader::align + length);
  if (!done) return done;
  std::uint64_t begin = std::uint64_t{current_.end} + RunHeader::bytes + heads.size();
  if (length >= aligned_from) begin += (offset - begin) % RunHeader::align;
  base::Bytes record =
      encode_run(current_.end, static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(length), heads);
  record.reserve(record.size() + static_cast<std::size_t>(length));
  for (const NewChunk& chunk : chunks) record.insert(record.end(), chunk.bytes.begin(), chunk.bytes.end());
  done = write_at_end(record);
  if (!done) return done;
  for (const NewChunk& chunk : chunks) {
    out.push_back(listed(static_cast<std::uint32_t>(begin - ChunkHeader::bytes), ChunkKind::data, chunk.id,
                         chunk.bytes));
    begin += chunk.bytes.size();
  }
  current_.end = static_cast<std::uint32_t>(begin);
  return {};
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
  {
    const std::scoped_lock lock(adding_);
    if (broken_) return base::fail(EIO);
    file = current_.file;
    now = appended_;
  }
  base::Result<void> done;
  if (file != nullptr) done = file->sync();
  const std::scoped_lock lock(adding_);
  if (!done) broken_ = true;
  if (broken_) return base::fail(done ? base::errno_of(EIO) : done.error());
  synced_ = now;
  return {};
}

Location Containers::end() {
  const std::scoped_lock lock(adding_);
  if (current_.file == nullptr) return {.volume = 0, .container = number_max_ + 1, .offset = 0};
  return {.volume = 0, .container = current_.number, .offset = current_.end};
}

// The bytes of one in a run have those of another before them, which say nothing.
base::Result<base::Bytes> Containers::read(Location at, ChunkKind kind, const hashing::Digest& id,
                                           std::uint32_t length) {
  if (length > chunk_bytes_limit(kind)) return base::fail(EBADMSG);
  const auto place = find(at);
  if (!place) return base::fail(place.error());
  base::Bytes bytes(ChunkHeader::bytes + length);
  const auto got = place->file->read(place->at.offset, bytes);
  if (!got) return base::fail(got.error());
  const base::BytesView chunk = base::BytesView(bytes).subspan(ChunkHeader::bytes);
  const auto header = decode_chunk_header(base::BytesView(bytes).first(*got));
  bool is_it = header && header->kind == kind && header->id == id && header->length == length;
  if (*got != bytes.size() || (is_it && !is_whole(*header, chunk))) return base::fail(EBADMSG);
  if (!is_it && kind == ChunkKind::data) {
    const auto listed = look(place->at);
    is_it = listed && listed->id == id && listed->length == length;
  }
  if (!is_it) return base::fail(EBADMSG);
  bytes.erase(bytes.begin(), bytes.begin() + ChunkHeader::bytes);
  return bytes;
}

bool Containers::read_verified(const ChunkRef& chunk, std::uint32_t from, base::MutableBytes to) {
  const auto place = find(chunk.at);
  if (!place) return false;
  const ChunkRef lies{.id = chunk.id, .at = place->at, .bytes = chunk.bytes};
  if (!verified_.has(std::span(&lies, 1))) return false;
  const auto got = place->file->read(std::uint64_t{place->at.offset} + ChunkHeader::bytes + from, to);
  if (got && *got == to.size()) return true;
  verified_.forget(place->at.container);
  return false;
}

base::Result<base::Bytes> Containers::bytes_at(Location at, std::uint32_t length) {
  if (length > chunk_bytes_limit(ChunkKind::data)) return base::fail(EBADMSG);
  const auto place = find(at);
  if (!place) return base::fail(place.error());
  base::Bytes bytes(length);
  const auto got = place->file->read(std::uint64_t{place->at.offset} + ChunkHeader::bytes, bytes);
  if (!got) return base::fail(got.error());
  return *got == length ? base::Result<base::Bytes>(std::move(bytes)) : base::fail(EBADMSG);
}

base::Result<ChunkHeader> Containers::head_at(Location at) {
  const auto place = find(at);
  if (!place) return base::fail(place.error());
  base::Bytes bytes(ChunkHeader::bytes);
  const auto got = place->file->read(place->at.offset, bytes);
  if (!got) return base::fail(got.error());
  const auto header = decode_chunk_header(base::BytesView(bytes).first(*got));
  return header ? base::Result<ChunkHeader>(*header) : base::fail(EBADMSG);
}

void Containers::forget_cached(Location at, std::uint32_t length) {
  if (const auto place = find(at)) place->file->forget_cached(place->at.offset, ChunkHeader::bytes + length);
}

}  // namespace braid::store
