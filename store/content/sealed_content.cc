#include <algorithm>
#include <utility>

#include "base/log.h"
#include "store/content/on_pool.h"
#include "store/content/store_source.h"

namespace braid::store {
namespace {

// Memory for `bytes` of a READ; nothing if there is none now.
std::optional<std::vector<io::SlabRange>> memory_for(io::SlabCursor& cursor, std::size_t bytes) {
  std::vector<io::SlabRange> out;
  while (bytes > 0) {
    const std::size_t piece = std::min(bytes, io::large_slab_bytes);
    if (piece <= io::small_slab_bytes) {
      auto range = cursor.carve(piece);
      if (!range) return std::nullopt;
      out.push_back(std::move(*range));
    } else {
      auto slab = cursor.pool().acquire(io::SlabSize::large);
      if (!slab) return std::nullopt;
      out.push_back({std::move(*slab), 0, static_cast<std::uint32_t>(piece)});
    }
    bytes -= piece;
  }
  return out;
}

void log_failure(const char* event, const vfs::Stub& stub, base::Errno error) {
  base::log_event(base::Level::error, event, "fileid={}: {}", stub.fileid(), base::message_of(error));
}

}  // namespace

vfs::ContentSource& SealedContent::source() const { return source_; }

vfs::VfsOp<vfs::ReadResult> SealedContent::read(vfs::Stub& stub, std::uint64_t offset, std::uint32_t count,
                                                vfs::ReadMemory memory) {
  const vfs::Attributes now = co_await stub.attributes();
  vfs::ReadResult out;
  out.eof = offset >= now.size;
  if (out.eof || count == 0) co_return std::move(out);
  const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(count, now.size - offset));
  auto ranges = memory_for(memory.cursor, wanted);
  if (!ranges) co_await base::fail(vfs::Error::delay);
  const int fd = co_await stub.descriptor(vfs::OpenAccess::read);
  const auto file = source_.store_.medium().file_of(fd);
  const auto fill = [&]() -> base::Result<void> {
    std::uint64_t at = offset;
    for (const io::SlabRange& range : *ranges) {
      if (auto got = inode_->read(*file, at, range.writable()); !got) return got;
      at += range.length;
    }
    return {};
  };
  const base::Result<void> done = co_await on_pool(source_.group_, io::BlockingReason::read, fill);
  if (!done) {
    log_failure("store_read_failed", stub, done.error());
    co_await base::fail(vfs::Error::io);
  }
  for (io::SlabRange& range : *ranges) out.data.append(std::move(range));
  out.eof = offset + wanted >= now.size;
  co_return std::move(out);
}

bool SealedContent::as_plain(std::uint64_t offset, std::uint64_t length, Steps steps, const Look& look,
                             const std::function<void()>& work) {
  return source_.store_.writable() && inode_->as_plain(offset, length, steps, look, work);
}

vfs::VfsOp<> SealedContent::change(vfs::Stub& stub, Work work) {
  // An export that was read-only when the store was opened, and is not any more.
  if (!source_.store_.writable()) co_await base::fail(vfs::Error::rofs);
  const int fd = co_await stub.descriptor(vfs::OpenAccess::both);
  const auto file = source_.store_.medium().file_of(fd);
  StubCall call;
  const base::Result<void> done =
      co_await on_pool(source_.group_, io::BlockingReason::write, [&] { return work(*file, fd, call); });
  if (!call) co_await base::fail(call.error());
  if (done) co_return;
  const bool no_room = is_full(done.error());
  if (!no_room) log_failure("store_write_failed", stub, done.error());
  co_await base::fail(no_room ? vfs::Error::nospc : vfs::Error::io);
}

// Writes what the recipe has, as the caller; what goes wrong is `failed` then, and the rest is left undone.
auto SealedContent::filler(vfs::Stub& stub, const vfs::Credentials& who, int fd, StubCall& failed) {
  return [&stub, &who, fd, &failed](std::uint64_t offset, base::BytesView bytes) -> base::Result<void> {
    const std::uint64_t end = offset + bytes.size();
    const auto put =
        stub.write_own(who, fd, end, {}, {.before = bytes, .after = {}}, vfs::Stability::unstable);
    if (put) return {};
    failed = base::fail(put.error());
    return base::fail(ECANCELED);
  };
}

