// The bytes of a file in objects on data servers, for clients that have no layout.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "pnfs/layout_record.h"
#include "pnfs_mds/changes.h"
#include "pnfs_mds/compact_handle.h"
#include "pnfs_mds/epoch_holders.h"
#include "pnfs_mds/object_calls.h"
#include "pnfs_mds/packed_record.h"
#include "pnfs_mds/records.h"
#include "pnfs_mds/shared_locks.h"
#include "pnfs_mds/turns.h"
#include "vfs/content.h"
#include "vfs/file_system.h"
#include "vfs/shared_rounds.h"

namespace braid::pnfs_mds {

class StripedSource;

// Of one object of a file that is there: what is gone for ever, though its file is not, is lost.
vfs::Error error_of_object(vfs::Error error);

// One for each object, as long as somebody holds it. A server that is silent makes calls answer `delay`.
//
// Size: that of the stub is what the metadata server has heard of. It is raised by each WRITE that goes
// through here, and by settling, and set by resize(), which runs while no WRITE and no settling does: so
// nothing that was written before a truncation lengthens the file after it. A truncation that was not
// finished is, before anything else is done (Truncations). Servers say when they are written to by others,
// before they answer; as long as they have not, the stub is right, and nobody is asked (DirtyLog).
class StripedContent final : public vfs::Content, public std::enable_shared_from_this<StripedContent> {
 public:
  // By StripedSource. `fresh`: the file has just been placed.
  StripedContent(StripedSource& source, const pnfs::LayoutRecord& record, const vfs::FileHandle& file,
                 bool fresh);
  ~StripedContent() override;

  // The wire handle of its file.
  [[nodiscard]] vfs::FileHandle file() const { return file_.handle(); }
  // A copy, of the current epoch; any thread.
  [[nodiscard]] pnfs::LayoutRecord record() const;
  [[nodiscard]] pnfs::ObjectId object() const { return object_; }
  // Whoever makes handles notes that before it looks at the record.
  [[nodiscard]] EpochHolders holders() { return {lock(), holders_}; }
  // Somebody has a layout of the file, which is in that file system, or is about to get one; any thread. They
  // are counted. What the last one leaves is to be dropped without any lock, after this content.
  void begin_layout(const std::shared_ptr<vfs::FileSystem>& in);
  [[nodiscard]] std::shared_ptr<vfs::FileSystem> end_layout();
  // Null: nobody has a layout.
  [[nodiscard]] std::shared_ptr<vfs::FileSystem> file_system() const;
  // A layout for writing was granted, or is gone; any thread. They are counted.
  void begin_writing();
  void end_writing();
  [[nodiscard]] bool has_writers() const { return facts_.writers.load(std::memory_order_relaxed) > 0; }
  // A server says that it is written to: size and times of the stub are behind. Any thread.
  void note_written();
  // Who has a layout for writing is about to look, as LAYOUTCOMMIT does. If nobody else has since it did so
  // before, it goes on writing: then servers need not say so again, and the file stays unsettled. Any thread.
  void note_commit();
  // For so long a change through this server is only slow. Less than any lease.
  static constexpr base::Duration slow_change = std::chrono::seconds(2);
  // One has been under way for longer. It may be carried out at a data server when who sent it is gone, and
  // somebody else has its locks: nobody is to be granted a layout for writing, by which it could overtake.
  [[nodiscard]] bool change_unanswered() const;
  // One is under way.
  [[nodiscard]] bool changing() const;
  // A truncation was intended, and is not finished: nobody is to be granted a layout.
  [[nodiscard]] bool truncating() const;

