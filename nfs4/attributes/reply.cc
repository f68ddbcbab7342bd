#include "nfs4/attributes/reply.h"

#include <algorithm>

#include "nfs4/attributes/table.h"
#include "xdr/sequence.h"

namespace braid::nfs4::attributes {

void encode(xdr::Encoder& out, const EncodedAttributes& attributes) {
  const auto words = attributes.mask.wire();
  out.u32(static_cast<std::uint32_t>(words.size()));
  for (const std::uint32_t word : words) out.u32(word);
  out.opaque(attributes.values);
}

std::size_t encoded_size(const EncodedAttributes& attributes) {
  return 4 + 4 * attributes.mask.wire().size() + xdr::opaque_size(attributes.values.size());
}

std::optional<EncodedAttributes> encode_into(xdr::Arena& arena, const Bitmap& wanted,
                                             const AttributeSource& source) {
  bool fits = false;
  const auto memory = arena.make<std::byte>(bytes_max(wanted, source), fits);
  if (!fits) return std::nullopt;
  FlatWriter out(memory);
  const Bitmap done = encode(wanted, source, out);
  if (!out.ok()) return std::nullopt;
  return EncodedAttributes{done, out.written()};
}

bitmap4 wire_of(const Bitmap& map, xdr::Arena& arena) {
  const auto words = map.wire();
  bool fits = false;
  const auto memory = arena.make<std::uint32_t>(words.size(), fits);
  if (!fits) return {};
  std::ranges::copy(words, memory.begin());
  return memory;
}

}  // namespace braid::nfs4::attributes
