// braid hash and braid dedup estimate, as a user calls them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "base/exit_code.h"
#include "server/cli/command_line.h"

namespace braid::tools {
namespace {

using testing::HasSubstr;

class HashingCommands : public testing::Test {
 protected:
  HashingCommands() {
    std::string pattern = std::filesystem::temp_directory_path() / "braid-hash-XXXXXX";
    directory_ = ::mkdtemp(pattern.data());
    std::filesystem::create_directory(directory_ / "tree");
  }
  ~HashingCommands() override { std::filesystem::remove_all(directory_); }

  std::string write(const std::string& name, const std::string& content) {
    const auto path = directory_ / name;
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }
  [[nodiscard]] std::string path(const std::string& name) const { return directory_ / name; }

  // Parses and runs the command line; returns what it prints to the standard output.
  std::string run(std::vector<std::string> arguments, int code = 0) {
    std::vector<const char*> argv{"braid"};
    for (const std::string& a : arguments) argv.push_back(a.c_str());
    const auto command = server::cli::parse_command_line(static_cast<int>(argv.size()), argv.data());
    if (!command) return command.error().text;
    testing::internal::CaptureStdout();
    const int got = (*command)->run();
    std::fflush(stdout);
    EXPECT_EQ(got, code);
    return testing::internal::GetCapturedStdout();
  }

 private:
  std::filesystem::path directory_;
};

// The bytes 0, 1, ... 250 again and again, as in BLAKE3's test vectors.
std::string vector_input(std::size_t length) {
  std::string out(length, '\0');
  for (std::size_t i = 0; i < length; ++i) out[i] = static_cast<char>(i % 251);
  return out;
}

TEST_F(HashingCommands, whole_prints_the_published_digests) {
  const std::string file = write("v", vector_input(1025));
  EXPECT_EQ(run({"hash", "--whole", file}),
            "d00278ae47eb27b34faecf67b4fe263f82d5412916c1ffd97c8cb7fb814b8444  " + file + "\n");
  const std::string key = write("k", "whats the Elvish word for friend");
  EXPECT_EQ(run({"hash", "--whole", "--key-file", key, file}),
            "357dc55de0c7e382c900fd6e320acc04146be01db6a8ce7210b7189bd664ea69  " + file + "\n");
}

TEST_F(HashingCommands, chunks_of_a_file_cover_it_without_gaps) {
  std::string content;
  for (int i = 0; content.size() < 1'000'000; ++i) content += std::to_string(i * 7919) + ' ';
  std::istringstream lines(run({"hash", write("f", content)}));
  std::uint64_t offset = 0, length = 0, end = 0, count = 0;
  for (std::string id; lines >> offset >> length >> id; ++count) {
    EXPECT_EQ(offset, end);
    EXPECT_EQ(id.size(), 64u);
    end = offset + length;
  }
  EXPECT_EQ(end, content.size());
  EXPECT_GT(count, 3u);
}

TEST_F(HashingCommands, the_estimate_has_the_ids_of_braid_hash_and_counts_equal_files_once) {
  std::string content;
  for (int i = 0; content.size() < 600'000; ++i) content += std::to_string(i * 7919) + ' ';
  write("tree/a", content);
  write("tree/b", content);
  write("tree/empty", "");
  const std::string table = run({"dedup", "estimate", path("tree"), "--ids", path("ids")});
  EXPECT_THAT(table, HasSubstr("3 files, " + std::to_string(2 * content.size()) + " bytes"));
  EXPECT_THAT(table, HasSubstr("2.000"));
  std::set<std::string> estimated, printed;
  std::ifstream ids(path("ids"));
  for (std::string profile, length, id; std::getline(ids, profile, '\t') && ids >> length >> id; ids.ignore())
    if (profile == "general") estimated.insert(id);
  std::istringstream lines(run({"hash", "--profile", "general", path("tree/a")}));
  for (std::string offset, length, id; lines >> offset >> length >> id;) printed.insert(id);
  EXPECT_EQ(estimated, printed);
  EXPECT_FALSE(printed.empty());
}

TEST_F(HashingCommands, say_what_is_wrong) {
  EXPECT_THAT(run({"hash", "--profile", "huge", "f"}), HasSubstr("huge"));
  EXPECT_THAT(run({"dedup"}), HasSubstr("braid dedup"));
  EXPECT_EQ(run({"hash", path("none")}, base::exit_failed), "");
  EXPECT_EQ(run({"hash", "--key-file", write("short", "31 bytes"), path("none")}, base::exit_usage), "");
}

// Without a card that is not this machine's own affair: see also the tests of the program in CMakeLists.txt.
TEST_F(HashingCommands, where_prints_a_line_per_job_and_what_each_place_did) {
  const std::string file = write("f", vector_input(9'000'000));
  const std::string text =
      run({"hash", "--where", "--algorithm", "sha256-tree", file, path("none")}, base::exit_failed);
  EXPECT_THAT(text, HasSubstr(file + ":\n"));
  EXPECT_THAT(text, HasSubstr("             0   4194304 "));
  EXPECT_THAT(text, HasSubstr("cores: 3 jobs, "));
  EXPECT_THAT(run({"hash", "--where", "--whole", file}), HasSubstr("--whole excludes --where"));
}

TEST_F(HashingCommands, hash_wants_files_or_the_cards) {
  run({"hash"}, base::exit_usage);
  EXPECT_THAT(run({"hash", "--card-info", write("f", "x")}), HasSubstr("FILE excludes --card-info"));
}

}  // namespace
}  // namespace braid::tools
