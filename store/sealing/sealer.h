// Takes the bytes of files into a store.
//
// The order is that of docs/format-store.md: chunks on the medium, the registry's entry on the medium, the
// record, the record on the medium, and only then holes in the file. What a crash leaves undone is done by
// whoever comes next.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/result.h"
#include "hashing/chunk_params.h"
#include "hashing/cpu_hasher.h"
#include "store/recipes/former_chunks.h"
#include "store/recipes/recipe_edit.h"
#include "store/recipes/sealed_file.h"
#include "store/store.h"

namespace braid::store {

enum class SealOutcome : std::uint8_t {
  sealed,
  small,    // there is too little to seal, or it takes no blocks
  already,  // it was; what a crash left to be done is done
  changed,  // while it was read, or somebody wants it: it stays as it was
  in_use,   // somebody has it open
};

// With less to seal, a file stays as it is; but one that is smaller is sealed as a whole: it takes a block
// for itself until then, and less in the store.
inline constexpr std::uint64_t seal_bytes_min = 4096;
// An extended attribute of a file, or of a directory for what lies below: the name of a profile.
inline constexpr const char* profile_attribute = "user.braid.profile";
// Up to this size a file is cut as `whole`, whatever else is cut how.
inline constexpr std::uint64_t whole_bytes_max = 16 * base::KiB;

// How bytes are cut and hashed: by the sealer's own hasher, or by somebody who is faster.
using HashJob =
    std::function<base::Result<hashing::JobResult>(const hashing::Job& job, hashing::CpuHasher& own)>;

using Punch = std::function<base::Result<void>(std::uint64_t offset, std::uint64_t length)>;

// A file whose chunks are in the store, though nothing says so yet.
struct SealDraft {
  std::unique_ptr<File> file{};
  KernelHandle handle{};
  FileStatus before{};
  Record record{};
  Root root{};
  // Whether nobody can have written to the file since before it was read, and nobody waits for it; if it has
  // `written`, nobody but those who are noted there. Asked before it gets its record, and at the end, unless
  // it is served: who waits then gets a plain file. Nobody writes before commit() ends.
  std::function<bool()> untouched{};
  // Set: clients go on writing to it. Where they have since before prepare(), in whole blocks, in order and
  // apart; these blocks stay as they are. The file is the one with `untouched`, and nobody writes in
  // carry_out().
  std::function<std::vector<Extent>()> written{};
  std::vector<Extent> hot{};  // the same, of before: left alone from the beginning
  // Makes a hole, or what was written durable, where the file itself cannot; empty: it can.
  Punch punch{};
  std::function<base::Result<void>()> sync{};
  // How it is cut unless its attribute says otherwise; nothing: as the sealer cuts.
  std::optional<hashing::Profile> profile{};
  std::optional<Pins::Use> use{};  // of the chunks, made by prepare()
  bool served = false;             // clients use it meanwhile: what a crash left to be done is theirs to do
  std::optional<base::Bytes> seen{};  // the record that it had
  std::vector<Extent> extents{};      // the file's own bytes that are in the recipe now, too
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
  // Its two halves: what can be done while others use the files, and what cannot.
  base::Result<void> announce(std::span<SealDraft> drafts);
  base::Result<void> carry_out(std::span<SealDraft> drafts);
  // Asked from time to time by prepare(), which ends with ECANCELED then.
  void stop_when(std::function<bool()> stop) { stop_ = std::move(stop); }
  void hash_by(HashJob hash) { hash_ = std::move(hash); }
  // Equal chunks may be in what files were before, too. It outlives the sealer; null: they are not.
  void look_in(FormerVersions* versions) { versions_ = versions; }
  [[nodiscard]] std::uint64_t bytes_read() const { return bytes_read_; }

 private:
  base::Result<void> prepare_sealed(SealDraft& draft, base::BytesView record);
  base::Result<void> draft_of(SealDraft& draft, RevisedRecipe recipe);
  base::Result<void> put_root(SealDraft& draft);
  base::Result<void> leave_alone(SealDraft& draft, const std::vector<Extent>& written, std::uint64_t size);
  base::Result<void> look_again(SealDraft& draft);
  base::Result<void> renew(SealDraft& draft, const FileStatus& now);
  base::Result<void> read_all(SealDraft& draft, RecipeBuilder& recipe);
  base::Result<void> read_extent(File& file, const Extent& extent, RecipeBuilder& recipe);
  void give_back_what_is_wanted(std::span<SealDraft> drafts);
  void choose_params(SealDraft& draft);
  // Where equal chunks may be, of the recipe that the file has (null: none) or had.
  void look_in_former(const SealDraft& draft, const std::shared_ptr<const SealedFile>& now);
  base::Result<std::uint64_t> keep(base::BytesView bytes, std::uint64_t offset, bool is_end,
                                   RecipeBuilder& recipe);

  Store& store_;
  const std::uint32_t tree_;
  const base::SystemClock clock_;
  hashing::CpuHasher hasher_;
  HashJob hash_;  // empty: hasher_ does it
  const hashing::Profile profile_;
  std::map<hashing::Profile, hashing::ChunkParams> known_params_;
  std::function<bool()> stop_;
  const hashing::ChunkParams* params_ = nullptr;
  FormerVersions* versions_ = nullptr;
  FormerChunks former_;
  base::Bytes buffer_;
  std::uint64_t bytes_read_ = 0;
};

// Does what a crash left of a seal, or of an unseal; nothing if nothing is left. `false`: since the crash,
// which was before the first hole, a local process has written to the file; it is a plain file again, with
// what was written. EBUSY: the same, and there were holes.
base::Result<bool> finish_steps(Store& store, File& file, const KernelHandle& handle,
                                const SealedFile& sealed);

}  // namespace braid::store