vfs::VfsOp<vfs::WriteResult> SealedContent::write(vfs::Stub& stub, const vfs::Credentials& who,
                                                  std::uint64_t offset, const io::Payload& data,
                                                  vfs::Stability stability) {
  vfs::WriteResult written;
  std::optional<Windowed> windowed;
  if (source_.windows() != nullptr && stability == vfs::Stability::unstable)
    windowed = co_await begin_window(stub, data);
  bool taken = false;
  // What goes wrong with the size the write that follows meets, too.
  const auto resize = [&](int fd, std::uint64_t size) -> base::Result<void> {
    if (stub.resize_own(who, fd, size)) return {};
    return base::fail(ECANCELED);
  };
  co_await change(stub, [&](File& file, int fd, StubCall& call) -> base::Result<void> {
    if (windowed) {
      const auto took = inode_->take(file, offset, data, windowed->profile, filler(stub, who, fd, call),
                                     [&](std::uint64_t size) { return resize(fd, size); });
      if (!took) return base::fail(took.error());
      taken = *took;
      if (taken) inode_->cut_window();
      if (taken && inode_->begins_first_run()) source_.cut_first_run(inode_, who.peer);
      if (taken) return {};
    }
    return inode_->write(file, offset, data.size(), filler(stub, who, fd, call),
                         [&](base::BytesView before, base::BytesView after) {
                           const auto put = stub.write_own(who, fd, offset, data,
                                                           {.before = before, .after = after}, stability);
                           if (put)
                             written = *put;
                           else
                             call = base::fail(put.error());
                           return base::Result<void>();
                         });
  });
  if (!taken) co_return written;
  const base::SystemClock clock;
  source_.windows()->note(inode_, std::move(windowed->kept), clock.now());
  co_return vfs::WriteResult{static_cast<std::uint32_t>(data.size()), vfs::Stability::unstable,
                             windowed->verifier};
}

vfs::VfsOp<std::optional<SealedContent::Windowed>> SealedContent::begin_window(vfs::Stub& stub,
                                                                               const io::Payload& data) {
  const bool goes_on = has_window();
  if (!source_.store_.chunks().index_filler().done()) co_return std::nullopt;
  if (!goes_on && data.size() < source_.windows()->options().begins_with) co_return std::nullopt;
  if (!source_.windows()->tree_of(stub.handle())) co_return std::nullopt;
  Windowed out{.kept = stub.keep(), .verifier = stub.own_verifier()};
  if (out.kept.file_system == nullptr) co_return std::nullopt;
  if (goes_on) co_return std::move(out);
  const auto inherited = co_await stub.inherited(profile_attribute);
  if (inherited) out.profile = hashing::parse_profile(inherited->value);
  co_return std::move(out);
}

void SealedContent::hide(const vfs::HiddenChanges& hidden) {
  hidden_.with([&](vfs::HiddenChanges& now) { now = hidden; });
  hides_.store(true, std::memory_order_release);
}

// The content hides it when the stub ends to.
base::Result<void> SealedContent::hiding(vfs::Stub& stub, const SealedInode::Change& change,
                                         std::optional<vfs::HiddenChanges>& hidden) {
  const bool hides = stub.hide_changes().has_value();
  auto done = change();
  if (hides && done) {
    if (const auto found = stub.hidden(); found && *found) {
      hide(**found);
      hidden = *found;
    }
  }
  stub.show_changes();
  return done;
}

// Of the file's own bytes somebody else may be told that they are on the medium.
SealedContent::StubCall SealedContent::sync_record(vfs::Stub& stub) {
  return inode_->sync_record([&](bool unsynced) { return unsynced ? stub.sync_own() : StubCall(); });
}

SealedContent::Committed SealedContent::sync_all(vfs::Stub& stub) {
  return inode_->sync_record([&](bool unsynced) { return stub.commit_own(unsynced); });
}

