#include <gtest/gtest.h>

#include "tests/unit/xdr/sample/rfc4506.x.h"
#include "tests/unit/xdr/wire.h"

namespace braid::xdr_tests {
namespace {

// RFC 4506 section 7: user "john" has a file "sillyprog" of kind EXEC that contains "(quit)".
const sample::file silly{.filename = "sillyprog",
                         .type = sample::filetype::with_interpretor("lisp"),
                         .owner = "john",
                         .data = base::bytes_of("(quit)")};
const std::string_view silly_bytes =
    "00000009 73696c6c 7970726f 67000000 00000002 00000004 6c697370 00000004 6a6f686e 00000006 28717569 "
    "74290000";

TEST(Rfc4506, the_example_of_section_7_encodes_to_its_bytes) {
  Memory memory;
  const base::Bytes bytes = memory.encoded([](xdr::Encoder& out) { encode(out, silly); });
  EXPECT_EQ(hex_of(bytes), hex_of(hex(silly_bytes)));
  EXPECT_EQ(encoded_size(silly), 48U);
}

TEST(Rfc4506, the_example_of_section_7_decodes_from_its_bytes) {
  Memory memory;
  const io::Payload message = memory.payload(hex(silly_bytes));
  xdr::Arena arena;
  xdr::Decoder in(message, arena);
  sample::file back;
  ASSERT_TRUE(decode(in, back));
  EXPECT_EQ(back.filename, "sillyprog");
  EXPECT_EQ(back.type.kind, sample::filekind::EXEC);
  ASSERT_NE(back.type.interpretor(), nullptr);
  EXPECT_EQ(*back.type.interpretor(), "lisp");
  EXPECT_EQ(back.type.creator(), nullptr);
  EXPECT_EQ(back.owner, "john");
  EXPECT_EQ(base::text_of(back.data), "(quit)");
  EXPECT_TRUE(back == silly);
}

}  // namespace
}  // namespace braid::xdr_tests
