// Sealed files in an export: their contents, as vfs/content.h has them.
#pragma once

#include <atomic>
#include <compare>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/guarded.h"
#include "io/blocking_pool.h"
#include "store/content/file_note.h"
#include "store/content/sealed_inode.h"
#include "store/content/windows.h"
#include "store/store.h"
#include "vfs/content.h"
#include "vfs/file_system.h"
#include "vfs/sealed.h"

namespace braid::store {

class StoreSource;

// To the space of the stub, that of so many bytes of the file which are in chunks.
void add_space(vfs::Attributes& attributes, std::uint64_t mapped);

// One for each time that a file comes into the descriptor cache.
class SealedContent final : public vfs::Content {
 public:
  SealedContent(StoreSource& source, std::shared_ptr<SealedInode> inode,
                const std::optional<vfs::HiddenChanges>& hidden)
      : source_(source), inode_(std::move(inode)) {
    if (hidden) hide(*hidden);
  }

  [[nodiscard]] vfs::ContentSource& source() const override;
  vfs::VfsOp<vfs::ReadResult> read(vfs::Stub& stub, std::uint64_t offset, std::uint32_t count,
                                   vfs::ReadMemory memory) override;
  bool locate(std::uint64_t offset, std::uint32_t count, const Look& look, vfs::Located& where) override {
    return inode_->locate(offset, count, look, where);
  }
  bool as_plain(std::uint64_t offset, std::uint64_t length, Steps steps, const Look& look,
                const std::function<void()>& work) override;
  [[nodiscard]] bool has_plain_bytes() const override { return true; }
  vfs::VfsOp<vfs::WriteResult> write(vfs::Stub& stub, const vfs::Credentials& who, std::uint64_t offset,
                                     const io::Payload& data, vfs::Stability stability) override;
  vfs::VfsOp<vfs::Verifier> commit(vfs::Stub& stub, const vfs::Credentials& who, std::uint64_t offset,
                                   std::uint32_t count) override;
  // What is written is the stub's.
  [[nodiscard]] vfs::Verifier write_verifier(const vfs::Verifier& own) const override { return own; }
  vfs::VfsOp<> resize(vfs::Stub& stub, const vfs::Credentials& who, std::uint64_t size) override;
  vfs::VfsOp<vfs::SeekResult> seek(vfs::Stub& stub, std::uint64_t offset, vfs::SeekTo what,
                                   std::uint64_t until) override;
  vfs::VfsOp<> allocate(vfs::Stub& stub, const vfs::Credentials& who, std::uint64_t offset,
                        std::uint64_t length) override;
  vfs::VfsOp<> deallocate(vfs::Stub& stub, const vfs::Credentials& who, std::uint64_t offset,
                          std::uint64_t length) override;
  // Chunks are shared, and no bytes copied, where the source has them in chunks and this stub has none of its
  // own; elsewhere notsupp. clone_from() is on the medium on return, and
  // fails with delay while garbage collection moves some of them.
  vfs::VfsOp<> clone_from(vfs::Stub& stub, const vfs::Credentials& who, const Range& from,
                          std::uint64_t to_offset) override;
  vfs::VfsOp<std::uint64_t> copy_from(vfs::Stub& stub, const vfs::Credentials& who, const Range& from,
                                      std::uint64_t to_offset) override;
  // What is in the window goes into the recipe or to the stub. Where neither can be, the verifier changes.
  // `hides`: clients see no other times and change attribute than before; for the content that they use.
  // The record is on the medium then.
  vfs::VfsOp<> close_window(vfs::Stub& stub, const vfs::Credentials& who, bool hides) {
    return close_window(stub, who, hides, [&] { return sync_record(stub); });
  }
  [[nodiscard]] bool has_window() const { return inode_->has_window(); }
  // Where the file is written to, as far as that is noted.
  [[nodiscard]] WrittenRanges& written() const { return inode_->written(); }
  // Space: bytes that are no holes. Of what was overwritten both are counted, but no more than the size.
  void adjust(vfs::Attributes& attributes) const override;