// What is done last is done by the thread that has done the rest: changing to it takes as long as some of it.
vfs::VfsOp<> SealedContent::close_window(vfs::Stub& stub, const vfs::Credentials& who, bool hides,
                                         std::function<StubCall()> sync) {
  const auto tree = source_.windows()->tree_of(stub.handle());
  const int fd = co_await stub.descriptor(vfs::OpenAccess::both);
  const auto file = source_.store_.medium().file_of(fd);
  StubCall call;
  StubCall synced;
  std::optional<vfs::HiddenChanges> hidden;
  const SealedInode::Around around = [&](const SealedInode::Change& change) {
    return hides ? hiding(stub, change, hidden) : change();
  };
  const base::Result<void> done = co_await on_pool(source_.group_, io::BlockingReason::sync, [&] {
    auto closed = inode_->close_window(*file, tree, filler(stub, who, fd, call), around);
    if (hidden) source_.remember(stub, *hidden, *inode_);
    synced = closed ? sync() : sync_record(stub);
    return closed;
  });
  const bool later = !done && !call && call.error() == vfs::Error::delay;
  if (!done && !later) {
    log_failure("store_window_lost", stub, done.error());
    stub.lost();
    co_await on_pool(source_.group_, io::BlockingReason::other, [&] {
      inode_->lose_window();
      return true;
    });
  }
  if (later) co_await base::fail(vfs::Error::delay);
  if (!synced) co_await base::fail(synced.error());
}

vfs::VfsOp<vfs::Verifier> SealedContent::commit(vfs::Stub& stub, const vfs::Credentials& who,
                                                std::uint64_t /*offset*/, std::uint32_t /*count*/) {
  std::optional<Committed> done;
  if (has_window())
    co_await close_window(stub, who, true, [&] {
      done = sync_all(stub);
      return *done ? StubCall() : base::fail(done->error());
    });
  if (done) co_return **done;
  // There was none, or it was lost. The record may be one that somebody else sets and syncs now, or COPY's.
  Committed committed =
      co_await on_pool(source_.group_, io::BlockingReason::sync, [&] { return sync_all(stub); });
  co_return co_await std::move(committed);
}

vfs::VfsOp<> SealedContent::resize(vfs::Stub& stub, const vfs::Credentials& who, std::uint64_t size) {
  co_await change(stub, [&](File& file, int fd, StubCall& call) {
    return inode_->resize(file, size, filler(stub, who, fd, call), [&] {
      call = stub.resize_own(who, fd, size);
      return call ? base::Result<void>() : base::fail(ECANCELED);
    });
  });
}

vfs::VfsOp<vfs::SeekResult> SealedContent::seek(vfs::Stub& stub, std::uint64_t offset, vfs::SeekTo what,
                                                std::uint64_t until) {
  const vfs::Attributes now = co_await stub.attributes();
  if (offset >= now.size) co_await base::fail(vfs::Error::nxio);
  const int fd = co_await stub.descriptor(vfs::OpenAccess::read);
  const auto file = source_.store_.medium().file_of(fd);
  const std::uint64_t end = std::max(offset, std::min(until, now.size));
  const auto look = [&] { return inode_->seek(*file, offset, what == vfs::SeekTo::data, end); };
  const base::Result<std::uint64_t> found = co_await on_pool(source_.group_, io::BlockingReason::read, look);
  if (!found) co_await base::fail(vfs::Error::io);
  co_return vfs::SeekResult{*found, *found >= now.size};
}

vfs::VfsOp<> SealedContent::allocate(vfs::Stub& stub, const vfs::Credentials& who, std::uint64_t offset,
                                     std::uint64_t length) {
  co_await change(stub, [&](File& file, int fd, StubCall& call) {
    return inode_->allocate(file, offset, length, filler(stub, who, fd, call), [&] {
      call = stub.space_own(who, fd, offset, length, false);
      return base::Result<void>();
    });
  });
}

vfs::VfsOp<> SealedContent::deallocate(vfs::Stub& stub, const vfs::Credentials& who, std::uint64_t offset,
                                       std::uint64_t length) {
  co_await change(stub, [&](File& file, int fd, StubCall& call) {
    return inode_->deallocate(file, offset, length, filler(stub, who, fd, call), [&] {
      call = stub.space_own(who, fd, offset, length, true);
      return call ? base::Result<void>() : base::fail(ECANCELED);
    });
  });
}

