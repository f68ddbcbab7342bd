// The file systems whose files a store has the bytes of, for who looks at all of these files.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "store/medium/medium.h"
#include "store/store.h"

namespace braid::store {

// Those that the store knows, by number, where they were found last.
struct OpenTrees {
  struct One {
    base::UniqueFd fd;
    std::string path;
  };
  std::map<std::uint32_t, One> all;
  std::vector<std::string> missing;  // sentences
  bool lost = false;                 // which there are is not known any more
};
OpenTrees open_trees(Store& store);

class SealedTrees {
 public:
  virtual ~SealedTrees() = default;
  SealedTrees(const SealedTrees&) = delete;
  SealedTrees& operator=(const SealedTrees&) = delete;

  // The record that a file has now. Nothing: it has none, or the file is gone. ENXIO: its file system is not
  // there; others: nobody knows.
  virtual base::Result<std::optional<base::Bytes>> record_of(std::uint32_t tree,
                                                             const KernelHandle& file) = 0;
  // What is done to their files before this is on their media on return, and what was said of them is to be
  // believed. Else a sentence why not.
  virtual std::string sync() = 0;
  // For people.
  virtual std::string name_of(std::uint32_t tree, const KernelHandle& file) = 0;

 protected:
  SealedTrees() = default;
};

// On this machine.
class PosixTrees final : public SealedTrees {
 public:
  explicit PosixTrees(OpenTrees trees) : trees_(std::move(trees)) {}
  base::Result<std::optional<base::Bytes>> record_of(std::uint32_t tree, const KernelHandle& file) override;
  std::string sync() override;
  std::string name_of(std::uint32_t tree, const KernelHandle& file) override;

 private:
  const OpenTrees trees_;
};

}  // namespace braid::store
