// A store, and a tree of this machine that it has to do with.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <string>

#include "store/store.h"

namespace braid::tools {

struct StoreTree {
  std::unique_ptr<store::Store> store;
  std::uint32_t number = 0;  // of the tree in it
};

// Opens the store, and the tree for it. Errors are sentences.
std::expected<StoreTree, std::string> open_store_tree(const std::string& store, store::OpenFor what,
                                                      std::string_view command, const std::string& path,
                                                      const store::CompressionOptions& compression = {});
// What others are told who want the store, too.
std::string user_of_store(std::string_view command);

}  // namespace braid::tools