// The chunks are in use from before their recipe is looked at until another one has them, too.
vfs::VfsOp<std::uint64_t> SealedContent::share(vfs::Stub& stub, const vfs::Credentials& who,
                                               const Range& from, std::uint64_t to_offset, bool all) {
  const auto tree = source_.tree_to_share(stub.handle());
  if (!tree) co_return 0;
  auto& other = static_cast<SealedContent&>(from.content);
  // Where they cannot be done, as on a full disk, COPY goes through memory, which they do not concern.
  if (other.inode_->has_steps()) {
    const auto steps = [&](File& file, int, StubCall&) { return other.inode_->do_steps(file); };
    (void)co_await other.change(from.stub, steps).as_result();
  }
  const int from_fd = co_await from.stub.descriptor(vfs::OpenAccess::read);
  const auto from_file = source_.store_.medium().file_of(from_fd);
  std::uint64_t shared = 0;
  co_await change(stub, [&](File& file, int fd, StubCall& call) -> base::Result<void> {
    const Pins::Use use = source_.store_.chunks().pins().use();
    const auto sealed = other.inode_->sealed_from(*from_file, from.offset, from.offset + from.length);
    if (!sealed && !all) return {};  // as far as it can be read, it can be copied
    if (!sealed && sealed.error() == base::errno_of(EAGAIN)) call = base::fail(vfs::Error::delay);
    if (!sealed) return base::fail(sealed.error());
    const std::uint64_t bytes = sealed->range.end - sealed->range.begin;
    if (bytes == 0 || (all && bytes < from.length)) return {};
    const auto done = inode_->splice(file, *sealed, to_offset, *tree, filler(stub, who, fd, call),
                                     [&](std::uint64_t size) -> base::Result<void> {
                                       call = stub.resize_own(who, fd, size);
                                       if (call) return {};
                                       return base::fail(ECANCELED);
                                     });
    if (!done) return base::fail(done.error());
    if (*done) shared = bytes;
    return {};
  });
  co_return shared;
}

namespace {

// Of a range whose length says so, the end is that of the file. What lies behind it is none of the range.
vfs::VfsOp<vfs::Content::Range> within_file(const vfs::Content::Range& from) {
  const vfs::Attributes now = co_await from.stub.attributes();
  const std::uint64_t left = now.size - std::min(now.size, from.offset);
  vfs::Content::Range out = from;
  out.length = from.length == 0 ? left : std::min(from.length, left);
  co_return out;
}

}  // namespace

vfs::VfsOp<> SealedContent::clone_from(vfs::Stub& stub, const vfs::Credentials& who, const Range& from,
                                       std::uint64_t to_offset) {
  const Range wanted = co_await within_file(from);
  if (from.length > wanted.length) co_await base::fail(vfs::Error::inval);
  if (wanted.length == 0) co_return;
  const std::uint64_t shared = co_await share(stub, who, wanted, to_offset, true);
  if (shared == 0) co_await base::fail(vfs::Error::notsupp);
  co_await stub.sync();
}

vfs::VfsOp<std::uint64_t> SealedContent::copy_from(vfs::Stub& stub, const vfs::Credentials& who,
                                                   const Range& from, std::uint64_t to_offset) {
  const Range wanted = co_await within_file(from);
  if (wanted.length == 0) co_return 0;
  const std::uint64_t shared = co_await share(stub, who, wanted, to_offset, false);
  if (shared == 0) co_await base::fail(vfs::Error::notsupp);
  co_return shared;
}

void add_space(vfs::Attributes& attributes, std::uint64_t mapped) {
  constexpr std::uint64_t block = 4096;
  const std::uint64_t both = attributes.space + mapped;
  attributes.space = std::max(attributes.space, std::min(both, rounded_up(attributes.size, block)));
}

void SealedContent::adjust(vfs::Attributes& attributes) const {
  add_space(attributes, inode_->mapped() + inode_->window_bytes());
  if (hides_.load(std::memory_order_acquire))
    hidden_.with([&](const vfs::HiddenChanges& hidden) { hidden.hide(attributes); });
}

}  // namespace braid::store
