// What the compiler makes of a file: the numbers it finds and the C++ it writes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "xdr/compiler/emitter.h"
#include "xdr/compiler/schema.h"

namespace braid::xdrc {
namespace {

using testing::HasSubstr;
using testing::Not;

base::Result<std::string, std::string> read_shapes(const std::string& include_as) {
  if (include_as == "other/shapes.x")
    return "enum shape { ROUND = 1 }; const SIDES = 4; typedef string title<9>;";
  return base::fail("cannot read '" + include_as + "'");
}

Schema schema_of(std::string_view source) {
  auto schema = load("test.x", "folder/test.x", source, read_shapes);
  EXPECT_TRUE(schema) << (schema ? "" : schema.error().what);
  return schema ? std::move(*schema) : Schema();
}
Output output_of(std::string_view source) { return emit(schema_of(source)); }
std::string header_of(std::string_view source) { return output_of(source).header; }

Number number_in(const Schema& schema, const std::string& name) {
  return std::get<Constant>(schema.find(name)->definition->body).value.number;
}

TEST(Output, constants_are_decimal_hexadecimal_octal_and_other_constants) {
  const Schema schema =
      schema_of("const A = 10; const B = 0xfF; const C = 017; const D = -0x10; const E = A; const F = 0;");
  EXPECT_EQ(number_in(schema, "A"), (Number{.magnitude = 10}));
  EXPECT_EQ(number_in(schema, "B"), (Number{.magnitude = 255}));
  EXPECT_EQ(number_in(schema, "C"), (Number{.magnitude = 15}));
  EXPECT_EQ(number_in(schema, "D"), (Number{.magnitude = 16, .negative = true}));
  EXPECT_EQ(number_in(schema, "E"), (Number{.magnitude = 10}));
  EXPECT_EQ(number_in(schema, "F"), Number{});
}

TEST(Output, comments_and_percent_lines_are_ignored) {
  EXPECT_THAT(header_of("%class Foo;\n/* const A = 1; */ const B = 2; // const C = 3;\n"),
              testing::AllOf(HasSubstr(" B = 2;"), Not(HasSubstr("Foo")), Not(HasSubstr(" A ")),
                             Not(HasSubstr(" C "))));
}

TEST(Output, the_namespace_is_the_last_folder_of_the_include_name) {
  EXPECT_THAT(header_of("const A = 1;"), HasSubstr("namespace braid::folder {"));
  auto nested = load("x", "tests/deep/x.x", "const A = 1;", read_shapes);
  ASSERT_TRUE(nested);
  const Output output = emit(*nested);
  EXPECT_THAT(output.header, HasSubstr("namespace braid::deep {"));
  EXPECT_THAT(output.source, HasSubstr("#include \"tests/deep/x.x.h\""));
}

TEST(Output, members_have_the_cpp_types_of_their_declarations) {
  const std::string header = header_of(
      "const N = 4; typedef string name<N>;\n"
      "struct s { int a; unsigned b; hyper c; unsigned hyper d; float e; double f; bool g; opaque h[N]; "
      "opaque i<5>;\n"
      "  string j<6>; opaque k<7> [[payload]]; int l[3]; int m<8>; int *n; name o; name p<2>; name *q; };\n");
  for (const char* member :
       {"std::int32_t a{};", "std::uint32_t b{};", "std::int64_t c{};", "std::uint64_t d{};", "float e{};",
        "double f{};", "bool g{};", "std::array<std::byte, N> h{};", "base::BytesView i{};",
        "std::string_view j{};", "io::Payload k{};", "std::array<std::int32_t, 3> l{};",
        "std::span<const std::int32_t> m{};", "std::optional<std::int32_t> n{};", "name o{};",
        "std::span<const name> p{};", "std::optional<name> q{};"})
    EXPECT_THAT(header, HasSubstr(member));
}

TEST(Output, limits_are_those_of_the_declaration_or_of_its_attribute) {
  const Output output = output_of(
      "const N = 4; typedef string name<> [[max(N)]];\n"
      "struct s { name a; opaque b<20> [[max(10)]]; opaque c<> [[payload, max(30)]]; };");
  EXPECT_THAT(output.header, HasSubstr("in.text(out.a, N)"));
  EXPECT_THAT(output.header, HasSubstr("in.opaque(out.b, 10)"));
  EXPECT_THAT(output.header, HasSubstr("in.payload(out.c, 30)"));
}

TEST(Output, eligible_data_may_come_apart_from_the_message) {
  const Output output = output_of(
      "typedef string path<8>;\n"
      "struct s { opaque a<4> [[payload, ddp]]; path b [[ddp]]; path c; opaque d<4> [[payload]]; };");
  EXPECT_THAT(output.source + output.header, HasSubstr("out.ddp_payload(value.a)"));
  EXPECT_THAT(output.source + output.header, HasSubstr("out.ddp_text(value.b)"));
  EXPECT_THAT(output.source + output.header, HasSubstr("out.text(value.c)"));
  EXPECT_THAT(output.source + output.header, HasSubstr("out.payload(value.d)"));
  EXPECT_THAT(output.source + output.header, HasSubstr("in.ddp_payload(out.a, 4)"));
  EXPECT_THAT(output.source + output.header, HasSubstr("in.ddp_text(out.b, 8)"));
  EXPECT_THAT(output.source + output.header, HasSubstr("in.text(out.c, 8)"));
  EXPECT_THAT(output.source + output.header, HasSubstr("in.payload(out.d, 4)"));
}

TEST(Output, types_come_behind_what_they_contain) {
  const std::string header = header_of("struct a { b x; }; struct b { c y; }; typedef int c[2];");
  EXPECT_LT(header.find("using c ="), header.find("struct b {"));
  EXPECT_LT(header.find("struct b {"), header.find("struct a {"));
}

TEST(Output, a_linked_list_is_a_span_of_nodes_without_their_pointer) {
  const std::string header = header_of("struct n { int a; n *next; }; struct s { n *list [[max(3)]]; };");
  EXPECT_THAT(header, HasSubstr("std::span<const n> list{};"));
  EXPECT_THAT(header, HasSubstr("xdr::decode_list(in, out.list, 3, 4,"));
  EXPECT_THAT(header, Not(HasSubstr("next")));
}

TEST(Output, names_that_cpp_or_the_generated_code_takes_get_an_underscore) {
  const std::string header = header_of(
      "struct class { int delete; int body; int out; }; typedef int out; enum e { new = 1 };"
      "union u switch (int made) { case 1: int body; };");
  for (const char* name :
       {"struct class_ {", "std::int32_t delete_{};", "std::int32_t body{};", "std::int32_t out{};",
        "using out_ = std::int32_t;", "new_ = 1,", "std::int32_t made_ = 1;", "std::int32_t* body_()"})
    EXPECT_THAT(header, HasSubstr(name));
}

TEST(Output, imported_types_carry_their_namespace_and_their_header_is_included) {
  const std::string header = header_of(
      "import \"other/shapes.x\"; struct s { shape a; title b; int c[SIDES]; };"
      "union u switch (shape k) { case ROUND: void; };");
  EXPECT_THAT(header, HasSubstr("#include \"other/shapes.x.h\""));
  EXPECT_THAT(header, HasSubstr("other::shape a{};"));
  EXPECT_THAT(header, HasSubstr("other::title b{};"));
  EXPECT_THAT(header, HasSubstr("std::array<std::int32_t, other::SIDES> c{};"));
  EXPECT_THAT(header, HasSubstr("discriminant == other::shape::ROUND"));
  EXPECT_THAT(header, Not(HasSubstr("enum class shape")));
}

TEST(Output, small_types_are_coded_in_the_header_and_large_ones_in_the_source) {
  const Output output = output_of(
      "struct small { int a; int b; };"
      "struct large { int a; int b; int c; int d; int e; int f; int g; int h; int i; };");
  EXPECT_THAT(output.header, HasSubstr("inline bool decode(xdr::Decoder& in, small& out) {"));
  EXPECT_THAT(output.header, HasSubstr("\nbool decode(xdr::Decoder& in, large& out);"));
  EXPECT_THAT(output.source, HasSubstr("\nbool decode(xdr::Decoder& in, large& out) {"));
}

TEST(Output, programs_become_numbers_and_an_enum_of_procedures_per_version) {
  const std::string header = header_of(
      "program P { version V1 { void A(void) = 0; int B(int, bool) = 7; } = 1; version V2 { void A(void) = "
      "0; } = 2; } = 99;");
  EXPECT_THAT(header, HasSubstr("inline constexpr std::uint32_t P = 99;"));
  EXPECT_THAT(header, HasSubstr("inline constexpr std::uint32_t V2 = 2;"));
  EXPECT_THAT(header, HasSubstr("enum class V1_procedure : std::uint32_t {\n  A = 0,  // void (void)\n"
                                "  B = 7,  // std::int32_t (std::int32_t, bool)\n};"));
}

TEST(Output, the_same_file_gives_the_same_text) {
  const char* source = "struct b { int x; a y; }; enum a { ONE = 1, TWO = 2 }; typedef b c<4>;";
  const Output first = output_of(source);
  const Output second = output_of(source);
  EXPECT_EQ(first.header, second.header);
  EXPECT_EQ(first.source, second.source);
}

}  // namespace
}  // namespace braid::xdrc
