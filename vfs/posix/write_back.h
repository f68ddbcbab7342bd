// Who hears that bytes were lost on their way to the medium.
//
// A client keeps what was answered UNSTABLE until a COMMIT says OK with the verifier that came with its
// WRITEs. So there is one invariant: OK with an unchanged verifier means that the bytes are on the medium.
//
// The kernel tells a failed write-back once to each open file description (errseq_t), by the first fsync(2),
// fdatasync(2) or stable write through it that ends after the failure. The bytes may be anybody's: those of
// the caller that is told, or of any other who has written to the file before. So
//
//   1. whatever call says so, and whatever errno it says, the verifier of the whole file system changes. All
//      exports on it have one WriteBack, and so one verifier. One exception: a write that fails on a file
//      without unsynced bytes makes nobody's answer wrong, but those of other writes that are under way, and
//      they see the number of failures. So who has used his quota up does not have all others write again.
//   2. no answer overtakes such news. Calls that can take an error from a description are announced to the
//      file's FileSyncs before they begin and leave it when the verifier has changed. Who was told that all
//      is well waits for those that were under way at that moment, because one of them may have been told in
//      its place. Nobody who comes later can have been: a description is told of what happened after the call
//      before, and that call is his. fsync(2) of one file runs once at a time, and who comes meanwhile shares
//      the next one, so with fsync alone nobody waits longer than for the medium, and many COMMITs of a file
//      cost two calls. No lock is held over a call.
//   3. WRITE reads the verifier before it writes, COMMIT after its sync.
//   4. the description that is asked was open before the bytes were written. One that is opened later knows
//      nothing of an error that somebody else, a local process, has heard already. So a file with unsynced
//      bytes has a witness: the description of the first unsynced write. COMMIT syncs through it. When its
//      owner closes it (it was idle, gave room, the client's CLOSE, a reload) a read-only description takes
//      its place: that is opened first and the old one asked for errors after that, so whatever happens is
//      seen by one of them. It neither keeps a program from being executed nor conflicts with a read lease,
//      and before a write lease is taken the bytes are synced.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/unique_fd.h"
#include "vfs/file_system.h"
#include "vfs/posix/descriptor_slot.h"
#include "vfs/posix/late.h"

namespace braid::vfs::posix {

class FileSyncs;

// Of one file system, whatever the number of exports on it. Thread-safe.
class WriteBack : public std::enable_shared_from_this<WriteBack> {
 public:
  WriteBack();
  WriteBack(const WriteBack&) = delete;
  WriteBack& operator=(const WriteBack&) = delete;

  [[nodiscard]] Verifier verifier() const;
  // Bytes that were answered UNSTABLE may be gone.
  void lost() { losses_->fetch_add(1, std::memory_order_acq_rel); }
  // What syncs the whole file system, as syncfs(2) does.
  [[nodiscard]] FileSyncs& whole() { return *whole_; }
  // The same object for the same inode, which must stay open as long as somebody has the result: its number
  // could be another's after that.
  std::shared_ptr<FileSyncs> file(std::uint64_t device, std::uint64_t inode);
  // Files whose last name is gone are not kept open for their bytes' sake: to be called when one may be so.
  void forget_removed();
  // Files with unsynced bytes are kept open no longer, as where nothing of the file system is served any
  // more: their bytes are synced, and where that fails the verifier changes. One for which there is no
  // descriptor now stays. Waits for the medium.
  void let_go_kept();
  [[nodiscard]] std::size_t kept() const { return kept_count_.load(std::memory_order_relaxed); }

 private:
  friend class FileSyncs;
  using Inode = std::pair<std::uint64_t, std::uint64_t>;
  // Descriptors that stand in for closed ones: beyond so many, bytes are synced when one is closed.
  static constexpr std::size_t kept_max = 256;
  void forget(const Inode& inode);
  [[nodiscard]] std::vector<std::shared_ptr<FileSyncs>> kept_files();
  void keep(const Inode& inode, std::shared_ptr<FileSyncs> file);
  // The reference is to end outside of all locks.
  std::shared_ptr<FileSyncs> let_go(const Inode& inode);

  const std::uint64_t first_verifier_;
  using Losses = std::atomic<std::uint64_t>;
  const std::shared_ptr<Losses> losses_ = std::make_shared<Losses>(0);
  const std::unique_ptr<FileSyncs> whole_;
  std::mutex mutex_;
  std::map<Inode, std::weak_ptr<FileSyncs>> files_;
  std::atomic<std::size_t> kept_count_{0};
  std::map<Inode, std::shared_ptr<FileSyncs>> kept_;  // those that have a descriptor of their own
};

// The file systems that a server serves from, in all its roles. Thread-safe.
class WriteBacks {
 public:
  // The same object for the same number, from then on: a file system that is exported again, as by a reload,
  // goes on with its verifier.
  std::shared_ptr<WriteBack> of(std::uint64_t filesystem);
  // Those that keep files open, and that nothing has that serves from the file system, or may again.
  [[nodiscard]] std::vector<std::shared_ptr<WriteBack>> unserved();

