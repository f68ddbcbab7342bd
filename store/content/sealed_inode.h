// A sealed file that is read and written to, whatever opens it: which recipe it has now, and who may do what
// at the same time.
//
// The newest write wins. What is written goes to the stub; whoever takes bytes out of the file takes them out
// of the recipe first, and out of the stub then: a crash between the two leaves what was there, or zeros.
// What a recipe has behind the end of the file counts for nothing; before the file gets longer it is taken
// out. A record is set when its chunks are on the medium. The file systems keep the order of what is done to
// one inode, so nothing else is waited for.
//
// Where there are windows, the newest bytes of a stream may be in one, and nowhere else: they are looked for
// there first. Who writes to the stub, or takes bytes out of the file, takes them out of the window, too.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <span>
#include <type_traits>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "store/content/own_blocks.h"
#include "store/content/window.h"
#include "store/content/windows.h"
#include "store/content/written_ranges.h"
#include "store/recipes/former_chunks.h"
#include "store/recipes/sealed_file.h"
#include "store/store.h"
#include "vfs/content.h"

namespace braid::store {

// Thread-safe; functions block, but for locate(). `stub` is the file, open for writing where it is changed.
// The store outlives it.
class SealedInode {
 public:
  // `windows`: null: it has none. `former`: told what the file loses; null: nobody is.
  SealedInode(Store& store, const KernelHandle& file, Windows* windows = nullptr,
              FormerVersions* former = nullptr)
      : store_(store),
        file_(file),
        own_(store.own_block_groups()),
        windows_(windows),
        former_versions_(former) {}
  ~SealedInode();
  SealedInode(const SealedInode&) = delete;
  SealedInode& operator=(const SealedInode&) = delete;

  // Once before everything else; more often does nothing. `record`: nothing, if the file has none any more.
  // Errors as those of SealedFile::open().
  base::Result<void> load(const std::optional<base::Bytes>& record);

  // Runs `work`, which may give the file another record, while nobody else uses it. Its error, or that of
  // what the file has afterwards. EAGAIN: it has a window, and nothing was done.
  base::Result<void> replace(File& stub, const std::function<base::Result<void>()>& work);
  // Where it is written to. begin() and end() are for the work of replace(): nobody writes then.
  WrittenRanges& written() { return written_; }
  // Nothing of it is in chunks.
  [[nodiscard]] bool is_plain();

  // That it has now. Nothing: it has none.
  std::optional<Record> record();
  // Calls sync(true), which is to bring the record that the stub has to the medium, or sync(false), if it is
  // known to be there. Of who sets a record, and of what this process found, nobody knows.
  template <class Sync>
  std::invoke_result_t<Sync&, bool> sync_record(Sync&& sync) {
    const std::uint64_t number = records_.load(std::memory_order_acquire);
    std::uint64_t before = synced_records_.load(std::memory_order_acquire);
    auto done = sync(before < number);
    while (done && before < number && !synced_records_.compare_exchange_weak(before, number));
    return done;
  }

  // As those of SealedFile.
  base::Result<void> read(File& stub, std::uint64_t offset, base::MutableBytes to);
  base::Result<std::uint64_t> seek(File& stub, std::uint64_t offset, bool data, std::uint64_t size);
  // As Content::locate(): of a file whose stub has no bytes of its own. It does not wait.
  bool locate(std::uint64_t offset, std::uint32_t count, const vfs::Content::Look& look, vfs::Located& where);

  // As Content::as_plain(): of blocks in which the recipe was seen to show nothing; and of whole ones, in one
  // step.
  bool as_plain(std::uint64_t offset, std::uint64_t length, vfs::Content::Steps steps,
                const vfs::Content::Look& look, const std::function<void()>& work);

  // What the caller does to the stub, at the right moment. Its errors end the call, and are returned.
  using Change = std::function<base::Result<void>()>;
  // Writes its bytes, and in the same system call those before and behind them: without these a block would
  // lose what the recipe has of it.
  using Put = std::function<base::Result<void>(base::BytesView before, base::BytesView after)>;
  // Writes bytes that the recipe has, as the caller.
  using Fill = SealedFile::Write;
  using Resize = std::function<base::Result<void>(std::uint64_t size)>;
  base::Result<void> write(File& stub, std::uint64_t offset, std::uint64_t length, const Fill& fill,
                           const Put& put);
  base::Result<void> resize(File& stub, std::uint64_t size, const Fill& fill, const Change& resize);
  base::Result<void> deallocate(File& stub, std::uint64_t offset, std::uint64_t length, const Fill& fill,
                                const Change& punch);
  // What the recipe has there becomes the stub's own, so that there is room for what will be written.
  base::Result<void> allocate(File& stub, std::uint64_t offset, std::uint64_t length, const Fill& fill,
                              const Change& allocate);

