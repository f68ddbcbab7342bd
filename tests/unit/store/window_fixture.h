// An export with a store that seals streams while they are written.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/unit/store/source_fixture.h"

namespace braid::store::test {

constexpr std::uint64_t stream_piece_bytes = 256 * base::KiB;

class WindowSourceTest : public SourceTest {
 protected:
  WindowSourceTest() {
    before_opened_ = [this] {
      WindowOptions options{.bytes_max = 64 * base::MiB, .patience = std::chrono::hours(1)};
      options.first_run_bytes = first_run_bytes_;
      options.tree_of = [this](const vfs::FileHandle&) { return tree_; };
      options.hash = [this](const hashing::Job& job, hashing::CpuHasher& hasher) {
        if (while_hashed_) std::thread(std::exchange(while_hashed_, {})).join();
        return hasher.run(job);
      };
      source_->use_windows(std::move(options));
    };
  }
  std::uint64_t first_run_bytes_ = WindowOptions().first_run_bytes;
  void TearDown() override {
    if (source_ != nullptr && source_->windows() != nullptr) {
      close_windows();
      source_->windows()->forget_all();
    }
    SourceTest::TearDown();
  }
  // By one stream, whose pieces arrive in any order.
  void stream(const std::string& name, const std::string& text, std::uint64_t at = 0, bool in_order = true) {
    const auto put = [&](std::uint64_t offset) {
      const auto written = write(find(name), text.substr(offset, stream_piece_bytes), at + offset);
      ASSERT_TRUE(written);
      ASSERT_EQ(written->count, std::min<std::size_t>(stream_piece_bytes, text.size() - offset));
    };
    std::vector<std::uint64_t> offsets;
    for (std::uint64_t offset = 0; offset < text.size(); offset += stream_piece_bytes)
      offsets.push_back(offset);
    if (!in_order)
      for (std::size_t i = 0; i + 1 < offsets.size(); i += 2) std::swap(offsets[i], offsets[i + 1]);
    for (const std::uint64_t offset : offsets) put(offset);
  }
  // Made once for all tests.
  static const std::string& noise() {
    static const std::string made = [] {
      std::string out(6 * base::MiB, '\0');
      std::mt19937_64 random(11);
      for (std::size_t at = 0; at < out.size(); at += sizeof(std::uint64_t)) {
        const std::uint64_t some = random();
        std::memcpy(&out[at], &some, sizeof some);
      }
      return out;
    }();
    return made;
  }
  void make(const std::string& name) { ASSERT_TRUE(create(name)); }
  void close_windows() {
    auto closed = source_->close_windows(base::TimePoint::max());
    closed.start({});
    ASSERT_TRUE(closed.done());
  }
  [[nodiscard]] WindowCounts counts() const { return source_->windows()->counts(); }
  [[nodiscard]] std::uint64_t blocks_of(const std::string& name) const {
    struct stat now{};
    EXPECT_EQ(::stat(local(name).c_str(), &now), 0);
    return static_cast<std::uint64_t>(now.st_blocks);
  }
  static void expect_same(const vfs::Attributes& now, const vfs::Attributes& before) {
    EXPECT_EQ(now.change, before.change);
    EXPECT_TRUE(now.mtime == before.mtime);
    EXPECT_TRUE(now.ctime == before.ctime);
    EXPECT_EQ(now.size, before.size);
  }
  bool has_record(const std::string& name) const {
    const base::UniqueFd fd(::open(local(name).c_str(), O_RDONLY | O_CLOEXEC));
    const auto found = store_->medium().file_of(fd.get())->attribute(record_name);
    return found && found->has_value();
  }
  // As after a clean end of the server.
  void start_anew() {
    close_windows();
    root_ = {};
    fs_.reset();
    fs_ = opened();
    root_ = fs_->root();
  }
  // As kill(2) by SIGKILL ends it.
  void kill_and_start_anew() {
    root_ = {};
    fs_.reset();
    source_->windows()->forget_all();
    fs_ = opened();
    root_ = fs_->root();
  }

  std::optional<std::uint32_t> tree_ = 1;
  std::function<void()> while_hashed_;  // another thread, once
  const std::string& noise_ = noise();
};

}  // namespace braid::store::test