  [[nodiscard]] vfs::ContentSource& source() const override;
  vfs::VfsOp<vfs::ReadResult> read(vfs::Stub& stub, std::uint64_t offset, std::uint32_t count,
                                   vfs::ReadMemory memory) override;
  vfs::VfsOp<vfs::WriteResult> write(vfs::Stub& stub, const vfs::Credentials& who, std::uint64_t offset,
                                     const io::Payload& data, vfs::Stability stability) override;
  vfs::VfsOp<vfs::Verifier> commit(vfs::Stub& stub, const vfs::Credentials& who, std::uint64_t offset,
                                   std::uint32_t count) override;
  [[nodiscard]] vfs::Verifier write_verifier(const vfs::Verifier& own) const override;
  // The intent is on the medium before any object is cut. On return all servers refuse handles from before
  // but those for writing of the layout that `who` has; if there may be others, or ones that tell of a larger
  // size, by the next epoch. So do they if the file had that size already.
  vfs::VfsOp<> resize(vfs::Stub& stub, const vfs::Credentials& who, std::uint64_t size) override;
  vfs::VfsOp<vfs::SeekResult> seek(vfs::Stub& stub, std::uint64_t offset, vfs::SeekTo what,
                                   std::uint64_t until) override;
  vfs::VfsOp<> allocate(vfs::Stub& stub, const vfs::Credentials& who, std::uint64_t offset,
                        std::uint64_t length) override;
  vfs::VfsOp<> deallocate(vfs::Stub& stub, const vfs::Credentials& who, std::uint64_t offset,
                          std::uint64_t length) override;
  [[nodiscard]] bool unsettled() const override { return facts_.unsettled.load(std::memory_order_relaxed); }
  vfs::VfsOp<> settle(vfs::Stub& stub) override;
  void adjust(vfs::Attributes& attributes) const override;

 private:
  // The last truncation that this process has intended, and how dirty the file was then.
  struct Intended {
    std::uint64_t number = 0;
    RecordVersion version = 0;
  };
  // What the servers have last said.
  struct Measured {
    std::optional<std::uint64_t> space;  // bytes used; nothing: not asked yet
    std::uint64_t size = 0;              // of the file, by then
    bool to_be_announced = true;         // what is written since: then this is all there is
  };
  struct Facts {
    std::shared_ptr<vfs::FileSystem> file_system{};  // as long as there are layouts
    std::uint32_t layouts = 0;
    pnfs::Epoch epoch{};
    bool changed = false;  // written to since the stub's times were set
    // To be read without the lock. They are here as there is room for them.
    std::atomic<bool> unsettled{false};
    std::atomic<std::uint32_t> writers{0};
  };
  // What calls need that go through this server, or ask the others. Most files that have layouts see none.
  struct Calls {
    // With the lock of Facts held.
    Intended intended{};
    Measured measured{};
    std::uint32_t commits = 0;  // note_commit() since anybody else has asked
    bool commit_asks = false;   // the next round is for one

    vfs::SharedRounds measuring;
    Changes changes;
    Turns resizing;  // alone: whoever sets the size; together: who writes, or settles
    Turns raising;   // alone: whoever compares the stub's size with another one and sets it
  };
  // Made when somebody asks for it first.
  [[nodiscard]] Calls& calls();
  // f(facts) under their lock.
  template <class F>
  auto with_facts(F&& f) {
    return SharedLocks::with(lock(), facts_, std::forward<F>(f));
  }
  template <class F>
  auto with_facts(F&& f) const {
    return SharedLocks::with(lock(), facts_, std::forward<F>(f));
  }
  // Of a READ or WRITE, what lies in one piece on one server.
  struct Piece {
    pnfs::ObjectRange range;
    std::uint64_t file_offset = 0;
  };
  // By the object's index: the different ones that answers have brought, or none.
  using SeenVerifiers = std::vector<std::vector<vfs::Verifier>>;
  // Servers that have not done what a call was to change, or not yet.
  using Failed = std::vector<pnfs::ServerNumber>;
  // The outcome of a WRITE.
  struct Written {
    std::uint32_t count = 0;  // bytes before the first one that is not written
    vfs::Stability committed = vfs::Stability::file_sync;
    std::optional<vfs::Error> failed;  // why that one is not
    SeenVerifiers seen;
  };

  [[nodiscard]] static std::vector<Piece> pieces_of(const pnfs::Striping& striping, std::uint64_t offset,
                                                    std::uint64_t count);
  [[nodiscard]] ObjectKey key(std::uint32_t index) const { return {object_, index}; }
  [[nodiscard]] bool any_left_out(const std::vector<Piece>& pieces) const;
  // A hash of this server's and of all of the file's; those that nobody has seen are what heartbeats said.
  [[nodiscard]] vfs::Verifier verifier_of(const pnfs::LayoutRecord& record, const SeenVerifiers& seen) const;
  void note_verifiers(const pnfs::LayoutRecord& record, const SeenVerifiers& seen) const;

