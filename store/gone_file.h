// The file `gone` of a store: which files of the registry marks do not find any more, and since when.
// docs/format-store.md is the reference.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "store/chunks/container_format.h"
#include "store/registry.h"

namespace braid::store {

// What tells a file of the registry from the others: 128 bits of its tree and handle.
struct FileKey {
  std::uint64_t a = 0, b = 0;
  static FileKey of(const RegistryEntry& entry);
  friend auto operator<=>(const FileKey&, const FileKey&) = default;
};

}  // namespace braid::store

template <>
struct std::hash<braid::store::FileKey> {
  std::size_t operator()(const braid::store::FileKey& key) const noexcept { return key.a; }
};

namespace braid::store {

struct GoneFile {
  static constexpr const char* name = "gone";
  static constexpr std::size_t bytes = 24;
  // More are not kept: later marks note them.
  static constexpr std::size_t files_max = 1U << 20U;
  static constexpr std::size_t file_bytes_max = 64 + files_max * bytes;

  FileKey key;
  std::uint64_t since = 0;  // seconds since 1970: no mark has found it since this one
  friend auto operator<=>(const GoneFile&, const GoneFile&) = default;
};

// `files` are in the order of their keys.
base::Bytes encode_gone(const StoreId& store, std::span<const GoneFile> files);
// Nothing: it is damaged, of another store, or of a later version.
std::optional<std::vector<GoneFile>> decode_gone(const StoreId& store, base::BytesView bytes);

}  // namespace braid::store