  // A crash has left steps of its root to be done, or others are about to do them.
  [[nodiscard]] bool has_steps();
  base::Result<void> do_steps(File& stub);

  // What the recipe of a file says of its bytes [range.begin, range.end), for splice() of another.
  struct Sealed {
    std::shared_ptr<const SealedFile> of{};
    Extent range{};
  };
  // From `begin` on as far as the recipe has the newest bytes of the file, or it has a hole, and there are no
  // steps to be done; not behind
  // `end`, which the file reaches to. The caller has a Pins::Use since before, as long as it uses the chunks:
  // they are referred to. EAGAIN: some are about to be somewhere else.
  base::Result<Sealed> sealed_from(File& stub, std::uint64_t begin, std::uint64_t end);
  // The recipe has these bytes, at `to`; the file reaches to their end then, and its times move. `tree`: that
  // the file is in. False: the stub has bytes of its own there, and nothing was done. What is written is
  // not on the medium.
  base::Result<bool> splice(File& stub, const Sealed& from, std::uint64_t to, std::uint32_t tree,
                            const Fill& fill, const Resize& resize);

  // Bytes of the file that are in chunks, those that were overwritten too. No waiting.
  [[nodiscard]] std::uint64_t mapped() const { return mapped_.load(std::memory_order_relaxed); }

  // In the window. No waiting.
  // Who sees that there is nothing sees the record that has it (sync_record()).
  [[nodiscard]] std::uint64_t window_bytes() const { return window_bytes_.load(std::memory_order_acquire); }
  [[nodiscard]] bool has_window() const { return window_bytes() > 0; }
  // Takes the bytes of an UNSTABLE write into the window; the stub gets the size of the file, and its times
  // move. False: they do not belong there, and are to be written. `profile`: of a window that begins.
  base::Result<bool> take(File& stub, std::uint64_t offset, const io::Payload& data,
                          std::optional<hashing::Profile> profile, const Fill& fill, const Resize& resize);
  // Cuts and hashes what has come of the stream, if that is enough: others go on meanwhile.
  void cut_window();
  // Whether there is enough for cut_first_run(), which is to be called then; once for each closing.
  bool begins_first_run();
  // As cut_window(), of the first bytes that came.
  void cut_first_run();
  // What is in the window when it is called is in the recipe or in the stub when it ends, though not on the
  // medium. `tree`: of the file; nothing: it may not be sealed. EAGAIN and errors of `fill`: some is in the
  // window still. What changes the inode, and nothing that clients have in it, is done through `around`.
  using Around = std::function<base::Result<void>(const Change& change)>;
  base::Result<void> close_window(File& stub, std::optional<std::uint32_t> tree, const Fill& fill,
                                  const Around& around);
  // Nobody can keep what is in the window, and there will be none any more.
  void lose_window();

 private:
  using Shared = std::shared_lock<std::shared_mutex>;
  using Alone = std::unique_lock<std::shared_mutex>;
  Shared shared();
  Alone alone();

  bool over_whole_blocks(std::uint64_t begin, std::uint64_t end, const vfs::Content::Look& look,
                         const std::function<void()>& work);