  static base::Result<void, vfs::Error> append_piece(io::Payload& out, const pnfs::ObjectRange& range,
                                                     const base::Result<ObjectRead, vfs::Error>& read,
                                                     io::SlabCursor& cursor);
  [[nodiscard]] static Written sum_of(const std::vector<Piece>& pieces, std::uint32_t width,
                                      const std::vector<base::Result<ObjectWritten, vfs::Error>>& results);

  // The first data, or hole, of the file from `offset` on; or from where to go on, `end` if there is none.
  vfs::VfsOp<ObjectSought> search(const pnfs::LayoutRecord& record, std::uint64_t offset, std::uint64_t end,
                                  vfs::SeekTo what);
  // Each server could keep its part of so many bytes, as far as heartbeats tell.
  [[nodiscard]] bool can_ever_have(const pnfs::LayoutRecord& record, std::uint64_t length) const;
  // What the operations of that name do in their turn.
  // Before servers are told of what makes the file longer, while a change is noted: a crash forgets that they
  // were, and what they have is asked for after it.
  vfs::VfsOp<> keep_growing();
  vfs::VfsOp<vfs::WriteResult> write_in_turn(vfs::Stub& stub, std::uint64_t offset, const io::Payload& data,
                                             vfs::Stability stability, Failed& failed);
  vfs::VfsOp<> allocate_in_turn(vfs::Stub& stub, std::uint64_t offset, std::uint64_t end, Failed& failed);
  vfs::VfsOp<> deallocate_in_turn(vfs::Stub& stub, std::uint64_t offset, std::uint64_t end, Failed& failed);
  // What was done, when nothing of it runs any more. Nobody has a turn meanwhile: a truncation does not wait.
  template <class T>
  vfs::VfsOp<T> outlast(const Failed& failed, base::Result<T, vfs::Error> done) {
    for (const pnfs::ServerNumber server : failed) {
      const auto over = co_await outlast(server).as_result();
      if (!over && !done) co_await base::fail(over.error());
    }
    // Somebody may have looked at the servers before the last of it was done.
    if (!failed.empty()) note_behind();
    co_return co_await std::move(done);
  }
  vfs::VfsOp<> outlast(pnfs::ServerNumber server);
  // Asks all servers where the objects end; one round for all who wait. What a later one has found is as
  // good.
  vfs::VfsOp<Measured> measure();
  vfs::VfsOp<> measure_once();
  // The file's size; or the stub's, if `end` is before it.
  vfs::VfsOp<std::uint64_t> size_for(vfs::Stub& stub, std::uint64_t end);
  // Never makes the file shorter. `touch`: its times are those of now even if its size stays. The caller
  // holds Calls::resizing.
  vfs::VfsOp<> raise(vfs::Stub& stub, std::uint64_t size, bool touch);

  // Calls::resizing together, when no truncation is unfinished.
  vfs::VfsOp<Turns::Hold> enter(vfs::Stub& stub);
  vfs::VfsOp<> finish(vfs::Stub& stub);
  // What was intended, by whoever holds Calls::resizing alone.
  vfs::VfsOp<> carry_out(vfs::Stub& stub, TruncationRecord truncation);

  // What was written may be behind the end that the stub tells.
  void note_behind();
  // After what changes what it depends on.
  void show();

  [[nodiscard]] SharedLocks::Lock& lock() const;

  // In an order without gaps: there are many of them.
  StripedSource& source_;
  const pnfs::ObjectId object_;
  const CompactHandle file_;
  const PackedRecord placed_;
  Facts facts_;
  EpochHolders::State holders_;
  std::atomic<Calls*> calls_{nullptr};  // its own; null: nobody has asked for it
  friend class LivingContents;
  StripedContent* next_living_ = nullptr;  // of LivingContents, under its lock
};

}  // namespace braid::pnfs_mds
