#include "store/store_source.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "base/log.h"
#include "store/on_pool.h"
#include "vfs/wire_handle.h"

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

std::optional<KernelHandle> kernel_handle_of(const vfs::FileHandle& wire) {
  const vfs::HandleBody body = vfs::HandleCodec::body_of(wire.view());
  if (body.transient || body.bytes.size() > KernelHandle::bytes_max) return std::nullopt;
  KernelHandle out{.type = body.type, .size = static_cast<std::uint8_t>(body.bytes.size()), .bytes = {}};
  std::ranges::copy(body.bytes, out.bytes.begin());
  return out;
}

std::string_view text_of_refusal(base::Errno error) {
  if (error == base::errno_of(EBADMSG))
    return "its record is damaged, of another store, or was copied from another file";
  if (error == base::errno_of(ENOTSUP)) return "its record is of a later version of braid";
  return "its root cannot be read";
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

bool SealedContent::as_plain(std::uint64_t offset, std::uint64_t length, const Look& look,
                             const std::function<void()>& work) {
  return source_.store_.writable() && inode_->as_plain(offset, length, look, work);
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
  const bool no_room = done.error() == base::errno_of(ENOSPC) || done.error() == base::errno_of(EDQUOT);
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

vfs::VfsOp<> SealedContent::close_window(vfs::Stub& stub, const vfs::Credentials& who, bool hides) {
  if (!has_window()) co_return;
  const auto tree = source_.windows()->tree_of(stub.handle());
  const int fd = co_await stub.descriptor(vfs::OpenAccess::both);
  const auto file = source_.store_.medium().file_of(fd);
  StubCall call;
  bool sealed = false;
  std::optional<vfs::HiddenChanges> hidden;
  const SealedInode::Around around = [&](const SealedInode::Change& change) {
    return hides ? hiding(stub, change, hidden) : change();
  };
  const base::Result<void> done = co_await on_pool(source_.group_, io::BlockingReason::sync, [&] {
    auto closed = inode_->close_window(*file, tree, filler(stub, who, fd, call), around, sealed);
    if (hidden) source_.remember(stub, *hidden, *inode_);
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
  // Of the file's own bytes somebody else may be told that they are on the medium.
  if (sealed) co_await stub.sync();
  if (later) co_await base::fail(vfs::Error::delay);
}

vfs::VfsOp<vfs::Verifier> SealedContent::commit(vfs::Stub& stub, const vfs::Credentials& who,
                                                std::uint64_t /*offset*/, std::uint32_t /*count*/) {
  co_await close_window(stub, who, true);
  const auto sync = [&] { return stub.commit_own(); };
  base::Result<vfs::Verifier, vfs::Error> done =
      co_await on_pool(source_.group_, io::BlockingReason::sync, sync);
  co_return co_await std::move(done);
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

namespace {

void add_space(vfs::Attributes& attributes, std::uint64_t mapped) {
  constexpr std::uint64_t block = 4096;
  const std::uint64_t both = attributes.space + mapped;
  attributes.space = std::max(attributes.space, std::min(both, rounded_up(attributes.size, block)));
}

}  // namespace

void SealedContent::adjust(vfs::Attributes& attributes) const {
  add_space(attributes, inode_->mapped() + inode_->window_bytes());
  if (hides_.load(std::memory_order_acquire))
    hidden_.with([&](const vfs::HiddenChanges& hidden) { hidden.hide(attributes); });
}

StoreSource::Inode StoreSource::name_of(std::uint64_t device, const KernelHandle& file) {
  return {device, file.type, {file.view().begin(), file.view().end()}};
}

std::shared_ptr<SealedInode> StoreSource::inode_of(std::uint64_t device, const KernelHandle& file) {
  const Inode name = name_of(device, file);
  const std::scoped_lock lock(mutex_);
  std::weak_ptr<SealedInode>& known = inodes_[name];
  auto out = known.lock();
  if (out != nullptr) return out;
  out = std::shared_ptr<SealedInode>(new SealedInode(store_, file, windows_.get()),
                                     [this, name](SealedInode* inode) {
                                       delete inode;
                                       forget(name);
                                     });
  known = out;
  return out;
}

std::vector<Record> StoreSource::records() {
  std::vector<std::shared_ptr<SealedInode>> inodes;
  {
    const std::scoped_lock lock(mutex_);
    for (const auto& [name, known] : inodes_)
      if (auto inode = known.lock()) inodes.push_back(std::move(inode));
  }
  std::vector<Record> out;
  for (const auto& inode : inodes)
    if (const auto record = inode->record()) out.push_back(*record);
  return out;
}

// Another may have taken the place already.
void StoreSource::forget(const Inode& inode) {
  const std::scoped_lock lock(mutex_);
  const auto found = inodes_.find(inode);
  if (found != inodes_.end() && found->second.expired()) inodes_.erase(found);
}

// Who had the file before may have set another record since `record` was read: it is read once more, when
// nobody else can.
vfs::VfsOp<vfs::ContentRef> StoreSource::load(vfs::Stub& stub, base::BytesView /*record*/) {
  const auto handle = kernel_handle_of(stub.handle());
  if (!handle) {
    base::log_event(base::Level::error, "store_record_refused",
                    "fileid={}: the export has no lasting file handles; the file cannot be read",
                    stub.fileid());
    co_await base::fail(vfs::Error::io);
  }
  std::shared_ptr<SealedInode> inode = inode_of(stub.device(), *handle);
  const std::optional<base::Bytes> record = co_await stub.record();
  const base::Result<void> loaded =
      co_await on_pool(group_, io::BlockingReason::read, [&] { return inode->load(record); });
  if (!loaded) {
    base::log_event(base::Level::error, "store_record_refused", "fileid={}: {}; the file cannot be read",
                    stub.fileid(), text_of_refusal(loaded.error()));
    co_await base::fail(vfs::Error::io);
  }
  const auto note = note_of(stub.handle());
  co_return std::make_shared<SealedContent>(*this, std::move(inode),
                                            note ? std::optional(note->hidden) : std::nullopt);
}

std::optional<FileNote> StoreSource::note_of(const vfs::FileHandle& file) const {
  if (store_.index() == nullptr) return std::nullopt;
  const auto bytes = store_.index()->note(note_key(file));
  return bytes ? decode_note(*bytes) : std::nullopt;
}

hashing::Digest StoreSource::note_key(const vfs::FileHandle& file) const {
  return store_.keys().id_of(ChunkKind::root, file.view());
}

void StoreSource::remember(const vfs::Stub& stub, const vfs::HiddenChanges& hidden,
                           const SealedInode& inode) {
  if (store_.index() == nullptr) return;
  store_.index()->put_note(note_key(stub.handle()), encode(FileNote{hidden, inode.mapped()}));
}

void StoreSource::adjust_unloaded(const vfs::FileHandle& file, vfs::Attributes& attributes) const {
  const auto note = note_of(file);
  if (!note || attributes.change <= note->hidden.after || attributes.change > note->hidden.until) return;
  add_space(attributes, note->mapped);
  note->hidden.hide(attributes);
}

vfs::VfsOp<vfs::ContentRef> StoreSource::replace(vfs::FileSystem& fs, const vfs::FileRef& file,
                                                 const vfs::Stub& stub, Replacement replacement) {
  const auto handle = kernel_handle_of(stub.handle());
  if (!handle) co_await base::fail(vfs::Error::notsupp);
  const Inode name = name_of(stub.device(), *handle);
  bool first = false;
  {
    const std::scoped_lock lock(mutex_);
    first = replacements_.emplace(name, std::move(replacement)).second;
  }
  if (!first) co_await base::fail(vfs::Error::delay);
  base::Result<vfs::ContentRef, vfs::Error> placed = co_await fs.place(file, *this, {}).as_result();
  {
    const std::scoped_lock lock(mutex_);
    replacements_.erase(name);
  }
  co_return co_await std::move(placed);
}

bool StoreSource::begins_window(const vfs::FileHandle& file, const vfs::PlacementHint& hint) const {
  return windows_ != nullptr && store_.writable() && hint.bytes >= windows_->options().begins_with &&
         windows_->has_room(hint.bytes) && windows_->tree_of(file).has_value();
}

// Of a file that is to have a window nothing is on the medium yet: without one it is plain when it comes back
// into the descriptor cache.
vfs::VfsOp<vfs::ContentRef> StoreSource::place(vfs::Stub& stub, const vfs::ContentRef& former,
                                               const vfs::PlacementHint& hint) {
  const auto handle = kernel_handle_of(stub.handle());
  Replacement work;
  {
    const std::scoped_lock lock(mutex_);
    const auto found = handle ? replacements_.find(name_of(stub.device(), *handle)) : replacements_.end();
    if (found != replacements_.end()) work = std::move(found->second);
  }
  if (!work && !(former == nullptr && handle && begins_window(stub.handle(), hint))) co_return former;
  std::shared_ptr<SealedInode> inode = inode_of(stub.device(), *handle);
  if (!work) {
    const base::Result<void> loaded = inode->load(std::nullopt);
    if (!loaded) co_return former;
    co_return std::make_shared<SealedContent>(*this, std::move(inode), std::nullopt);
  }
  const int fd = co_await stub.descriptor(vfs::OpenAccess::read);
  const auto file = store_.medium().file_of(fd);
  std::optional<vfs::HiddenChanges> hidden;
  const base::Result<void> done = co_await on_pool(group_, io::BlockingReason::sync, [&] {
    const bool hides = stub.hide_changes().has_value();
    auto loaded = former != nullptr ? base::Result<void>() : inode->load(std::nullopt);
    if (loaded) loaded = inode->replace(*file, [&] { return work(stub); });
    if (const auto found = stub.hidden(); hides && found) hidden = *found;
    return loaded;
  });
  if (!done && done.error() == base::errno_of(EAGAIN)) co_return former;
  if (!done) log_failure("store_replace_failed", stub, done.error());
  if (inode->is_plain()) co_return vfs::ContentRef();
  if (hidden) remember(stub, *hidden, *inode);
  co_return std::make_shared<SealedContent>(*this, std::move(inode), hidden);
}

io::Op<> StoreSource::close_windows(base::TimePoint before) {
  if (windows_ == nullptr) co_return;
  const vfs::Credentials server;
  for (const Windows::Open& open : windows_->idle_since(before)) {
    const auto stub = co_await open.kept.file_system->stub(open.kept.file, *this).as_result();
    if (!stub) continue;
    SealedContent content(*this, open.inode, std::nullopt);
    (void)co_await content.close_window(**stub, server, false).as_result();
  }
  // Those that are closed are let go.
  (void)windows_->idle_since(base::TimePoint::min());
}

// On a thread without a reactor everything runs at once. Who was about to take bytes when it began has told
// of the window soon after.
void StoreSource::end_windows() {
  constexpr int attempts = 200;
  static constexpr std::chrono::milliseconds pause(5);
  if (windows_ == nullptr) return;
  windows_->stop();
  std::thread([this] {
    for (int attempt = 0; attempt < attempts; ++attempt) {
      auto closing = close_windows(base::TimePoint::max());
      closing.start({});
      if (windows_->counts().windows == 0) return;
      std::this_thread::sleep_for(pause);
    }
    base::log_event(base::Level::error, "store_windows_left", "{}: some cannot be closed",
                    store_.directory());
  }).join();
}

void StoreSource::changing(const vfs::FileHandle& file) {
  if (on_change_) on_change_(file);
}

vfs::VfsOp<> StoreSource::removing(vfs::Stub& /*stub*/, vfs::Content& /*content*/) {
  return io::ready_op<vfs::Error>();
}

}  // namespace braid::store
