#include "store/content/store_source.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "base/log.h"
#include "store/content/on_pool.h"
#include "vfs/wire_handle.h"

namespace braid::store {
namespace {
std::optional<KernelHandle> kernel_handle_of(const vfs::FileHandle& wire) {
  const vfs::HandleBody body = vfs::HandleCodec::body_of(wire.view());
  if (body.transient || body.bytes.size() > KernelHandle::bytes_max) return std::nullopt;
  KernelHandle out{.type = body.type, .size = static_cast<std::uint8_t>(body.bytes.size()), .bytes = {}};
  std::ranges::copy(body.bytes, out.bytes.begin());
  return out;
}

std::string_view text_of_refusal(base::Errno error) {
  if (error == base::errno_of(EBADMSG))
    return "its record is damaged, of another store, or was copied from another file (braid store adopt)";
  if (error == base::errno_of(ENOTSUP)) return "its record is of a later version of braid";
  return "its root cannot be read";
}

}  // namespace

StoreSource::~StoreSource() {
  std::unique_lock lock(mutex_);
  first_run_cut_.wait(lock, [this] { return first_runs_ == 0; });
}

void StoreSource::cut_first_run(std::shared_ptr<SealedInode> inode, io::PeerId peer) {
  if (!group_) {
    inode->cut_first_run();
    return;
  }
  const auto ended = [this] {
    const std::scoped_lock lock(mutex_);
    --first_runs_;
    first_run_cut_.notify_all();
  };
  {
    const std::scoped_lock lock(mutex_);
    ++first_runs_;
  }
  const bool begun =
      group_->post(peer, io::BlockingReason::write, [ended, inode = std::move(inode)]() mutable {
        inode->cut_first_run();
        inode.reset();
        ended();
      });
  if (!begun) ended();
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
  out = std::shared_ptr<SealedInode>(new SealedInode(store_, file, windows_.get(), former_.get()),
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

std::optional<std::uint32_t> StoreSource::tree_to_share(const vfs::FileHandle& file) const {
  if (!store_.writable() || store_.registry() == nullptr || !tree_of_) return std::nullopt;
  return tree_of_(file);
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
  const bool begins =
      former == nullptr && handle &&
      (hint.shares ? tree_to_share(stub.handle()).has_value() : begins_window(stub.handle(), hint));
  if (!work && !begins) co_return former;
  std::shared_ptr<SealedInode> inode = inode_of(stub.device(), *handle);
  if (!work) {
    const base::Result<void> loaded = inode->load(std::nullopt);
    if (!loaded) co_return former;
    co_return std::make_shared<SealedContent>(*this, std::move(inode), std::nullopt);
  }
  const int fd = co_await stub.descriptor(vfs::OpenAccess::read);
  const auto file = store_.medium().file_of(fd);
  std::optional<vfs::HiddenChanges> hidden;
  const std::optional<Record> before = inode->record();
  const base::Result<void> done = co_await on_pool(group_, io::BlockingReason::sync, [&] {
    const bool hides = stub.hide_changes().has_value();
    auto loaded = former != nullptr ? base::Result<void>() : inode->load(std::nullopt);
    if (loaded) loaded = inode->replace(*file, [&] { return work(stub, *inode); });
    if (const auto found = stub.hidden(); hides && found) hidden = *found;
    return loaded;
  });
  if (!done && done.error() == base::errno_of(EAGAIN)) co_return former;
  if (!done)
    base::log_event(base::Level::error, "store_replace_failed", "fileid={}: {}", stub.fileid(),
                    base::message_of(done.error()));
  // What it hides goes on to be hidden.
  if (former != nullptr && inode->record() == before) co_return former;
  const bool plain = inode->is_plain();
  if (plain && !inode->written().is_on()) co_return vfs::ContentRef();
  if (plain) hidden.reset();
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
