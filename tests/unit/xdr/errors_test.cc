// Every complaint of the compiler, with the place it points to.
#include <gtest/gtest.h>

#include <array>
#include <ostream>
#include <string>

#include "xdr/compiler/schema.h"

namespace braid::xdrc {
namespace {

struct Wrong {
  const char* source;
  const char* complaint;  // line:column: what
};

void PrintTo(const Wrong& wrong, std::ostream* out) { *out << wrong.source; }

base::Result<std::string, std::string> read_import(const std::string& include_as) {
  if (include_as == "a/loop.x") return "import \"a/test.x\";";
  if (include_as == "a/bad.x") return "const ONE = 1;\nconst ONE = 2;";
  if (include_as == "a/good.x") return "const ONE = 1; enum kind { KIND = 1 };";
  return base::fail("cannot read '" + include_as + "'");
}

std::string complaint_about(std::string_view source) {
  auto schema = load("test.x", "a/test.x", source, read_import);
  if (schema) return "nothing";
  const Diagnostic& wrong = schema.error();
  return (wrong.file == "test.x" ? "" : wrong.file + ":") + std::to_string(wrong.at.line) + ":" +
         std::to_string(wrong.at.column) + ": " + wrong.what;
}

class ErrorsTest : public testing::TestWithParam<Wrong> {};

TEST_P(ErrorsTest, is_reported_with_line_and_column) {
  EXPECT_EQ(complaint_about(GetParam().source), GetParam().complaint);
}

constexpr auto words_errors = std::to_array<Wrong>(
    {{"const A = 1;\n  /* open", "2:3: this comment never ends"},
     {"const A = 1;\nconst B @ 2;", "2:9: unexpected character '@'"},
     {"const \x01 = 2;", "1:7: unexpected byte 1"},
     {"const _A = 2;", "1:7: unexpected character '_'"},
     {" % this is not a whole line", "1:2: unexpected character '%'"},
     {"import \"a/b.x;\n", "1:8: this text has no closing quote on its line"},
     {"const A = 12x;", "1:11: '12x' is not a number of 64 bits"},
     {"const A = 0x;", "1:11: '0x' is not a number of 64 bits"},
     {"const A = 08;", "1:11: '08' is not a number of 64 bits"},
     {"const A = 18446744073709551616;", "1:11: '18446744073709551616' is not a number of 64 bits"},
     {"const A = -9223372036854775809;", "1:11: '-9223372036854775809' is not a number of 64 bits"}});
INSTANTIATE_TEST_SUITE_P(words, ErrorsTest, testing::ValuesIn(words_errors));

constexpr auto grammar_errors = std::to_array<Wrong>(
    {{"int a;", "1:1: expected const, enum, struct, union, typedef, program or import, but found 'int'"},
     {"const A 1;", "1:9: expected '=' after the name of a constant, but found '1'"},
     {"const A = ;", "1:11: expected the value of a constant, but found ';'"},
     {"const A = 1", "1:12: expected ';' after a constant, but the file ends"},
     {"const int = 1;", "1:7: 'int' is a word of the language, not the name of a constant"},
     {"enum e { A };", "1:12: expected '=' after an enumerator: XDR has no implicit values, but found '}'"},
     {"enum e { };", "1:10: expected an enumerator, but found '}'"},
     {"enum e { A = 1, };", "1:17: expected an enumerator, but found '}'"},
     {"struct s { };", "1:12: expected a type, but found '}'"},
     {"struct s {\n  int a;\n  void;\n};", "3:3: a member of a struct cannot be void"},
     {"struct s { int; };", "1:15: expected a name, but found ';'"},
     {"struct s { int a }", "1:18: expected ';' after a member, but found '}'"},
     {"struct s { int a;", "1:18: expected '}' after the members of a struct, but the file ends"},
     {"struct s { quadruple q; };", "1:12: quadruple is not supported: C++ has no such type"},
     {"struct s { int a[]; };", "1:18: expected the length of an array, but found ']'"},
     {"struct s { int a[2; };", "1:19: expected ']' after the length of an array, but found ';'"},
     {"struct s { int a<2; };", "1:19: expected '>' after the largest length of an array, but found ';'"},
     {"struct s { int *a<2>; };", "1:18: expected ';' after a member, but found '<'"},
     {"struct s { int a<> [[most(3)]]; };",
      "1:22: expected the attribute payload, ddp or max(N), but found 'most'"},
     {"struct s { int a<> [[max 3]]; };", "1:26: expected '(' after max, but found '3'"},
     {"struct s { int a<> [[max(3)]; };", "1:29: expected ']' after an attribute, but found ';'"},
     {"union u (int a) { case 1: void; };",
      "1:9: expected 'switch' before the discriminant of a union, but found '('"},
     {"union u switch (int a) { };", "1:26: expected case or default, but found '}'"},
     {"union u switch (int a) { case: void; };", "1:30: expected the value of a case, but found ':'"},
     {"union u switch (int a) { default void; };", "1:34: expected ':' after default, but found 'void'"},
     {"typedef void;", "1:9: void has no name"},
     {"typedef struct { int a; } s<3>;", "1:28: expected ';' after a typedef, but found '<'"},
     {"import a;", "1:8: expected the file to import between quotes, but found 'a'"},
     {"program P { } = 1;", "1:13: expected 'version' in a program, but found '}'"},
     {"program P { version V { void N(void) = 0; } = 1; };",
      "1:51: expected '=' before the number of a program, but found ';'"},
     {"program P { version V { void N = 0; } = 1; } = 2;",
      "1:32: expected '(' before the arguments of a procedure, but found '='"},
     {"program P { version V { struct { int a; } N(void) = 0; } = 1; } = 2;",
      "1:25: the types of a procedure are defined outside the program"}});
INSTANTIATE_TEST_SUITE_P(grammar, ErrorsTest, testing::ValuesIn(grammar_errors));

constexpr auto names_errors = std::to_array<Wrong>(
    {{"const A = 1;\nconst A = 2;", "2:1: 'A' is already defined at test.x:1"},
     {"enum e { A = 1 };\nconst A = 2;", "2:1: 'A' is already defined at test.x:1"},
     {"enum e { A = 1 };\nenum f { A = 2 };", "2:10: 'A' is already defined at test.x:1"},
     {"program P { version V { void N(void) = 0; } = 1; version V { void N(void) = 0; } = 2; } = 1;",
      "1:50: 'V' is already defined at test.x:1"},
     {"const A = B;", "1:11: 'B' is not defined"},
     {"const A = s; struct s { int a; };", "1:11: 's' is not a constant"},
     {"const A = B; const B = A;", "1:24: 'A' is defined by itself"},
     {"struct s {\n  t a;\n};", "2:3: the type 't' is not defined"},
     {"const A = 1; struct s { A a; };", "1:25: 'A' is not a type"},
     {"enum e { A = 1 }; struct s { A a; };", "1:30: 'A' is not a type"},
     {"typedef a b; typedef b a;", "1:1: 'b' is an alias of itself"},
     {"struct s { int a; int a; };", "1:23: 's' has two members 'a'"},
     {"union u switch (int a) { case 1: int a; };", "1:38: 'u' has two members 'a'"},
     {"program P { version V { missing N(void) = 0; } = 1; } = 2;",
      "1:25: the type 'missing' is not defined"},
     {"program P { version V { void N(missing) = 0; } = 1; } = 2;",
      "1:32: the type 'missing' is not defined"},
     {"program P { version V { void N(void) = 0; void N(void) = 1; } = 1; } = 2;",
      "1:48: a second procedure 'N'"},
     {"program P { version V { void N(void) = 0; void M(void) = 0; } = 1; } = 2;",
      "1:58: a second procedure of the same number"},
     {"program P { version V { void N(void) = 0; } = 1; } = -2;",
      "1:54: program, version and procedure numbers have 32 bits"},
     {"import \"a/none.x\";", "1:1: cannot read 'a/none.x'"},
     {"import \"a/loop.x\";", "a/loop.x:1:1: 'a/test.x' imports itself"},
     {"import \"a/bad.x\";", "a/bad.x:2:1: 'ONE' is already defined at a/bad.x:1"},
     {"import \"a/good.x\";\nconst KIND = 1;", "2:1: 'KIND' is already defined at a/good.x:1"}});
INSTANTIATE_TEST_SUITE_P(names, ErrorsTest, testing::ValuesIn(names_errors));

constexpr auto rules_errors = std::to_array<Wrong>(
    {{"enum e { A = 0x100000000 };", "1:14: 'A' does not fit 32 bits"},
     {"enum e { A = -1, B = 0x80000000 };", "1:22: 'B' is above 2^31-1 in an enum with negative values"},
     {"struct s { string a; };", "1:19: the string 'a' needs a length: <N> or <>"},
     {"struct s { string a[3]; };", "1:19: the string 'a' needs a length: <N> or <>"},
     {"struct s { string *a; };", "1:20: the string 'a' needs a length: <N> or <>"},
     {"struct s { opaque a; };", "1:19: the opaque data 'a' needs a length: [N], <N> or <>"},
     {"struct s { opaque *a; };", "1:20: the opaque data 'a' needs a length: [N], <N> or <>"},
     {"struct s { int a[0]; };", "1:18: an array has at least one element"},
     {"struct s { int a[-1]; };", "1:18: a length is a number of 32 bits"},
     {"struct s { int a<0x100000000>; };", "1:18: a length is a number of 32 bits"},
     {"struct s { opaque a<>; };", "1:19: 'a' has no limit: write <N> or [[max(N)]]"},
     {"struct s { string a<>; };", "1:19: 'a' has no limit: write <N> or [[max(N)]]"},
     {"struct s { int a<>; };", "1:16: 'a' has no limit: write <N> or [[max(N)]]"},
     {"typedef string a<>;", "1:16: 'a' has no limit: write <N> or [[max(N)]]"},
     {"struct s { opaque a<> [[payload]]; };", "1:19: 'a' has no limit: write <N> or [[max(N)]]"},
     {"struct s { int a<3> [[max(4)]]; };", "1:27: max is above the length that 'a' may have"},
     {"struct s { int a [[max(4)]]; };", "1:24: max is for data of variable length, not for 'a'"},
     {"struct s { int a[4] [[max(4)]]; };", "1:27: max is for data of variable length, not for 'a'"},
     {"struct s { int *a [[max(4)]]; };", "1:25: max is for data of variable length, not for 'a'"},
     {"struct s { string a<4> [[payload]]; };",
      "1:19: payload is for opaque data of variable length, not for 'a'"},
     {"struct s { opaque a[4] [[payload]]; };",
      "1:19: payload is for opaque data of variable length, not for 'a'"},
     {"struct s { opaque a<4> [[ddp]]; };", "1:19: ddp is for payload and strings, not for 'a'"},
     {"typedef opaque p<4> [[payload]]; struct s { p a<2>; };",
      "1:47: the elements of 'a' may not hold payload"},
     {"struct p { opaque d<4> [[payload]]; }; struct s { p a[2]; };",
      "1:53: the elements of 'a' may not hold payload"},
     {"struct p { opaque d<4> [[payload]]; p *next; }; struct s { p *a [[max(2)]]; };",
      "1:63: the elements of 'a' may not hold payload"}});
INSTANTIATE_TEST_SUITE_P(rules, ErrorsTest, testing::ValuesIn(rules_errors));

constexpr auto recursion_errors =
    std::to_array<Wrong>({{"struct n { int a; n *next; }; struct s { n *list; };",
                           "1:45: the list 'list' needs a limit: [[max(N)]]"},
                          {"struct n { n *next; };", "1:1: 'n' holds only itself"},
                          {"struct n { n *left; n *right; };",
                           "1:12: 'n' contains itself; only a list whose last member is the pointer to the "
                           "next is supported"},
                          {"struct n { int a; n b; };",
                           "1:19: 'n' contains itself; only a list whose last member is the pointer to the "
                           "next is supported"},
                          {"struct n { int a; n b<2>; };",
                           "1:19: 'n' contains itself; only a list whose last member is the pointer to the "
                           "next is supported"},
                          {"struct a { int x; b *y; }; struct b { a z; };",
                           "1:39: 'a' contains itself; only a list whose last member is the pointer to the "
                           "next is supported"},
                          {"union u switch (bool more) { case TRUE: u *next; case FALSE: void; };",
                           "1:41: 'u' contains itself; only a list whose last member is the pointer to the "
                           "next is supported"}});
INSTANTIATE_TEST_SUITE_P(recursion, ErrorsTest, testing::ValuesIn(recursion_errors));

constexpr auto unions_errors = std::to_array<Wrong>(
    {{"union u switch (hyper a) { case 1: void; };",
      "1:23: a discriminant is an int, unsigned int, bool or enum"},
     {"union u switch (int a<3>) { case 1: void; };",
      "1:21: a discriminant is an int, unsigned int, bool or enum"},
     {"struct s { int a; }; union u switch (s a) { case 1: void; };",
      "1:40: a discriminant is an int, unsigned int, bool or enum"},
     {"union u switch (void) { case 1: void; };",
      "1:17: a discriminant is an int, unsigned int, bool or enum"},
     {"union u switch (int a) { default: void; default: void; };", "1:41: a union has one default"},
     {"union u switch (int a) { case 1: void; case 1: void; };", "1:45: a second case of the same value"},
     {"const ONE = 1; union u switch (int a) { case 1: case ONE: void; };",
      "1:54: a second case of the same value"},
     {"enum e { A = 1 }; union u switch (e a) { case 2: void; };",
      "1:47: the case is not a value of the enum 'e'"},
     {"union u switch (bool a) { case 2: void; };", "1:32: the case is not a value of the discriminant"},
     {"union u switch (unsigned a) { case -1: void; };", "1:36: the case is not a value of the discriminant"},
     {"union u switch (int a) { case 0x80000000: void; };",
      "1:31: the case is not a value of the discriminant"},
     {"union u switch (int a) { case B: void; };", "1:31: 'B' is not defined"}});
INSTANTIATE_TEST_SUITE_P(unions, ErrorsTest, testing::ValuesIn(unions_errors));

TEST(ErrorsTest, there_are_none_in_an_empty_file_or_one_of_comments) {
  EXPECT_EQ(complaint_about(""), "nothing");
  EXPECT_EQ(complaint_about("/* only */ // this\n%and that\n"), "nothing");
}

}  // namespace
}  // namespace braid::xdrc
