// A store, and a tree on a file system of the kind that the test is for.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "store/sealing/sealer.h"
#include "store/sealing/unseal.h"
#include "tests/unit/vfs/sandbox.h"

namespace braid::store::test {

class SealFixture : public testing::Test {
 protected:
  // In words why there can be no test.
  std::string begin(const std::string& kind) {
    if (::geteuid() != 0) return "needs root";
    const auto place = vfs::mounted(kind);
    if (!place) return place.error();
    std::string pattern = *place + "/seal-XXXXXX";
    tree_ = ::mkdtemp(pattern.data());
    std::string other = testing::TempDir() + "store-XXXXXX";
    store_path_ = ::mkdtemp(other.data());
    if (::setxattr(tree_.c_str(), "trusted.braid.test", "x", 1, 0) != 0)
      return "it has no trusted attributes";
    open_store(OpenFor::creating);
    return {};
  }
  ~SealFixture() override {
    store_.reset();
    if (!tree_.empty()) std::filesystem::remove_all(tree_);
    if (!store_path_.empty()) std::filesystem::remove_all(store_path_);
  }

  void open_store(OpenFor what = OpenFor::writing) {
    store_.reset();
    auto opened = Store::open(store_path_, {.what = what});
    ASSERT_TRUE(opened) << opened.error();
    store_ = std::move(*opened);
  }
  [[nodiscard]] std::string path(const std::string& name) const { return tree_ / name; }
  void write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path(name), std::ios::binary | std::ios::trunc) << bytes;
  }
  [[nodiscard]] static std::string slurp(const std::filesystem::path& file) {
    std::ifstream in(file, std::ios::binary | std::ios::ate);
    std::string out(in ? static_cast<std::size_t>(in.tellg()) : 0, '\0');
    in.seekg(0);
    in.read(out.data(), static_cast<std::streamsize>(out.size()));
    return out;
  }
  [[nodiscard]] base::UniqueFd opened(const std::string& name) const {
    return base::UniqueFd(::open(path(name).c_str(), O_RDWR | O_CLOEXEC));
  }
  [[nodiscard]] struct stat status(const std::string& name) const {
    struct stat out{};
    EXPECT_EQ(::stat(path(name).c_str(), &out), 0);
    return out;
  }
  // Of files that are all there: what became of the last of them.
  SealOutcome seal(const std::vector<std::string>& names,
                   hashing::Profile profile = hashing::Profile::general) {
    Sealer sealer(*store_, 1, profile);
    std::vector<base::UniqueFd> fds;
    std::vector<SealDraft> drafts;
    SealOutcome last = SealOutcome::sealed;
    for (const std::string& name : names) {
      fds.push_back(opened(name));
      SealDraft draft;
      draft.file = store_->medium().file_of(fds.back().get());
      draft.untouched = [] { return true; };
      if (const auto prepared = sealer.prepare(draft); !prepared)
        ADD_FAILURE() << base::message_of(prepared.error());
      last = draft.outcome;
      if (draft.outcome == SealOutcome::sealed) drafts.push_back(std::move(draft));
    }
    EXPECT_TRUE(sealer.commit(drafts));
    return last;
  }
  base::Result<bool> unsealed(const std::string& name) {
    const base::UniqueFd fd = opened(name);
    UnsealDraft draft;
    draft.file = store_->medium().file_of(fd.get());
    unseal(*store_, 1, std::span(&draft, 1));
    return draft.outcome;
  }
  // All bytes as a server reads them.
  base::Result<std::string> read(const std::string& name, std::uint64_t offset = 0,
                                 std::size_t count = std::string::npos) {
    const base::UniqueFd fd = opened(name);
    const auto stub = store_->medium().file_of(fd.get());
    const auto record = stub->attribute(record_name);
    if (!record) return base::fail(record.error());
    if (!*record) return slurp(path(name));
    const auto sealed = SealedFile::open(store_->chunks(), store_->keys(), *stub->handle(), **record);
    if (!sealed) return base::fail(sealed.error());
    const std::uint64_t size = stub->status()->size;
    base::Bytes out(std::min<std::uint64_t>(count, size - std::min(offset, size)));
    if (const auto got = (*sealed)->read(*stub, offset, out); !got) return base::fail(got.error());
    return std::string(base::text_of(out));
  }
  static std::string noise(std::size_t size, std::uint64_t seed) {
    std::string out(size, '\0');
    char* const bytes = out.data();
    for (std::size_t i = 0; i < size; ++i) {
      seed = seed * 6364136223846793005U + 1442695040888963407U;
      bytes[i] = static_cast<char>(seed >> 56U);
    }
    return out;
  }

  std::filesystem::path tree_, store_path_;
  std::unique_ptr<Store> store_;
};

}  // namespace braid::store::test
