#include "tests/fuzz/nfs4_reply.h"

#include <array>

#include "base/assert.h"
#include "nfs4/nfs4.x.h"
#include "xdr/arena.h"

namespace braid::nfs4::fuzz {
namespace {

template <class Res>
bool decodes(xdr::Decoder& in) {
  Res res;
  return decode(in, res);
}
bool nothing(xdr::Decoder& /*in*/) { return false; }

// By number, from OP_ACCESS on.
constexpr std::array results{
    decodes<ACCESS4res>,
    decodes<CLOSE4res>,
    decodes<COMMIT4res>,
    decodes<CREATE4res>,
    decodes<DELEGPURGE4res>,
    decodes<DELEGRETURN4res>,
    decodes<GETATTR4res>,
    decodes<GETFH4res>,
    decodes<LINK4res>,
    decodes<LOCK4res>,
    decodes<LOCKT4res>,
    decodes<LOCKU4res>,
    decodes<LOOKUP4res>,
    decodes<LOOKUPP4res>,
    decodes<NVERIFY4res>,
    decodes<OPEN4res>,
    decodes<OPENATTR4res>,
    decodes<OPEN_CONFIRM4res>,
    decodes<OPEN_DOWNGRADE4res>,
    decodes<PUTFH4res>,
    decodes<PUTPUBFH4res>,
    decodes<PUTROOTFH4res>,
    decodes<READ4res>,
    decodes<READDIR4res>,
    decodes<READLINK4res>,
    decodes<REMOVE4res>,
    decodes<RENAME4res>,
    decodes<RENEW4res>,
    decodes<RESTOREFH4res>,
    decodes<SAVEFH4res>,
    decodes<SECINFO4res>,
    decodes<SETATTR4res>,
    decodes<SETCLIENTID4res>,
    decodes<SETCLIENTID_CONFIRM4res>,
    decodes<VERIFY4res>,
    decodes<WRITE4res>,
    decodes<RELEASE_LOCKOWNER4res>,
    decodes<BACKCHANNEL_CTL4res>,
    decodes<BIND_CONN_TO_SESSION4res>,
    decodes<EXCHANGE_ID4res>,
    decodes<CREATE_SESSION4res>,
    decodes<DESTROY_SESSION4res>,
    decodes<FREE_STATEID4res>,
    decodes<GET_DIR_DELEGATION4res>,
    decodes<GETDEVICEINFO4res>,
    decodes<GETDEVICELIST4res>,
    decodes<LAYOUTCOMMIT4res>,
    decodes<LAYOUTGET4res>,
    decodes<LAYOUTRETURN4res>,
    decodes<SECINFO_NO_NAME4res>,
    decodes<SEQUENCE4res>,
    decodes<SET_SSV4res>,
    decodes<TEST_STATEID4res>,
    decodes<WANT_DELEGATION4res>,
    decodes<DESTROY_CLIENTID4res>,
    decodes<RECLAIM_COMPLETE4res>,
    decodes<ALLOCATE4res>,
    decodes<COPY4res>,
    decodes<COPY_NOTIFY4res>,
    decodes<DEALLOCATE4res>,
    decodes<IO_ADVISE4res>,
    decodes<LAYOUTERROR4res>,
    decodes<LAYOUTSTATS4res>,
    decodes<OFFLOAD_CANCEL4res>,
    decodes<OFFLOAD_STATUS4res>,
    decodes<READ_PLUS4res>,
    decodes<SEEK4res>,
    decodes<WRITE_SAME4res>,
    decodes<CLONE4res>,
    decodes<GETXATTR4res>,
    decodes<SETXATTR4res>,
    decodes<LISTXATTRS4res>,
    decodes<REMOVEXATTR4res>,
};
static_assert(results.size() == 73);

}  // namespace

bool result_decodes(xdr::Decoder& in, std::uint32_t number) {
  if (number == static_cast<std::uint32_t>(nfs_opnum4::OP_ILLEGAL)) return decodes<ILLEGAL4res>(in);
  if (number < 3 || number - 3 >= results.size()) return nothing(in);
  return results[number - 3](in);
}

void check_reply(const io::Payload& reply) {
  base::check(reply.size() <= MAX_PAYLOAD + 64 * base::KiB, "the reply keeps to its bound");
  xdr::Arena arena;
  xdr::Decoder in(reply, arena);
  COMPOUND4res head;
  base::check(decode(in, head), "the head can be decoded");
  for (std::uint32_t i = 0; i < head.resarray_count; ++i) {
    std::uint32_t number = 0;
    base::check(in.u32(number) && result_decodes(in, number), "every result can be decoded");
  }
  base::check(in.remaining() == 0, "nothing follows the results");
}

}  // namespace braid::nfs4::fuzz