  // Everything below is for who is alone, but for waits_for_others().
  [[nodiscard]] bool reaches_behind(std::uint64_t offset) const;
  // Whether a write there takes more than write(2). What was seen of the blocks is noted.
  base::Result<bool> waits_for_others(File& stub, std::uint64_t offset, std::uint64_t end);
  // Does what a crash left to be done: nobody writes to a file before that.
  base::Result<void> finish(File& stub);
  // The recipe has a hole at [begin, end), and nothing behind `size`, that of the file.
  base::Result<void> take_out(File& stub, std::uint64_t begin, std::uint64_t end, std::uint64_t size);
  // The file is about to reach to `end`.
  base::Result<void> before_growing(File& stub, std::uint64_t end, const Fill& fill);
  // The block that `offset` lies within becomes the stub's own: it is about to lose a part, or to be the last
  // one no more, and btrfs then makes zeros of the rest of a hole.
  base::Result<void> own_block(File& stub, std::uint64_t offset, const FileStatus& status, const Fill& fill);
  base::Result<void> give_up_record(File& stub);
  // The containers of these bytes of a recipe are referred to; EAGAIN as sealed_from().
  base::Result<void> refer_to(const Node& top, std::uint64_t begin, std::uint64_t end);
  // The file reaches to the end of it.
  base::Result<void> put_spliced(File& stub, const Sealed& from, std::uint64_t to, std::uint32_t tree);
  base::Result<void> write_alone(File& stub, std::uint64_t offset, std::uint64_t end, const Fill& fill,
                                 const Put& put);
  base::Result<void> take_record(const std::optional<base::Bytes>& record);
  // Whether such a write goes into the window.
  [[nodiscard]] bool wants(std::uint64_t begin, std::uint64_t end) const;
  // After each change of the window, of whose slabs it had so many before.
  void window_changed(std::uint64_t slab_bytes_before);
  // What the window has there, up to a number, becomes the stub's; the mtime stays.
  base::Result<void> spill(File& stub, std::uint64_t begin, std::uint64_t end, std::uint64_t number,
                           const Fill& fill);
  base::Result<void> spill_piece(File& stub, const WindowPiece& piece, const Fill& fill);
  void erase_window(std::uint64_t begin, std::uint64_t end);
  base::Result<void> overlay(std::span<const WindowPiece> pieces, std::uint64_t offset,
                             base::MutableBytes to) const;

  // More is to be hashed than who commits should wait for.
  bool is_behind();
  // For who has cutting_, and is not alone: of what came with the put() of `up_to` or before, if there is
  // one; else of runs of at least so many bytes. False: there is nothing more to cut.
  base::Result<bool> cut_some(std::optional<std::uint64_t> up_to, std::uint64_t run_bytes);
  // What a recipe is made of that takes the chunks of the window in.
  struct Draft {
    std::shared_ptr<const SealedFile> base{};
    std::uint64_t edits = 0, number = 0, bytes = 0;
    std::vector<WindowPiece> pieces{};
    FileStatus status{};
    Record record{};
    Root root{};
  };
  [[nodiscard]] base::Result<Draft> draft_window(File& stub);
  base::Result<void> put_recipe(Draft& draft);
  base::Result<void> make_holes(File& stub, const Draft& draft);
  base::Result<void> put_record(File& stub, Draft& draft, bool first);
  base::Result<bool> take_in(File& stub, Draft& draft, bool first, const Fill& fill);
  base::Result<bool> into_recipe(File& stub, std::uint32_t tree, const Fill& fill, const Around& around);

  void set(std::shared_ptr<const SealedFile> next);

  Store& store_;
  const KernelHandle file_;
  // Who waits to be alone holds the gate: nobody overtakes it for ever.
  std::mutex gate_;
  std::atomic<unsigned> waiting_{0};  // to be alone
  std::shared_mutex users_;
  std::shared_ptr<const SealedFile> now_;  // of an empty recipe, if there is no record any more
  std::atomic<std::uint64_t> mapped_{0};
  std::atomic<std::uint64_t> records_{0};         // that were set
  std::atomic<std::uint64_t> synced_records_{0};  // of them those that are on the medium
  // Of the recipe that it has now. What the stub loses was taken out of the recipe first, which is another
  // one then.
  OwnBlocks own_;

  WrittenRanges written_;

  Windows* const windows_;
  FormerVersions* const former_versions_;
  Window window_;
  std::optional<Pins::Use> use_;  // of the chunks of the window
  std::uint64_t edits_ = 0;       // how often bytes were taken out of the file
  hashing::Profile profile_{};    // of the window
  bool keeps_no_window_ = false;  // one was lost
  std::atomic<std::uint64_t> window_bytes_{0};
  std::mutex cutting_;   // before users_
  FormerChunks former_;  // for who has cutting_
  std::atomic<bool> cutting_failed_{false};
  std::atomic<std::uint64_t> run_wanted_{0};  // what is cut at once, if more than usual
  std::atomic<bool> first_run_is_begun_{false};
};

}  // namespace braid::store
