// Takes in sealed files that were copied to another file system, with their holes and extended attributes:
// their records name inodes of the file system where they were.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_set>

#include "base/result.h"
#include "store/medium/medium.h"
#include "store/recipes/recipe.h"
#include "store/recipes/record.h"
#include "store/store.h"

namespace braid::store {

enum class AdoptOutcome : std::uint8_t {
  adopted,
  already,  // the store knows the file
  plain,    // it has no record
};

struct AdoptDraft {
  std::unique_ptr<File> file{};
  KernelHandle handle{};
  Record record{};
  AdoptOutcome outcome = AdoptOutcome::plain;
};

// Belongs to one thread. Nobody collects garbage, or writes to the files, meanwhile.
class Adopter {
 public:
  // `tree`: of all files, by Store::tree_of(). A file may have been copied by a program that writes zeros for
  // holes, which then look like what was written after the seal; `believes_zeros`: this one was not.
  Adopter(Store& store, std::uint32_t tree, bool believes_zeros)
      : store_(store), tree_(tree), believes_zeros_(believes_zeros) {}

  // Which files of the tree the store knows; before the first file.
  base::Result<void> begin();
  // draft.file is the caller's. Errors: EBADMSG, the record is damaged or of another store; ENOTSUP, of a
  // later version; EBUSY, the file was being sealed when it was copied; EIO, not all of its chunks are there;
  // EINVAL, it has zeros of its own where the recipe has bytes.
  base::Result<void> prepare(AdoptDraft& draft);
  // Those whose outcome is `adopted` are sealed files of the store on return, and that is on the medium. They
  // are of one file system.
  base::Result<void> commit(std::span<AdoptDraft> drafts);

 private:
  // What tells a file from the others.
  static std::uint64_t key_of(const KernelHandle& file);
  base::Result<Root> root_of(Record& record);
  // That all are there; how many bytes of the file are in them.
  base::Result<std::uint64_t> check_chunks(const Node& top);
  [[nodiscard]] bool has(const ChunkRef& chunk);
  base::Result<void> check_zeros(const AdoptDraft& draft, const Root& root);

  Store& store_;
  const std::uint32_t tree_;
  const bool believes_zeros_;
  std::unordered_set<std::uint64_t> known_;
};

}  // namespace braid::store
