// VERIFY and NVERIFY: values of a client against those of an object.
#pragma once

#include <optional>
#include <string_view>

#include "nfs4/attributes/source.h"
#include "nfs4/op4.h"
#include "xdr/arena.h"

namespace braid::nfs4::attributes {

struct Comparison {
  bool same = true;  // as far as it goes without the two below
  // Owners written otherwise than we do; they may yet mean the same.
  std::optional<std::string_view> owner;
  std::optional<std::string_view> group;
};

// `ours` has the facts that the attributes of `theirs` need, all of which are supported and readable.
// NFS4ERR_BADXDR when the values are not those of the bitmap.
Result4<Comparison> compare(const fattr4& theirs, const AttributeSource& ours, xdr::Arena& arena);

}  // namespace braid::nfs4::attributes
