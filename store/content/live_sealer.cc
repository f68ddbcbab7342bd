#include "store/content/live_sealer.h"

#include <fcntl.h>

#include <optional>
#include <utility>

#include "base/log.h"
#include "base/unique_fd.h"
#include "store/content/on_pool.h"
#include "vfs/posix/kernel.h"

namespace braid::store {
namespace {

vfs::Error error_of_store(const vfs::Stub& stub, const char* event, base::Errno error) {
  if (error == base::errno_of(ECANCELED)) return vfs::Error::delay;
  if (is_full(error)) return vfs::Error::nospc;
  base::log_event(base::Level::error, event, "fileid={}: {}", stub.fileid(), base::message_of(error));
  return vfs::Error::io;
}

// A description of its own: what the kernel tells it of lost bytes it tells the others, too.
base::Result<base::UniqueFd> opened_again(int fd) {
  base::UniqueFd out(::open(vfs::posix::path_of(fd).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOATIME));
  if (!out) return base::fail(base::last_errno());
  return out;
}

Punch punch_of(vfs::Stub& stub) {
  return [&stub](std::uint64_t offset, std::uint64_t length) -> base::Result<void> {
    const auto punched = stub.punch_own(offset, length);
    if (punched) return {};
    return base::fail(punched.error() == vfs::Error::nospc ? ENOSPC : EIO);
  };
}

}  // namespace

Sealer& LiveSealer::sealer_of(std::uint32_t tree) {
  std::unique_ptr<Sealer>& sealer = sealers_[tree];
  if (sealer == nullptr) {
    sealer = std::make_unique<Sealer>(store_, tree, hashing::Profile::general);
    sealer->stop_when(stop_);
    sealer->hash_by(hash_);
    sealer->look_in(source_.former());
  }
  return *sealer;
}

// One that clients have open for writing is not opened once more, which their leases would not survive.
vfs::VfsOp<SealDraft> LiveSealer::draft_of(vfs::Stub& stub, WrittenRanges* written, base::UniqueFd& own) {
  const int fd = co_await stub.descriptor(vfs::OpenAccess::read);
  SealDraft draft;
  if (written == nullptr) {
    auto opened = opened_again(fd);
    if (!opened) co_await base::fail(error_of_store(stub, "store_seal_failed", opened.error()));
    own = std::move(*opened);
  } else {
    draft.hot = written->take();
    draft.written = [written] { return written->all(); };
    draft.sync = [&stub]() -> base::Result<void> {
      const auto done = stub.sync_own();
      if (done) return {};
      return base::fail(done.error() == vfs::Error::nospc ? ENOSPC : EIO);
    };
  }
  draft.file = store_.medium().file_of(own ? own.get() : fd);
  draft.served = true;
  draft.untouched = [&stub] { return stub.undisturbed(); };
  const auto inherited = co_await stub.inherited(profile_attribute);
  if (inherited) draft.profile = hashing::parse_profile(inherited->value);
  co_return std::move(draft);
}

vfs::VfsOp<SealOutcome> LiveSealer::seal(vfs::FileSystem& fs, std::uint32_t tree, const vfs::FileRef& file,
                                         bool restless) {
  const auto stub = co_await fs.stub(file, source_);
  const vfs::Writers writers = co_await stub->writers(restless);
  if (writers == vfs::Writers::others) co_return SealOutcome::in_use;
  const vfs::ContentRef known = co_await fs.content(file);
  if (known != nullptr && &known->source() != &source_) co_await base::fail(vfs::Error::notsupp);
  const auto* const content = static_cast<const SealedContent*>(known.get());
  if (content != nullptr && content->has_window()) co_return SealOutcome::in_use;
  const bool by_range = writers == vfs::Writers::clients;
  WrittenRanges* const written = content == nullptr ? nullptr : &content->written();
  if (by_range && (written == nullptr || !written->is_on())) {
    const auto watch = [](vfs::Stub&, SealedInode& inode) {
      inode.written().begin();
      return base::Result<void>();
    };
    (void)co_await source_.replace(fs, file, *stub, watch);
    co_return SealOutcome::in_use;
  }
  base::UniqueFd own;
  SealDraft draft = co_await draft_of(*stub, by_range ? written : nullptr, own);
  Sealer& sealer = sealer_of(tree);
  base::Result<void> done = co_await on_pool(source_.group(), io::BlockingReason::other, [&] {
    base::Result<void> prepared = sealer.prepare(draft);
    if (prepared && draft.outcome == SealOutcome::sealed) prepared = sealer.announce(std::span(&draft, 1));
    return prepared;
  });
  if (!done) co_await base::fail(error_of_store(*stub, "store_seal_failed", done.error()));
  if (draft.outcome != SealOutcome::sealed) co_return draft.outcome;
  bool ran = false;
  const auto carry_out = [&](vfs::Stub& placed, SealedInode& inode) -> base::Result<void> {
    ran = !by_range || &inode.written() == written;
    if (!ran) return {};
    if (!by_range) inode.written().end();
    draft.punch = punch_of(placed);
    done = sealer.carry_out(std::span(&draft, 1));
    return done;
  };
  (void)co_await source_.replace(fs, file, *stub, carry_out);
  if (!done) co_await base::fail(error_of_store(*stub, "store_seal_failed", done.error()));
  bytes_ = length_of(draft.extents);
  // It has got a window since, or somebody else seals it.
  co_return ran ? draft.outcome : SealOutcome::changed;
}

vfs::VfsOp<bool> LiveSealer::unseal(vfs::FileSystem& fs, std::uint32_t tree, const vfs::FileRef& file) {
  const auto stub = co_await fs.stub(file, source_);
  const vfs::ContentRef known = co_await fs.content(file);
  if (known == nullptr) co_return false;
  if (&known->source() != &source_) co_await base::fail(vfs::Error::notsupp);
  const vfs::Writers writers = co_await stub->writers(false);
  if (writers != vfs::Writers::none) co_await base::fail(vfs::Error::delay);
  const int fd = co_await stub->descriptor(vfs::OpenAccess::both);
  if (static_cast<const SealedContent&>(*known).has_window()) co_await base::fail(vfs::Error::delay);
  UnsealDraft draft;
  draft.file = store_.medium().file_of(fd);
  bool ran = false;
  const auto carry_out = [&](vfs::Stub& /*placed*/, SealedInode& /*inode*/) -> base::Result<void> {
    ran = true;
    store::unseal(store_, tree, std::span(&draft, 1));
    return draft.outcome ? base::Result<void>() : base::fail(draft.outcome.error());
  };
  (void)co_await source_.replace(fs, file, *stub, carry_out);
  if (!ran) co_await base::fail(vfs::Error::delay);
  if (!draft.outcome)
    co_await base::fail(error_of_store(*stub, "store_unseal_failed", draft.outcome.error()));
  co_return *draft.outcome;
}

}  // namespace braid::store
