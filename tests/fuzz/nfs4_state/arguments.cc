#include "tests/fuzz/nfs4_state/arguments.h"

#include <iterator>

namespace braid::nfs4::fuzz {
namespace {

using enum nfs_opnum4;
using test::Request;

// What messages are made of; what matters most stands here more than once.
constexpr nfs_opnum4 operations[] = {OP_OPEN,
                                     OP_OPEN,
                                     OP_OPEN,
                                     OP_OPEN,
                                     OP_CLOSE,
                                     OP_CLOSE,
                                     OP_LOCK,
                                     OP_LOCK,
                                     OP_LOCK,
                                     OP_LOCKU,
                                     OP_LOCKT,
                                     OP_PUTROOTFH,
                                     OP_PUTROOTFH,
                                     OP_PUTROOTFH,
                                     OP_PUTFH,
                                     OP_PUTFH,
                                     OP_GETFH,
                                     OP_GETFH,
                                     OP_LOOKUP,
                                     OP_LOOKUP,
                                     OP_SAVEFH,
                                     OP_SAVEFH,
                                     OP_RESTOREFH,
                                     OP_EXCHANGE_ID,
                                     OP_EXCHANGE_ID,
                                     OP_CREATE_SESSION,
                                     OP_CREATE_SESSION,
                                     OP_SETCLIENTID,
                                     OP_SETCLIENTID,
                                     OP_SETCLIENTID_CONFIRM,
                                     OP_SETCLIENTID_CONFIRM,
                                     OP_OPEN_CONFIRM,
                                     OP_OPEN_CONFIRM,
                                     OP_OPEN_DOWNGRADE,
                                     OP_RENEW,
                                     OP_RELEASE_LOCKOWNER,
                                     OP_SEQUENCE,
                                     OP_DESTROY_SESSION,
                                     OP_DESTROY_CLIENTID,
                                     OP_BIND_CONN_TO_SESSION,
                                     OP_BACKCHANNEL_CTL,
                                     OP_FREE_STATEID,
                                     OP_TEST_STATEID,
                                     OP_RECLAIM_COMPLETE,
                                     OP_RECLAIM_COMPLETE,
                                     OP_DELEGRETURN,
                                     OP_DELEGRETURN,
                                     OP_DELEGPURGE,
                                     OP_GET_DIR_DELEGATION,
                                     OP_WANT_DELEGATION,
                                     OP_READ,
                                     OP_READ,
                                     OP_WRITE,
                                     OP_WRITE,
                                     OP_COMMIT,
                                     OP_SETATTR,
                                     OP_SETATTR,
                                     OP_GETATTR,
                                     OP_GETATTR,
                                     OP_ACCESS,
                                     OP_CREATE,
                                     OP_CREATE,
                                     OP_REMOVE,
                                     OP_REMOVE,
                                     OP_RENAME,
                                     OP_LINK,
                                     OP_READDIR,
                                     OP_READLINK,
                                     OP_LOOKUPP,
                                     OP_PUTPUBFH,
                                     OP_OPENATTR,
                                     OP_SECINFO,
                                     OP_SECINFO_NO_NAME,
                                     OP_VERIFY,
                                     OP_NVERIFY,
                                     OP_COPY,
                                     OP_COPY,
                                     OP_OFFLOAD_STATUS,
                                     OP_OFFLOAD_CANCEL,
                                     OP_COPY_NOTIFY,
                                     OP_CLONE,
                                     OP_ALLOCATE,
                                     OP_DEALLOCATE,
                                     OP_SEEK,
                                     OP_READ_PLUS,
                                     OP_IO_ADVISE,
                                     OP_GETXATTR,
                                     OP_SETXATTR,
                                     OP_LISTXATTRS,
                                     OP_REMOVEXATTR,
                                     OP_LAYOUTGET,
                                     OP_LAYOUTRETURN,
                                     OP_GETDEVICEINFO,
                                     OP_SET_SSV,
                                     OP_ILLEGAL};

// Attributes, and what is left.
void add_attribute(Request& request, nfs_opnum4 operation, Bytes& bytes, const Registers& from) {
  static constexpr std::array<std::uint32_t, 3> many{0xffff'ffff, 0xffff'ffff, 0xffff'ffff};
  static constexpr std::array<std::uint32_t, 2> few{0x0010'011a, 0x00b0'a23a};
  switch (operation) {
    case OP_GETATTR:
      request.add(operation, GETATTR4args{bytes.flag() ? bitmap4(many) : bitmap4(few)});
      return;
    case OP_ACCESS:
      request.add(operation, ACCESS4args{bytes.byte()});
      return;
    case OP_OPENATTR:
      request.add(operation, OPENATTR4args{bytes.flag()});
      return;
    case OP_SETATTR:
      request.add(operation, SETATTR4args{from.state(bytes), Attributes(bytes).value});
      return;
    case OP_VERIFY:
      request.add(operation, VERIFY4args{Attributes(bytes).value});
      return;
    case OP_NVERIFY:
      request.add(operation, NVERIFY4args{Attributes(bytes).value});
      return;
    case OP_GETXATTR:
      request.add(operation, GETXATTR4args{bytes.of(names)});
      return;
    case OP_REMOVEXATTR:
      request.add(operation, REMOVEXATTR4args{bytes.of(names)});
      return;
    case OP_SETXATTR: {
      const std::string_view name = bytes.of(names);
      request.add(operation,
                  SETXATTR4args{static_cast<setxattr_option4>(bytes.byte() % 3), name, owner_of(bytes)});
      return;
    }
    case OP_LISTXATTRS:
      request.add(operation, LISTXATTRS4args{bytes.byte(), bytes.of(counts)});
      return;
    case OP_LAYOUTGET:
      request.add(operation, LAYOUTGET4args{});
      return;
    case OP_GETDEVICEINFO:
      request.add(operation, GETDEVICEINFO4args{});
      return;
    default:
      request.add(operation);
      return;  // those without arguments; of others they are missing
  }
}

}  // namespace

Attributes::Attributes(Bytes& bytes) {
  io::SlabCursor cursor(test::test_slabs());
  xdr::Encoder out(cursor);
  const std::uint8_t which = bytes.byte();
  if ((which & 1) != 0) {
    mask[0] |= 1U << FATTR4_SIZE;
    out.u64(offsets[which / 4 % std::size(offsets)]);
  }
  if ((which & 2) != 0) {
    mask[1] |= 1U << (FATTR4_MODE - 32);
    out.u32(which * 7U % 010000);
  }
  if ((which & 4) != 0) {
    mask[1] |= 1U << (FATTR4_TIME_MODIFY_SET - 32);
    out.u32(0);
  }
  if ((which & 8) != 0) {
    mask[2] |= 1U << (FATTR4_TIME_DELEG_MODIFY - 64);
    out.u64(which);
    out.u32(5);
  }
  value = {.attrmask = mask, .attr_vals = out.finish().bytes};
}

void add_operation(Request& request, const Step& step, const Registers& registers) {
  Bytes bytes(step);
  const nfs_opnum4 operation = operations[step.number % std::size(operations)];
  if (add_session(request, operation, bytes, registers)) return;
  if (add_client(request, operation, bytes, registers)) return;
  if (add_state(request, operation, bytes, registers)) return;
  if (add_lock_state(request, operation, bytes, registers)) return;
  if (add_data(request, operation, bytes, registers)) return;
  if (add_copy(request, operation, bytes, registers)) return;
  if (add_name(request, operation, bytes, registers)) return;
  add_attribute(request, operation, bytes, registers);
}

}  // namespace braid::nfs4::fuzz