 private:
  // What the stub's own calls said: the error that the client gets. Others are the store's.
  using StubCall = base::Result<void, vfs::Error>;
  using Committed = base::Result<vfs::Verifier, vfs::Error>;
  // `sync`: what is called in place of sync_record() where nothing went wrong.
  vfs::VfsOp<> close_window(vfs::Stub& stub, const vfs::Credentials& who, bool hides,
                            std::function<StubCall()> sync);
  // These block.
  StubCall sync_record(vfs::Stub& stub);
  // With the file's own bytes.
  Committed sync_all(vfs::Stub& stub);
  using Work = std::function<base::Result<void>(File& file, int fd, StubCall& call)>;
  vfs::VfsOp<> change(vfs::Stub& stub, Work work);
  // Of a write that may go into the window.
  struct Windowed {
    vfs::Stub::Kept kept{};
    vfs::Verifier verifier{};
    std::optional<hashing::Profile> profile{};
  };
  vfs::VfsOp<std::optional<Windowed>> begin_window(vfs::Stub& stub, const io::Payload& data);
  static auto filler(vfs::Stub& stub, const vfs::Credentials& who, int fd, StubCall& failed);

  // Bytes of `from`, all of them or as many as can be shared from its first one on; 0: none can be.
  vfs::VfsOp<std::uint64_t> share(vfs::Stub& stub, const vfs::Credentials& who, const Range& from,
                                  std::uint64_t to_offset, bool all);

  void hide(const vfs::HiddenChanges& hidden);
  // Hides what the change does to the inode; `hidden`: what is to be remembered of it.
  base::Result<void> hiding(vfs::Stub& stub, const SealedInode::Change& change,
                            std::optional<vfs::HiddenChanges>& hidden);

  StoreSource& source_;
  const std::shared_ptr<SealedInode> inode_;
  std::atomic<bool> hides_{false};
  base::Guarded<vfs::HiddenChanges> hidden_;  // where hides_
};

// Of one store, for all exports that have it. Thread-safe; the store outlives it.
class StoreSource final : public vfs::ContentSource {
 public:
  explicit StoreSource(Store& store) : store_(store) {
    if (store.chunks().similarity() == Similarity::previous) former_ = std::make_unique<FormerVersions>();
  }

  ~StoreSource() override;
  StoreSource(const StoreSource&) = delete;
  StoreSource& operator=(const StoreSource&) = delete;

  // From now on threads of this pool read, if that is asked for on a reactor; before that the calling one.
  // `name`: of the store, whose share of the threads it has.
  void use(io::BlockingPool& pool, std::string name) { group_.emplace(pool, std::move(name)); }

  // From now on files can share chunks that nothing of is sealed yet. The tree of the store that a file is
  // in; nothing: it may not be sealed. No waiting. Before the first file system has this source.
  using TreeOf = std::function<std::optional<std::uint32_t>(const vfs::FileHandle& file)>;
  void use_trees(TreeOf tree_of) { tree_of_ = std::move(tree_of); }

  // From now on streams are sealed while they are written; before the first file system has this source.
  void use_windows(WindowOptions options) {
    windows_ = std::make_unique<Windows>(store_, std::move(options));
  }
  // Null: they are not.
  [[nodiscard]] Windows* windows() const { return windows_.get(); }
  // Null: equal chunks are looked for in the whole store.
  [[nodiscard]] FormerVersions* former() const { return former_.get(); }
  // Those to which nobody has written since `before`. What cannot be closed now is there next time.
  io::Op<> close_windows(base::TimePoint before);
  // There are no windows any more when it returns, and will be none. It blocks. Before another file system
  // serves the same files: that one would not see them.
  void end_windows();

