// A store's parts in a directory of the test's own.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include "base/bytes.h"
#include "store/chunks/chunk_store.h"
#include "store/medium/posix_medium.h"

namespace braid::store::test {

class ScratchTest : public testing::Test {
 protected:
  ScratchTest() {
    std::string pattern = testing::TempDir() + "store_XXXXXX";
    path_ = ::mkdtemp(pattern.data());
    medium_ = std::move(*open_posix_medium(path_));
    std::filesystem::create_directory(path_ / Containers::directory);
  }
  ~ScratchTest() override { std::filesystem::remove_all(path_); }

  std::unique_ptr<Containers> opened(OpenFor what = OpenFor::writing) const {
    return std::move(*Containers::open(*medium_, id_, what));
  }
  static std::string first() { return Containers::name_of(1); }  // the first container
  [[nodiscard]] std::string content(const std::string& name) const {
    std::ifstream in(path_ / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void put(const std::string& name, const std::string& bytes) const {
    std::ofstream(path_ / name, std::ios::binary | std::ios::trunc) << bytes;
  }
  // Bytes that no two calls with other numbers share.
  static base::Bytes noise(std::size_t size, std::uint64_t seed) {
    base::Bytes out(size);
    for (std::byte& byte : out) {
      seed = seed * 6364136223846793005U + 1442695040888963407U;
      byte = static_cast<std::byte>(seed >> 56U);
    }
    return out;
  }

  std::filesystem::path path_;
  std::unique_ptr<Medium> medium_;
  const StoreId id_{std::byte{1}, std::byte{2}};
  const StoreKeys keys_{hashing::Key()};
};

}  // namespace braid::store::test
