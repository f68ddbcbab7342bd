// How values to set are read, one function per attribute; what the rows of table.cc refer to.
#pragma once

#include <cstdint>

#include "nfs4/attributes/settable.h"
#include "xdr/decoder.h"

namespace braid::nfs4::attributes {

constexpr std::uint32_t mode_bits = 07777;

nfsstat4 take_size(xdr::Decoder& in, SetRequest& out);
nfsstat4 take_acl(xdr::Decoder& in, SetRequest& out);
nfsstat4 take_mode(xdr::Decoder& in, SetRequest& out);
nfsstat4 take_owner(xdr::Decoder& in, SetRequest& out);
nfsstat4 take_group(xdr::Decoder& in, SetRequest& out);
nfsstat4 take_atime(xdr::Decoder& in, SetRequest& out);
nfsstat4 take_mtime(xdr::Decoder& in, SetRequest& out);
nfsstat4 take_mode_set_masked(xdr::Decoder& in, SetRequest& out);
nfsstat4 take_mode_umask(xdr::Decoder& in, SetRequest& out);
nfsstat4 take_delegated_atime(xdr::Decoder& in, SetRequest& out);
nfsstat4 take_delegated_mtime(xdr::Decoder& in, SetRequest& out);

}  // namespace braid::nfs4::attributes
