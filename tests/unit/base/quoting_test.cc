#include "base/quoting.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <string>
#include <string_view>

namespace braid::base {
namespace {

// What a shell makes of the word.
std::string read_by_shell(const std::string& word) {
  const std::string command = "bash <<'END_OF_WORD'\nprintf %s " + word + "\nEND_OF_WORD\n";
  std::FILE* const out = ::popen(command.c_str(), "r");
  if (out == nullptr) return "no shell";
  std::array<char, 256> buffer{};
  const std::size_t got = std::fread(buffer.data(), 1, buffer.size(), out);
  ::pclose(out);
  return {buffer.data(), got};
}

TEST(Printable, what_is_printable_stays) {
  for (const std::string_view text : {"", "a file.txt", "Grüße 日本語 🙂", "back\\slash 'quotes' \"too\""})
    EXPECT_EQ(printable(text), text);
}

TEST(Printable, control_characters_are_shown_as_bytes) {
  EXPECT_EQ(printable("a\nb\tc\x1b[2J\x7f"), "a\\x0ab\\x09c\\x1b[2J\\x7f");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            "\\xc2\\x9b31m")
      << "CSI of C1 is an escape sequence, too";
  EXPECT_EQ(printable(std::string_view("\0", 1)), "\\x00");
}

TEST(Printable, bytes_that_are_no_utf8_are_shown_as_bytes) {
  EXPECT_EQ(printable("\xff"), "\\xff");
  EXPECT_EQ(printable("\xc3"), "\\xc3");
  EXPECT_EQ(printable("\xe2\x82"), "\\xe2\\x82");
  EXPECT_EQ(printable("\xc0\xaf"), "\\xc0\\xaf") << "overlong";
  EXPECT_EQ(printable("\xe0\x80\xaf"), "\\xe0\\x80\\xaf") << "overlong";
  EXPECT_EQ(printable("\xf0\x80\x80\xaf"), "\\xf0\\x80\\x80\\xaf") << "overlong";
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "half of a pair of UTF-16";
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80") << "beyond Unicode";
}

TEST(ShellWord, a_plain_word_stays_as_it_is) {
  for (const std::string_view word : {"192.0.2.1:/data", "[2001:db8::1]:/a-b_c.d", "vers=4.2,proto=tcp"})
    EXPECT_EQ(shell_word(word), word);
}

TEST(ShellWord, a_shell_reads_the_same_word) {
  EXPECT_EQ(shell_word("host:/my data"), "'host:/my data'");
  EXPECT_EQ(shell_word(""), "''");
  for (const std::string word : {"host:/my data", "/a'b", "/$(reboot)", "/a\nb", "/a\x1b[2J'c\\d", "/\xff",
                                 "/Grüße", "~", "*", "/a;b", "''", "/a\n'$HOME'"})
    EXPECT_EQ(read_by_shell(shell_word(word)), word);
}

TEST(ShellWord, nothing_reaches_the_terminal_raw) {
  const std::string word = shell_word("/a\x1b[2J\n\xc2\x9b");
  EXPECT_EQ(word, "$'/a\\033[2J\\012\\302\\233'");
}

}  // namespace
}  // namespace braid::base
