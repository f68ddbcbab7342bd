// xdrc as the build calls it.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace {

namespace fs = std::filesystem;

struct Ended {
  int status = -1;
  std::string output;  // standard output and error
};

Ended run(const std::string& arguments) {
  Ended ended;
  std::FILE* pipe = ::popen((std::string(XDRC) + " " + arguments + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return ended;
  std::array<char, 4096> part;
  for (std::size_t n; (n = std::fread(part.data(), 1, part.size(), pipe)) > 0;)
    ended.output.append(part.data(), n);
  ended.status = WEXITSTATUS(::pclose(pipe));
  return ended;
}

std::string text_of(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

class XdrcProgram : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "braid-xdrc-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    root_ = name;
    fs::create_directory(root_ / "one");
    fs::create_directory(root_ / "two");
  }
  void TearDown() override { fs::remove_all(root_); }
  void write(const char* path, const char* text) const { std::ofstream(root_ / path) << text; }
  [[nodiscard]] std::string path(const char* name) const { return (root_ / name).string(); }

  fs::path root_;
};

TEST_F(XdrcProgram, help_names_every_option) {
  const Ended help = run("--help");
  EXPECT_EQ(help.status, 0);
  for (const char* option : {"--input", "--include-as", "--output", "--depfile", "--help"})
    EXPECT_NE(help.output.find(option), std::string::npos) << option;
}

TEST_F(XdrcProgram, writes_header_source_and_the_files_that_it_read) {
  write("one/a.x", "const ONE = 1;");
  write("two/b.x", "import \"one/a.x\";\nconst TWO = ONE;");
  const Ended ended = run("--input " + path("two/b.x") + " --include-as two/b.x --output " + path("out") +
                          " --depfile " + path("out.d"));
  EXPECT_EQ(ended.status, 0) << ended.output;
  EXPECT_NE(text_of(root_ / "out.h").find("TWO = 1;"), std::string::npos);
  EXPECT_NE(text_of(root_ / "out.cc").find("#include \"two/b.x.h\""), std::string::npos);
  EXPECT_EQ(text_of(root_ / "out.d"),
            path("out.h") + " " + path("out.cc") + ": " + path("two/b.x") + " " + path("one/a.x") + "\n");
}

TEST_F(XdrcProgram, errors_are_file_line_column_and_nothing_is_written) {
  write("two/b.x", "const A = 1;\nstruct s {\n  int a<>;\n};\n");
  const Ended ended = run("--input " + path("two/b.x") + " --include-as two/b.x --output " + path("out"));
  EXPECT_EQ(ended.status, 1);
  EXPECT_EQ(ended.output, path("two/b.x") + ":3:7: 'a' has no limit: write <N> or [[max(N)]]\n");
  EXPECT_FALSE(fs::exists(root_ / "out.h"));
}

TEST_F(XdrcProgram, files_that_cannot_be_read_or_written_are_named) {
  const Ended missing = run("--input " + path("none.x") + " --include-as two/none.x --output " + path("out"));
  EXPECT_EQ(missing.status, 1);
  EXPECT_EQ(missing.output, "xdrc: cannot read '" + path("none.x") + "'\n");
  const Ended folder = run("--input " + path("two") + " --include-as two/b.x --output " + path("out"));
  EXPECT_EQ(folder.status, 1);
  EXPECT_EQ(folder.output, "xdrc: cannot read '" + path("two") + "'\n");
  write("two/b.x", "const A = 1;");
  const Ended unwritable =
      run("--input " + path("two/b.x") + " --include-as two/b.x --output " + path("none/out"));
  EXPECT_EQ(unwritable.status, 1);
  EXPECT_EQ(unwritable.output, "xdrc: cannot write '" + path("none/out.h") + "'\n");
}

TEST_F(XdrcProgram, options_that_are_missing_or_unknown_end_with_status_2) {
  EXPECT_EQ(run("").status, 2);
  EXPECT_EQ(run("--input a.x --output b").status, 2);
  EXPECT_EQ(run("--input a.x --output b --include-as no_folder.x").status, 2);
  const Ended unknown = run("--inptu a.x");
  EXPECT_EQ(unknown.status, 2);
  EXPECT_EQ(unknown.output, "xdrc: unknown option '--inptu'; see xdrc --help\n");
  const Ended no_value = run("--input");
  EXPECT_EQ(no_value.status, 2);
  EXPECT_EQ(no_value.output, "xdrc: no value for '--input'; see xdrc --help\n");
}

}  // namespace