  [[nodiscard]] std::string_view record() const override { return vfs::sealed_record; }
  [[nodiscard]] bool places_at_first_write() const override { return windows_ != nullptr; }
  vfs::VfsOp<vfs::ContentRef> load(vfs::Stub& stub, base::BytesView record) override;
  // What gives a file another record, or takes it away: `stub` is the file, which nobody else uses meanwhile.
  // It blocks.
  using Replacement = std::function<base::Result<void>(vfs::Stub& stub, SealedInode& inode)>;
  // Has it done, and returns what the file's content is then; clients see no other times and change attribute
  // than before, unless somebody else changes the file, too. An error of the replacement is in the log.
  // delay: another one is under way.
  vfs::VfsOp<vfs::ContentRef> replace(vfs::FileSystem& fs, const vfs::FileRef& file, const vfs::Stub& stub,
                                      Replacement replacement);
  // Before the bytes of files are changed; before the first file system has this source.
  void on_change(std::function<void(const vfs::FileHandle& file)> told) { on_change_ = std::move(told); }
  void changing(const vfs::FileHandle& file) override;
  // Of all files that somebody has open, those without a name among them. It blocks.
  std::vector<Record> records();
  void adjust_unloaded(const vfs::FileHandle& file, vfs::Attributes& attributes) const override;
  [[nodiscard]] std::optional<io::BlockingGroup>& group() { return group_; }
  [[nodiscard]] bool shares_bytes() const override { return tree_of_ != nullptr; }
  vfs::VfsOp<vfs::ContentRef> place(vfs::Stub& stub, const vfs::ContentRef& former,
                                    const vfs::PlacementHint& hint) override;
  // What was a file's is garbage when its record is gone.
  [[nodiscard]] bool wants_removals() const override { return false; }
  vfs::VfsOp<> removing(vfs::Stub& stub, vfs::Content& content) override;
  void gone(vfs::ContentRef content) override { (void)content; }

 private:
  friend class SealedContent;
  // Of a file system that is mounted now.
  struct Inode {
    std::uint64_t device = 0;
    std::uint16_t type = 0;
    std::vector<std::byte> handle{};
    friend auto operator<=>(const Inode&, const Inode&) = default;
  };
  static Inode name_of(std::uint64_t device, const KernelHandle& file);
  [[nodiscard]] std::optional<FileNote> note_of(const vfs::FileHandle& file) const;
  [[nodiscard]] hashing::Digest note_key(const vfs::FileHandle& file) const;
  void remember(const vfs::Stub& stub, const vfs::HiddenChanges& hidden, const SealedInode& inode);
  // Whether an empty plain file, of which such bytes are the first, is to have a window.
  [[nodiscard]] bool begins_window(const vfs::FileHandle& file, const vfs::PlacementHint& hint) const;
  // Whether a file can be given a recipe by SealedContent::share().
  [[nodiscard]] std::optional<std::uint32_t> tree_to_share(const vfs::FileHandle& file) const;
  // SealedInode::cut_first_run() on a thread that may wait, beside the caller, in the turns of `peer`.
  void cut_first_run(std::shared_ptr<SealedInode> inode, io::PeerId peer);
  // The same for all who have the file now.
  std::shared_ptr<SealedInode> inode_of(std::uint64_t device, const KernelHandle& file);
  void forget(const Inode& inode);

  Store& store_;
  std::unique_ptr<FormerVersions> former_;  // which file systems they are of does not matter: it is a guess
  std::unique_ptr<Windows> windows_;
  TreeOf tree_of_;
  std::optional<io::BlockingGroup> group_;
  std::mutex mutex_;
  unsigned first_runs_ = 0;  // that are being cut, or are about to be
  std::condition_variable first_run_cut_;
  std::map<Inode, std::weak_ptr<SealedInode>> inodes_;
  std::map<Inode, Replacement> replacements_;  // that are about to be done
  std::function<void(const vfs::FileHandle& file)> on_change_;
};

}  // namespace braid::store
