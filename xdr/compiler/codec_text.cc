#include "xdr/compiler/codec_text.h"

namespace braid::xdrc {
namespace {

using Kind = TypeSpecifier::Kind;
using Shape = Declaration::Shape;

bool is_bytes(const Declaration& declaration) {
  return declaration.type.kind == Kind::opaque || declaration.type.kind == Kind::string;
}

std::string item_at(int depth) { return depth == 0 ? "item" : "item" + std::to_string(depth + 1); }

std::string eligible(const Declaration& declaration, const Declaration& resolved) {
  return declaration.ddp || resolved.ddp ? "ddp_" : "";
}

bool is_floating(Kind kind) { return kind == Kind::floating || kind == Kind::double_floating; }

// The method of Decoder and Encoder for an integer or bool.
std::string method_of(Kind kind) {
  switch (kind) {
    case Kind::signed_int:
      return "i32";
    case Kind::unsigned_int:
      return "u32";
    case Kind::hyper:
      return "i64";
    case Kind::unsigned_hyper:
      return "u64";
    default:
      return "boolean";
  }
}

}  // namespace

std::string CodecText::decode_plain(const Declaration& last, const std::string& lvalue) const {
  if (last.type.kind == Kind::nothing) return "true";
  if (last.type.kind == Kind::named) return "decode(in, " + lvalue + ")";
  if (is_floating(last.type.kind)) return "xdr::decode_floating(in, " + lvalue + ")";
  return "in." + method_of(last.type.kind) + "(" + lvalue + ")";
}

std::string CodecText::decode(const Declaration& declaration, const std::string& lvalue, int depth) const {
  const Declaration& last = schema_.resolved(declaration);
  if (is_bytes(last)) {
    if (last.shape == Shape::fixed) return "in.opaque_fixed(" + lvalue + ")";
    const std::string method = last.payload ? "payload" : last.type.kind == Kind::string ? "text" : "opaque";
    return "in." + eligible(declaration, last) + method + "(" + lvalue + ", " +
           types_.length_of(limit_of(last)) + ")";
  }
  if (last.shape == Shape::plain) return decode_plain(last, lvalue);
  const Declaration element = element_of(last);
  const std::string item = item_at(depth);
  std::string call = last.shape == Shape::fixed      ? "decode_each"
                     : last.shape == Shape::variable ? "decode_array"
                     : schema_.is_list(last)         ? "decode_list"
                                                     : "decode_optional";
  std::string arguments = "in, " + lvalue;
  if (last.shape == Shape::fixed) arguments = lvalue;
  if (call == "decode_array" || call == "decode_list") {
    arguments +=
        ", " + types_.length_of(limit_of(last)) + ", " + std::to_string(schema_.layout_of(element).bytes_min);
  }
  return "xdr::" + call + "(" + arguments + ", [&in](" + types_.type_of(element) + "& " + item +
         ") { return " + decode(element, item, depth + 1) + "; })";
}

std::string CodecText::encode_plain(const Declaration& last, const std::string& lvalue) const {
  if (last.type.kind == Kind::nothing) return "";
  if (last.type.kind == Kind::named) return "encode(out, " + lvalue + ");\n";
  if (is_floating(last.type.kind)) return "xdr::encode_floating(out, " + lvalue + ");\n";
  return "out." + method_of(last.type.kind) + "(" + lvalue + ");\n";
}

std::string CodecText::encode(const Declaration& declaration, const std::string& lvalue,
                              const std::string& indent, int depth) const {
  const Declaration& last = schema_.resolved(declaration);
  if (is_bytes(last)) {
    const std::string method = last.shape == Shape::fixed       ? "opaque_fixed"
                               : last.payload                   ? "payload"
                               : last.type.kind == Kind::string ? "text"
                                                                : "opaque";
    return indent + "out." + eligible(declaration, last) + method + "(" + lvalue + ");\n";
  }
  if (last.shape == Shape::plain) {
    const std::string text = encode_plain(last, lvalue);
    return text.empty() ? text : indent + text;
  }
  const Declaration element = element_of(last);
  if (last.shape == Shape::optional && !schema_.is_list(last)) {
    return indent + "out.boolean(" + lvalue + ".has_value());\n" + indent + "if (" + lvalue + ") {\n" +
           encode(element, "(*" + lvalue + ")", indent + "  ", depth) + indent + "}\n";
  }
  const std::string item = item_at(depth);
  std::string text;
  if (last.shape == Shape::variable)
    text += indent + "out.u32(static_cast<std::uint32_t>(" + lvalue + ".size()));\n";
  text += indent + "for (const auto& " + item + " : " + lvalue + ") {\n";
  if (last.shape == Shape::optional) text += indent + "  out.boolean(true);\n";
  text += encode(element, item, indent + "  ", depth + 1) + indent + "}\n";
  if (last.shape == Shape::optional) text += indent + "out.boolean(false);\n";
  return text;
}

std::string CodecText::size(const Declaration& declaration, const std::string& lvalue, int depth) const {
  const Declaration& last = schema_.resolved(declaration);
  const Layout whole = schema_.layout_of(last);
  if (whole.bytes_min == whole.bytes_max) return std::to_string(whole.bytes_min);
  if (is_bytes(last)) return "xdr::opaque_size(" + lvalue + ".size())";
  if (last.shape == Shape::plain) return "encoded_size(" + lvalue + ")";
  const Declaration element = element_of(last);
  if (last.shape == Shape::optional && !schema_.is_list(last)) {
    return "4 + (" + lvalue + " ? " + size(element, "(*" + lvalue + ")", depth) + " : 0)";
  }
  const std::string head = last.shape == Shape::fixed ? "" : "4 + ";
  const std::uint64_t mark = last.shape == Shape::optional ? 4 : 0;
  const Layout one = schema_.layout_of(element);
  if (one.bytes_min == one.bytes_max)
    return head + std::to_string(one.bytes_min + mark) + " * " + lvalue + ".size()";
  const std::string item = item_at(depth);
  return head + "xdr::size_of_each(" + lvalue + ", [](const " + types_.type_of(element) + "& " + item +
         ") -> std::size_t { return " + (mark == 0 ? "" : "4 + ") + size(element, item, depth + 1) + "; })";
}

std::string CodecText::equal(const Declaration& declaration, const std::string& left,
                             const std::string& right, int depth) const {
  const Declaration& last = schema_.resolved(declaration);
  const bool variable_bytes = last.type.kind == Kind::opaque && last.shape == Shape::variable;
  if (variable_bytes && last.payload) return "xdr::same_bytes(" + left + ", " + right + ")";
  if (variable_bytes) return "base::equal(" + left + ", " + right + ")";
  if (last.shape == Shape::plain || is_bytes(last)) return left + " == " + right;
  const Declaration element = element_of(last);
  const std::string type = "const " + types_.type_of(element) + "& ";
  const std::string a = item_at(depth);
  const std::string b = "other_" + a;
  const bool optional = last.shape == Shape::optional && !schema_.is_list(last);
  return std::string("xdr::") + (optional ? "equal_optional(" : "equal_each(") + left + ", " + right +
         ", [](" + type + a + ", " + type + b + ") { return " + equal(element, a, b, depth + 1) + "; })";
}

}  // namespace braid::xdrc
