#include "bench/load/process_meter.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <string>

#include "base/unique_fd.h"

namespace braid::load {
namespace {

TEST(ProcessMeter, cpu_time_of_a_process_grows_while_it_computes) {
  auto meter = ProcessMeter::open(getpid(), {});
  ASSERT_TRUE(meter.has_value());
  const auto before = meter->read();
  ASSERT_TRUE(before.has_value());
  volatile unsigned sink = 0;
  for (unsigned i = 0; i < 10'000'000; ++i) sink = sink + i;
  const auto after = meter->read();
  ASSERT_TRUE(after.has_value());
  EXPECT_GT(after->cpu, before->cpu);
  EXPECT_GT(after->rss_bytes, 0U);
  EXPECT_GE(after->rss_bytes_max, after->rss_bytes);
  EXPECT_FALSE(after->allocations.has_value());
}

TEST(ProcessMeter, a_process_that_ended_cannot_be_opened) {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_FALSE(ProcessMeter::open(child, {}).has_value());
}

TEST(ProcessMeter, allocations_are_the_sum_over_all_threads_of_the_counted_process) {
  std::string path = testing::TempDir() + "counters.XXXXXX";
  const base::UniqueFd fd(mkstemp(path.data()));
  ASSERT_TRUE(fd);
  std::array<std::uint64_t, sizeof(alloc_count::Counters) / sizeof(std::uint64_t)> words{};
  words[0] = 5;                                                                            // the first shard
  words[words.size() - sizeof(alloc_count::Counters::Shard) / sizeof(std::uint64_t)] = 7;  // the last
  ASSERT_EQ(write(fd.get(), words.data(), sizeof words), static_cast<ssize_t>(sizeof words));
  auto meter = ProcessMeter::open(getpid(), path);
  ASSERT_TRUE(meter.has_value());
  const auto reading = meter->read();
  ASSERT_TRUE(reading.has_value());
  EXPECT_EQ(reading->allocations, 12U);
  unlink(path.c_str());
}

TEST(ProcessMeter, a_counter_file_of_another_size_is_refused) {
  EXPECT_FALSE(ProcessMeter::open(getpid(), "/dev/null").has_value());
}

}  // namespace
}  // namespace braid::load
