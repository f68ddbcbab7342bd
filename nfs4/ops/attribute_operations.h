// Operations on attributes (RFC 8881 sections 18.7, 18.15, 18.23, 18.30, 18.31).
#pragma once

#include "nfs4/attributes/bitmap.h"
#include "nfs4/attributes/reply.h"
#include "nfs4/compound/compound.h"
#include "nfs4/op4.h"
#include "nfs4/ops/directory_page.h"

namespace braid::nfs4::ops {

// What of a SETATTR was done; also when it failed (RFC 8881 18.30.2: the result has it with any status).
struct AttributesSet {
  Bitmap done;
};
void encode(xdr::Encoder& out, const AttributesSet& set);
std::size_t encoded_size(const AttributesSet& set);

Op4<attributes::EncodedAttributes> getattr(Compound& compound, const GETATTR4args& args);
Op4<> nverify(Compound& compound, const NVERIFY4args& args);
Op4<DirectoryListing> readdir(Compound& compound, const READDIR4args& args);
Op4<AttributesSet, AttributesSet> setattr(Compound& compound, const SETATTR4args& args);
Op4<> verify(Compound& compound, const VERIFY4args& args);

// What VERIFY and NVERIFY have in common: whether the values are those of the current filehandle.
Op4<bool> same_attributes(Compound& compound, const fattr4& theirs);

}  // namespace braid::nfs4::ops
