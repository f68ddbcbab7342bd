// A store, and a tree of this machine that it has to do with.
#pragma once

#include <cstdint>
#include <expected>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "store/store.h"

namespace braid::tools {

struct StoreTree {
  std::unique_ptr<store::Store> store;
  std::uint32_t number = 0;  // of the tree in it
};

// Opens the store, and the tree for it. Errors are sentences.
std::expected<StoreTree, std::string> open_store_tree(const std::string& store, store::OpenFor what,
                                                      std::string_view command, const std::string& path);
// The file systems that the store knows, by number, where they were found last.
struct OpenTrees {
  struct One {
    base::UniqueFd fd;
    std::string path;
  };
  std::map<std::uint32_t, One> all;
  std::vector<std::string> missing;  // sentences
  bool lost = false;                 // which there are is not known any more
};
OpenTrees open_trees(store::Store& store);

// What others are told who want the store, too.
std::string user_of_store(std::string_view command);

}  // namespace braid::tools
