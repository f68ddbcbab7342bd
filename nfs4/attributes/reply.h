// Attributes in replies.
#pragma once

#include <optional>

#include "base/bytes.h"
#include "nfs4/attributes/bitmap.h"
#include "nfs4/attributes/source.h"
#include "nfs4/nfs4.x.h"
#include "xdr/arena.h"
#include "xdr/encoder.h"

namespace braid::nfs4::attributes {

// A fattr4 as it is sent: the values are encoded already.
struct EncodedAttributes {
  Bitmap mask;
  base::BytesView values;
};
void encode(xdr::Encoder& out, const EncodedAttributes& attributes);
std::size_t encoded_size(const EncodedAttributes& attributes);

// The values of what is wanted and supported, in memory of the arena; nothing if that is used up.
std::optional<EncodedAttributes> encode_into(xdr::Arena& arena, const Bitmap& wanted,
                                             const AttributeSource& source);

// A bitmap4 for a result, in memory of the arena; empty if that is used up.
bitmap4 wire_of(const Bitmap& map, xdr::Arena& arena);

}  // namespace braid::nfs4::attributes
