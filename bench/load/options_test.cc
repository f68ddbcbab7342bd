#include "bench/load/options.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace braid::load {
namespace {

Parsed parse(std::vector<std::string> words) {
  words.insert(words.begin(), "braid-load");
  std::vector<char*> argv;
  argv.reserve(words.size());
  for (std::string& word : words) argv.push_back(word.data());
  return parse_options(static_cast<int>(argv.size()), argv.data());
}

TEST(Options, a_mix_keeps_operations_and_weights_in_order) {
  const auto parsed = parse({"--op", "read:7,WRITE:3"});
  ASSERT_TRUE(parsed.options.has_value());
  ASSERT_EQ(parsed.options->mix.size(), 2U);
  EXPECT_EQ(parsed.options->mix[0].operation, Operation::read);
  EXPECT_EQ(parsed.options->mix[0].weight, 7U);
  EXPECT_EQ(parsed.options->mix[1].operation, Operation::write);
  EXPECT_EQ(parsed.options->mix[1].weight, 3U);
}

TEST(Options, mount_answers_on_the_nfs_port_unless_told_otherwise) {
  EXPECT_EQ(parse({"--op", "null", "--port", "12049"}).options->mount_port, 12049);
  EXPECT_EQ(parse({"--op", "null", "--port", "12049", "--mount-port", "9"}).options->mount_port, 9);
}

TEST(Options, sizes_may_have_units) {
  const auto parsed = parse({"--op", "read", "--size", "1m", "--file-size", "64m"});
  ASSERT_TRUE(parsed.options.has_value());
  EXPECT_EQ(parsed.options->size, base::MiB);
  EXPECT_EQ(parsed.options->file_bytes, 64 * base::MiB);
}

TEST(Options, the_version_of_nfs_is_3_unless_told_otherwise) {
  EXPECT_EQ(parse({"--op", "null"}).options->nfs, NfsVersion::v3);
  EXPECT_EQ(parse({"--op", "null", "--nfs", "3"}).options->nfs, NfsVersion::v3);
  for (const std::uint32_t minor : {0U, 1U, 2U}) {
    const auto parsed = parse({"--op", "null", "--nfs", "4." + std::to_string(minor)});
    ASSERT_TRUE(parsed.options.has_value());
    EXPECT_EQ(minor_of(parsed.options->nfs), minor);
    EXPECT_EQ(name_of(parsed.options->nfs), "4." + std::to_string(minor));
  }
}

TEST(Options, processes_of_a_cluster_are_named_one_by_one) {
  const auto parsed = parse(
      {"--op", "read", "--nfs", "4.1", "--layouts", "--pid", "12", "--pid", "13", "--alloc-count", "x"});
  ASSERT_TRUE(parsed.options.has_value());
  EXPECT_TRUE(parsed.options->layouts);
  EXPECT_EQ(parsed.options->pids, (std::vector{12, 13}));
}

TEST(Options, a_fresh_file_is_written_once_from_its_first_byte) {
  const auto parsed = parse({"--op", "write", "--fresh", "--size", "1m", "--file-size", "64m"});
  ASSERT_TRUE(parsed.options.has_value());
  EXPECT_EQ(parsed.options->count, 64U);
  EXPECT_EQ(parsed.options->warmup_seconds, 0);
  EXPECT_EQ(parse({"--op", "write", "--fresh", "--count", "3"}).options->count, 3U);
  EXPECT_EQ(parse({"--op", "write", "--fresh", "--from", "/proc/self/exe"}).options->from, "/proc/self/exe");
}

class Mistakes : public testing::TestWithParam<std::vector<std::string>> {};

TEST_P(Mistakes, are_refused_with_a_failing_exit_code) {
  const auto parsed = parse(GetParam());
  EXPECT_FALSE(parsed.options.has_value());
  EXPECT_NE(parsed.exit_code, 0);
}

INSTANTIATE_TEST_SUITE_P(
    Options, Mistakes,
    testing::Values(std::vector<std::string>{}, std::vector<std::string>{"--op", "rename"},
                    std::vector<std::string>{"--op", "read:0"}, std::vector<std::string>{"--op", "read:2x"},
                    std::vector<std::string>{"--op", "read", "--size", "0"},
                    std::vector<std::string>{"--op", "read", "--size", "2m"},
                    std::vector<std::string>{"--op", "read", "--size", "64k", "--file-size", "4k"},
                    std::vector<std::string>{"--op", "null", "--nfs", "4"},
                    std::vector<std::string>{"--op", "null", "--nfs", "4.3"},
                    std::vector<std::string>{"--op", "null", "--depth", "0"},
                    std::vector<std::string>{"--op", "read", "--layouts"},
                    std::vector<std::string>{"--op", "read", "--fresh"},
                    std::vector<std::string>{"--op", "write", "--from", "/proc/self/exe"},
                    std::vector<std::string>{"--op", "write", "--fresh", "--from", "/nowhere"},
                    std::vector<std::string>{"--op", "getattr", "--listed-size", "2m"},
                    std::vector<std::string>{"--op", "read", "--nfs", "4.0", "--layouts"},
                    std::vector<std::string>{"--op", "null", "--alloc-count", "x"},
                    std::vector<std::string>{"--op", "null", "--seconds", "1", "--count", "5"}));

}  // namespace
}  // namespace braid::load
