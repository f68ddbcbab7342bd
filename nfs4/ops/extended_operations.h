// What NFSv4.2 added (RFC 7862 section 15, RFC 8276 section 8), and the layout operations of a server that
// offers no layouts.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "io/payload.h"
#include "nfs4/compound/compound.h"
#include "nfs4/op4.h"
#include "xdr/encoder.h"

namespace braid::nfs4::ops {

// read_plus_res4 with the data by reference.
struct ReadPlusData {
  std::uint64_t offset = 0;
  io::Payload bytes;
};
struct ReadPlusResult {
  bool eof = false;
  std::vector<std::variant<ReadPlusData, data_info4>> contents;
};
void encode(xdr::Encoder& out, const ReadPlusResult& result);
std::size_t encoded_size(const ReadPlusResult& result);

struct XattrValue {
  io::Payload value;
};
void encode(xdr::Encoder& out, const XattrValue& result);
std::size_t encoded_size(const XattrValue& result);

struct XattrNames {
  std::uint64_t cookie = 0;
  std::vector<std::string> names;
  bool eof = false;
};
void encode(xdr::Encoder& out, const XattrNames& result);
std::size_t encoded_size(const XattrNames& result);

Op4<> allocate(Compound& compound, const ALLOCATE4args& args);
Op4<> clone(Compound& compound, const CLONE4args& args);
Op4<COPY4resok, copy_requirements4> copy(Compound& compound, const COPY4args& args);
Op4<> deallocate(Compound& compound, const DEALLOCATE4args& args);
Op4<XattrValue> getxattr(Compound& compound, const GETXATTR4args& args);
Op4<IO_ADVISE4resok> io_advise(Compound& compound, const IO_ADVISE4args& args);
Op4<XattrNames> listxattrs(Compound& compound, const LISTXATTRS4args& args);
Op4<> offload_cancel(Compound& compound, const OFFLOAD_CANCEL4args& args);
Op4<OFFLOAD_STATUS4resok> offload_status(Compound& compound, const OFFLOAD_STATUS4args& args);
Op4<ReadPlusResult> read_plus(Compound& compound, const READ_PLUS4args& args);
Op4<change_info4> removexattr(Compound& compound, const REMOVEXATTR4args& args);
Op4<seek_res4> seek(Compound& compound, const SEEK4args& args);
Op4<change_info4> setxattr(Compound& compound, const SETXATTR4args& args);

// No layouts here.
Op4<GETDEVICEINFO4resok> getdeviceinfo(Compound& compound, const GETDEVICEINFO4args& args);
Op4<GETDEVICELIST4resok> getdevicelist(Compound& compound, const GETDEVICELIST4args& args);
Op4<LAYOUTCOMMIT4resok> layoutcommit(Compound& compound, const LAYOUTCOMMIT4args& args);
Op4<> layouterror(Compound& compound, const LAYOUTERROR4args& args);
Op4<LAYOUTGET4resok> layoutget(Compound& compound, const LAYOUTGET4args& args);
Op4<layoutreturn_stateid> layoutreturn(Compound& compound, const LAYOUTRETURN4args& args);
Op4<> layoutstats(Compound& compound, const LAYOUTSTATS4args& args);

}  // namespace braid::nfs4::ops