 private:
  std::mutex mutex_;
  std::map<std::uint64_t, std::shared_ptr<WriteBack>> all_;
};

// The bytes of one file on their way to the medium, in all exports. Thread-safe; what waits for the medium
// says so.
class FileSyncs : public std::enable_shared_from_this<FileSyncs> {
 public:
  using Inode = std::pair<std::uint64_t, std::uint64_t>;
  // `back` has it in its table under this name, or nobody has.
  FileSyncs(std::shared_ptr<std::atomic<std::uint64_t>> losses, std::weak_ptr<WriteBack> back, Inode inode)
      : losses_(std::move(losses)), back_(std::move(back)), inode_(inode) {}
  ~FileSyncs();
  FileSyncs(const FileSyncs&) = delete;
  FileSyncs& operator=(const FileSyncs&) = delete;

  // Failures so far: to be read before the effect that is to be synced.
  [[nodiscard]] std::uint64_t failures() const { return failures_.load(std::memory_order_acquire); }

  enum class How : std::uint8_t { fsync, syncfs };
  struct Synced {
    int failure = 0;  // the errno of the call; 0: none
    // A call of somebody else failed since `since`: what was to be synced may be gone with his.
    bool overtaken = false;
    bool led = false;     // the call was made through the caller's descriptor
    bool called = false;  // one was made, after the caller had come; else there was nothing to sync
  };
  // Brings everything that was done before this call to the medium, by a call that begins after it. Waits for
  // the medium. `since`: failures() before the effect. `fd` stays open until the return.
  Synced sync(How how, int fd, std::uint64_t since);

  // A write that may hear of lost bytes, and run beside other calls: announced by the constructor, before its
  // first byte.
  class Hearing {
   public:
    explicit Hearing(FileSyncs& file);
    ~Hearing();
    Hearing(const Hearing&) = delete;
    Hearing& operator=(const Hearing&) = delete;
    // One of these, once, after the write. `failed`: it was told that bytes are lost. The write was stable:
    // false if its bytes may be gone; waits for the medium.
    bool end(bool failed);
    // It was not: nobody is waited for.
    void leave(bool failed);

   private:
    FileSyncs& file_;
    const std::uint64_t since_;
    const std::uint64_t ticket_;
    bool ended_ = false;
  };

  // One write that is not stable, through `fd`: for its length.
  class UnsyncedWrite {
   public:
    UnsyncedWrite(FileSyncs& file, int fd);
    ~UnsyncedWrite();
    UnsyncedWrite(const UnsyncedWrite&) = delete;
    UnsyncedWrite& operator=(const UnsyncedWrite&) = delete;

   private:
    FileSyncs& file_;
  };
  // Brings what was written so to the medium: nothing to do if all of it is there. `held`: a descriptor that
  // stays open until the return, or -1. delay: there is no descriptor to do it through. Waits for the medium.
  Outcome<Synced> commit(int held);
  // Whoever wrote through `fd` is about to close it.
  void closing(int fd, const DescriptorSlot& slot);
  // True if a descriptor of its own keeps the file open.
  [[nodiscard]] bool kept() const;

 private:
  friend class WriteBack;
  using Lock = std::unique_lock<std::mutex>;
  [[nodiscard]] bool clean() const { return begun_ == synced_; }
  [[nodiscard]] bool nobody_writes() const { return writing_.load(std::memory_order_acquire) == 0; }
  void sync_before_closing(Lock& lock, int fd);
  void ask(int fd);
  // The bytes need nobody any more; what is returned ends outside of the lock.
  struct Kept {
    base::UniqueFd fd;
    DescriptorSlot slot;
  };
  struct Released {
    std::optional<Kept> kept;
    std::shared_ptr<FileSyncs> file;
  };
  Released release();
  Released release_if_removed();
  void sync_and_release();
  std::uint64_t announce();
  // `loss`: a failure may be that of unsynced bytes.
  void leave(std::uint64_t ticket, bool failed, bool loss);
  void wait_for_earlier(Lock& lock);

  void note_loss();

  const std::shared_ptr<std::atomic<std::uint64_t>> losses_;
  const std::weak_ptr<WriteBack> back_;
  const Inode inode_;
  mutable std::mutex mutex_;
  std::condition_variable left_;  // a call that was announced has ended, or a round has
  std::uint64_t last_ticket_ = 0;
  std::vector<std::uint64_t> under_way_;  // tickets, the oldest first
  std::uint64_t wanted_ = 0;              // syncs asked for
  std::uint64_t covered_ = 0;             // of them those whose round has ended
  bool leading_ = false;                  // somebody is in fsync(2) for all that wait
  std::atomic<std::uint64_t> failures_{0};
  // Unsynced writes.
  std::uint64_t begun_ = 0;
  std::uint64_t synced_ = 0;             // of them those that are on the medium
  std::atomic<std::size_t> writing_{0};  // under way now; grows with the lock held
  int witness_ = -1;                     // while there are unsynced ones
  std::optional<Kept> kept_;             // it, if nobody else has it open
};

}  // namespace braid::vfs::posix
