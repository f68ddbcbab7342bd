// Every attribute of NFSv4.0, 4.1 and 4.2: one row each, in the order of their numbers.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "nfs4/attributes/bitmap.h"
#include "nfs4/attributes/flat.h"
#include "nfs4/attributes/settable.h"
#include "nfs4/attributes/source.h"
#include "xdr/decoder.h"

namespace braid::nfs4::attributes {

// What clients may do with an attribute by the RFC, whether this server offers it or not.
enum class Use : std::uint8_t { read, write, both };

struct Row {
  std::uint32_t number = 0;
  std::string_view name;
  std::uint8_t minor = 0;  // the first minor version that has it
  Use use = Use::read;
  std::uint32_t facts = Facts::none;  // that `put` looks at
  // Bytes of the encoded value: exactly, or for values of variable length what bytes_of() says.
  std::uint8_t bytes = 0;
  std::size_t (*bytes_of)(const AttributeSource&) = nullptr;
  // Writes the value; null: not offered, or write-only.
  void (*put)(FlatWriter&, const AttributeSource&) = nullptr;
  // Reads a value to set: NFS4_OK, NFS4ERR_BADXDR or NFS4ERR_INVAL; null: cannot be set here.
  nfsstat4 (*take)(xdr::Decoder&, SetRequest&) = nullptr;
  std::string_view section;  // of the RFC
};

// Row i is that of attribute i.
std::span<const Row> rows();

// The attributes of an object: those of its COMPOUND's minor version that its file system has. Looks at
// Facts::object and Facts::limits.
Bitmap supported(const AttributeSource& source);
// Those that exist in a minor version, whatever the file system.
Bitmap supported_in(std::uint32_t minor);
// What SETATTR may name in a minor version; what CREATE and OPEN may; what OPEN with EXCLUSIVE4_1 may
// (suppattr_exclcreat): the verifier takes the place of the times.
Bitmap settable_by_setattr(std::uint32_t minor);
Bitmap settable_at_creation(std::uint32_t minor);
Bitmap settable_at_exclusive_creation(std::uint32_t minor);
// Those of a minor version that may not be asked for (RFC 8881 section 5.5).
Bitmap write_only(std::uint32_t minor);

// Which groups of facts (Facts) the values of `wanted` need.
std::uint32_t facts_of(const Bitmap& wanted);

// An upper bound of what encode() writes.
std::size_t bytes_max(const Bitmap& wanted, const AttributeSource& source);
// Writes the values of what is wanted and supported, in order; says which those are. out.ok() is false if the
// memory ended.
Bitmap encode(const Bitmap& wanted, const AttributeSource& source, FlatWriter& out);

}  // namespace braid::nfs4::attributes
