// Takes the bytes of files into a store, and gives them back.
//
// The order is that of docs/format-store.md: chunks on the medium, the registry's entry on the medium, the
// record, the record on the medium, and only then holes in the file. What a crash leaves undone is done by
// whoever comes next.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/result.h"
#include "hashing/chunk_params.h"
#include "hashing/cpu_hasher.h"
#include "store/sealed_file.h"
#include "store/store.h"

namespace braid::store {

enum class SealOutcome : std::uint8_t {
  sealed,
  small,    // less than seal_bytes_min bytes that are no zeros
  already,  // it was; what a crash left to be done is done
  changed,  // while it was read, or somebody wants it: it stays as it was
  in_use,   // somebody has it open
};

// With less to seal, a file stays as it is: it takes a block as well.
inline constexpr std::uint64_t seal_bytes_min = 4096;
// Up to this size a file is cut as `whole`, whatever else is cut how.
inline constexpr std::uint64_t whole_bytes_max = 16 * base::KiB;

// A file whose chunks are in the store, though nothing says so yet.
struct SealDraft {
  std::unique_ptr<File> file{};
  KernelHandle handle{};
  FileStatus before{};
  Record record{};
  Root root{};
  // Whether nobody can have written to the file since before it was read, and nobody waits for it. Asked
  // before it gets its record, and at the end: who waits then gets a plain file. Nobody writes before
  // commit() ends.
  std::function<bool()> untouched{};
  SealOutcome outcome = SealOutcome::sealed;
};

// Belongs to one thread; several may share a store.
class Sealer {
 public:
  // `tree`: of all files, by Store::tree_of(). Needs a store with a registry.
  Sealer(Store& store, std::uint32_t tree, hashing::Profile profile);

  // Reads the file, and keeps its chunks. draft.file and draft.untouched are the caller's; draft.outcome
  // tells whether it goes on to commit().
  base::Result<void> prepare(SealDraft& draft);
  // Makes sealed files of the drafts, whose outcome is `sealed` before and after that. They are of one file
  // system.
  base::Result<void> commit(std::span<SealDraft> drafts);
  [[nodiscard]] std::uint64_t bytes_read() const { return bytes_read_; }

 private:
  base::Result<void> prepare_sealed(SealDraft& draft, base::BytesView record);
  base::Result<void> add_pieces(const SealedFile& sealed, const Extent& range, RecipeBuilder& recipe);
  base::Result<void> draft_of(SealDraft& draft, RecipeBuilder& recipe, std::vector<Extent> extents);
  base::Result<std::vector<Extent>> read_all(File& file, std::uint64_t size, RecipeBuilder& recipe);
  base::Result<void> read_extent(File& file, const Extent& extent, RecipeBuilder& recipe);
  void give_back_what_is_wanted(std::span<SealDraft> drafts);
  base::Result<std::uint64_t> keep(base::BytesView bytes, std::uint64_t offset, bool is_end,
                                   RecipeBuilder& recipe);

  Store& store_;
  const std::uint32_t tree_;
  const base::SystemClock clock_;
  hashing::CpuHasher hasher_;
  const hashing::ChunkParams usual_, whole_;
  const hashing::ChunkParams* params_ = nullptr;
  base::Bytes buffer_;
  std::uint64_t bytes_read_ = 0;
};

// Does what a crash left of a seal, or of an unseal; nothing if nothing is left. `false`: since the crash,
// which was before the first hole, a local process has written to the file; it is a plain file again, with
// what was written. EBUSY: the same, and there were holes.
base::Result<bool> finish_steps(Store& store, File& file, const KernelHandle& handle,
                                const SealedFile& sealed);

// A file that gets its bytes back.
struct UnsealDraft {
  std::unique_ptr<File> file{};
  KernelHandle handle{};
  FileStatus before{};
  Record record{};
  Root root{};
  std::vector<Extent> holes{};  // that it had
  // `false`: it is not sealed. Errors: those of SealedFile::open(), EIO, ENOSPC and others of the file: then
  // it is as it was. EBUSY: after a crashed seal a local process has written to it: only reading by the
  // server tells which bytes are whose.
  base::Result<bool> outcome = true;
};

// draft.file is the caller's, the rest is made here. The files are of one file system. Needs a store with a
// registry.
void unseal(Store& store, std::uint32_t tree, std::span<UnsealDraft> drafts);

}  // namespace braid::store
