// Gives files their bytes back.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "store/recipes/record.h"
#include "store/recipes/sealed_file.h"
#include "store/store.h"

namespace braid::store {

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
