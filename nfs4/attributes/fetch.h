// Gets what the values of attributes are made of.
#pragma once

#include <optional>

#include "nfs4/attributes/bitmap.h"
#include "nfs4/attributes/source.h"
#include "nfs4/compound/compound.h"
#include "nfs4/op4.h"

namespace braid::nfs4::attributes {

// What is known of an object without asking for it. Views of `at`, which outlives the source.
AttributeSource source_of(const Compound& compound, const Place& at);
// Puts attributes of an object of this export into its source.
void put_object(const vfs::Export& from, const vfs::Attributes& object, AttributeSource& out);

// Fills in what the values of `wanted` need. `seen`: the object's own attributes, looked at if they are not
// there. Allocates nothing, except for ACLs and for names that have to be looked up.
Op4<> fetch(Compound& compound, const Place& at, const Bitmap& wanted, std::optional<vfs::Attributes>& seen,
            AttributeSource& out);
// Owner and group of source.object; true when they were at hand, else they are left alone.
bool names_now(const Compound& compound, std::uint32_t facts, AttributeSource& out);
// The same, waiting for the name service.
Op4<> fetch_names(Compound& compound, std::uint32_t facts, AttributeSource& out);

}  // namespace braid::nfs4::attributes
