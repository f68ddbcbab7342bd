// The handle -> descriptor cache: its bound, its idle limit, what it gives up.
#include <dirent.h>
#include <sys/stat.h>

#include <thread>

#include "posix_fixture.h"

namespace braid::vfs {
namespace {

using namespace std::chrono_literals;

class CacheTest : public PosixTest {
 protected:
  static std::size_t open_descriptors() {
    std::size_t count = 0;
    DIR* const directory = ::opendir("/proc/self/fd");
    while (::readdir(directory) != nullptr) ++count;
    ::closedir(directory);
    return count;
  }
  [[nodiscard]] posix::FileCacheStats stats() const { return fs_->stats().cache; }
};
BRAID_ON_EVERY_FILE_SYSTEM(CacheTest);

TEST_P(CacheTest, the_bound_on_descriptors_is_kept) {
  options_.tree.sync = false;
  options_.tree.cache.descriptors_max = 64;
  restart();
  const std::size_t before = open_descriptors();
  std::vector<FileHandle> handles;
  for (int i = 0; i < 640; ++i) {
    const FileRef file = create("file" + std::to_string(i))->file;
    ASSERT_TRUE(write(file, std::to_string(i)));
    handles.push_back(file->handle());
    ASSERT_LE(stats().descriptors, 65U);
  }
  EXPECT_LE(open_descriptors(), before + 65);
  for (int i = 0; i < 640; ++i) {
    const FileRef file = run(fs_->resolve(handles[static_cast<std::size_t>(i)].view())).value();
    EXPECT_EQ(read(file), std::to_string(i));
    ASSERT_LE(stats().descriptors, 65U);
  }
  EXPECT_LE(open_descriptors(), before + 65);
  EXPECT_GT(stats().evicted, 1000U);
}

TEST_P(CacheTest, exports_of_one_pool_have_its_descriptors_together_and_give_way_to_each_other) {
  options_.tree.sync = false;
  options_.tree.cache.pool = std::make_shared<posix::DescriptorPool>(64);
  restart();
  const auto other = opened();
  const auto in_the_pool = [&] { return stats().descriptors + other->stats().cache.descriptors; };
  std::vector<FileHandle> handles;
  for (int i = 0; i < 100; ++i) handles.push_back(create("file" + std::to_string(i))->file->handle());
  EXPECT_GT(stats().descriptors, 56U) << "the other one needs none of them";
  for (const FileHandle& handle : handles) ASSERT_TRUE(run(other->resolve(handle.view())));
  EXPECT_LE(in_the_pool(), 65U);
  EXPECT_EQ(other->stats().cache.too_many_open_files, 0U);
  EXPECT_GT(other->stats().cache.descriptors, 24U);
}

TEST_P(CacheTest, what_is_in_use_is_never_evicted) {
  options_.tree.sync = false;
  options_.tree.cache.descriptors_max = 8;
  restart();
  std::vector<FileRef> held;
  for (int i = 0; i < 20; ++i) held.push_back(create("file" + std::to_string(i))->file);
  EXPECT_GT(stats().too_many_open_files, 0U);
  for (int i = 0; i < 20; ++i)
    EXPECT_EQ(find("file" + std::to_string(i)).get(), held[static_cast<std::size_t>(i)].get());
  held.clear();
  ASSERT_TRUE(create("last"));
  EXPECT_LE(stats().descriptors, 9U);
}

TEST_P(CacheTest, idle_descriptors_are_closed) {
  local_write("file", "x");
  const FileHandle handle = find("file")->handle();
  auto& cache = const_cast<PosixFileSystem&>(*fs_);
  cache.sweep();
  EXPECT_EQ(stats().descriptors, 2U);
  options_.tree.cache.idle_max = 0ns;
  restart();
  ASSERT_TRUE(run(fs_->resolve(handle.view())));
  fs_->sweep();
  EXPECT_EQ(stats().descriptors, 1U) << "the root stays";
  EXPECT_EQ(stats().expired, 1U);
}

TEST_P(CacheTest, a_file_that_was_written_can_be_executed_soon) {
  options_.tree.cache.write_idle_max = 0ns;
  restart();
  const FileHandle handle = create("program", 0755)->file->handle();
  ASSERT_TRUE(write(run(fs_->resolve(handle.view())).value(), "#!/bin/sh\nexit 0\n"));
  fs_->sweep();
  EXPECT_EQ(stats().expired, 1U);
  EXPECT_EQ(read(run(fs_->resolve(handle.view())).value(), 0, 2), "#!");
}

TEST_P(CacheTest, a_second_request_costs_no_open) {
  local_write("file", "x");
  const FileHandle handle = find("file")->handle();
  const std::uint64_t misses = stats().misses;
  for (int i = 0; i < 10; ++i) {
    const FileRef file = run(fs_->resolve(handle.view())).value();
    EXPECT_EQ(read(file), "x");
    EXPECT_TRUE(write(file, "y"));
    EXPECT_EQ(read(find("file")), "y");
    local_write("file", "x");
  }
  EXPECT_EQ(stats().misses, misses);
}

TEST_P(CacheTest, readers_and_a_writer_share_a_file_that_is_being_upgraded) {
  options_.tree.sync = false;
  options_.tree.cache.descriptors_max = 4;
  restart();
  for (int round = 0; round < 50; ++round) {
    local_write("file", "0123456789");
    const FileRef file = find("file");
    std::atomic<int> wrong{0};
    {
      std::vector<std::jthread> threads;
      for (int t = 0; t < 3; ++t)
        threads.emplace_back([&, t] {
          Wcc wcc;
          io::SlabCursor cursor(slabs_);
          const Credentials who;
          const io::Payload data;
          for (int i = 0; i < 20; ++i) {
            if (t == 0 && !write_to(file, 0, data, Stability::unstable, &wcc, who)) ++wrong;
            if (t != 0 && read_from(file, 0, 10, cursor, who)->data.size() != 10) ++wrong;
          }
        });
    }
    ASSERT_EQ(wrong, 0);
    ASSERT_TRUE(remove("file"));
  }
}

TEST_P(CacheTest, threads_resolve_create_and_remove_at_the_same_time) {
  options_.tree.sync = false;
  options_.tree.cache.descriptors_max = 32;
  restart();
  std::atomic<int> wrong{0};
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&, t] {
        const Credentials who;
        const CreateHow how{CreateHow::Mode::guarded, with_mode(0600), {}};
        for (int i = 0; i < 300; ++i) {
          Wcc wcc;
          const std::string name = "f" + std::to_string(t) + "-" + std::to_string(i);
          const auto made = run(fs_->create(who, root_, name, how, wcc));
          if (!made || run(fs_->resolve(made->file->handle().view()))->get() != made->file.get()) ++wrong;
          if (!run(fs_->lookup(who, root_, name)) || !run(fs_->remove(who, root_, name, wcc))) ++wrong;
          if (made && run(fs_->getattr(made->file))) ++wrong;
          fs_->sweep();
        }
      });
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_LE(stats().descriptors, 33U);
}

}  // namespace
}  // namespace braid::vfs
