#include "nfs4/operations.h"

#include <algorithm>
#include <array>
#include <span>

#include "nfs4/compound/operation_handler.h"
#include "nfs4/ops/attribute_operations.h"
#include "nfs4/ops/client_operations.h"
#include "nfs4/ops/extended_operations.h"
#include "nfs4/ops/file_operations.h"
#include "nfs4/ops/open_operations.h"

namespace braid::nfs4 {
namespace {

using enum nfs_opnum4;

constexpr OperationFlags on_current{.needs_current = true};
constexpr OperationFlags looks_at_current{.needs_current = true, .looks = true};
constexpr OperationFlags changes_current{.needs_current = true, .changes = true};
constexpr OperationFlags changes_in_sequence{.needs_current = true, .changes = true, .seqid_40 = true};
constexpr OperationFlags sets_attributes{.needs_current = true, .changes = true, .bitmap_with_errors = true};
constexpr OperationFlags changes_both{.needs_current = true, .needs_saved = true, .changes = true};
constexpr OperationFlags first{.outside_session = true};
constexpr OperationFlags first_and_changes{.outside_session = true, .changes = true};
constexpr OperationFlags changes_state{.changes = true};
constexpr OperationFlags none{};

constexpr std::uint32_t status_only = 0;
constexpr std::uint32_t stateid_bytes = stateid4::encoded_bytes_max;
constexpr std::uint32_t cinfo_bytes = change_info4::encoded_bytes_max;
constexpr std::uint32_t bitmap_bytes_max = 4 + 4 * 3;
// Stateid, cinfo, rflags, attrset, and a delegation with the ACE that we write.
constexpr std::uint32_t open_bytes = stateid_bytes + cinfo_bytes + 4 + bitmap_bytes_max + 128;
// Discriminant, cookie verifier, stateid, and three bitmaps that are empty.
constexpr std::uint32_t dir_delegation_bytes = 4 + NFS4_VERIFIER_SIZE + stateid_bytes + 3 * 4;
constexpr std::uint32_t denied_bytes = 8 + 8 + 4 + 8 + 4 + NFS4_OPAQUE_LIMIT;

// Every operation of the minor versions 0 to 2, once.
constexpr auto every_operation = std::to_array<Operation>({
    row<ops::access>(OP_ACCESS, "ACCESS", all_minors, looks_at_current, 0, "RFC 8881 18.1"),
    row<ops::close>(OP_CLOSE, "CLOSE", all_minors, changes_in_sequence, stateid_bytes, "RFC 8881 18.2"),
    row<ops::commit>(OP_COMMIT, "COMMIT", all_minors, on_current, 0, "RFC 8881 18.3"),
    row<ops::create>(OP_CREATE, "CREATE", all_minors, changes_current, cinfo_bytes + bitmap_bytes_max,
                     "RFC 8881 18.4"),
    row<ops::delegpurge>(OP_DELEGPURGE, "DELEGPURGE", all_minors, changes_state, status_only,
                         "RFC 8881 18.5"),
    row<ops::delegreturn>(OP_DELEGRETURN, "DELEGRETURN", all_minors, changes_current, status_only,
                          "RFC 8881 18.6"),
    row<ops::getattr>(OP_GETATTR, "GETATTR", all_minors, looks_at_current, 0, "RFC 8881 18.7"),
    row<ops::getfh>(OP_GETFH, "GETFH", all_minors, looks_at_current, 0, "RFC 8881 18.8"),
    row<ops::link>(OP_LINK, "LINK", all_minors, changes_both, cinfo_bytes, "RFC 8881 18.9"),
    row<ops::lock>(OP_LOCK, "LOCK", all_minors, changes_in_sequence, denied_bytes, "RFC 8881 18.10"),
    row<ops::lockt>(OP_LOCKT, "LOCKT", all_minors, on_current, 0, "RFC 8881 18.11"),
    row<ops::locku>(OP_LOCKU, "LOCKU", all_minors, changes_in_sequence, stateid_bytes, "RFC 8881 18.12"),
    row<ops::lookup>(OP_LOOKUP, "LOOKUP", all_minors, on_current, 0, "RFC 8881 18.13"),
    row<ops::lookupp>(OP_LOOKUPP, "LOOKUPP", all_minors, on_current, 0, "RFC 8881 18.14"),
    row<ops::nverify>(OP_NVERIFY, "NVERIFY", all_minors, looks_at_current, 0, "RFC 8881 18.15"),
    row<ops::open>(OP_OPEN, "OPEN", all_minors, changes_in_sequence, open_bytes, "RFC 8881 18.16"),
    unsupported(OP_OPENATTR, "OPENATTR", all_minors, on_current, "RFC 8881 18.17"),
    row<ops::open_confirm>(OP_OPEN_CONFIRM, "OPEN_CONFIRM", only_40, changes_in_sequence, stateid_bytes,
                           "RFC 7530 16.18"),
    row<ops::open_downgrade>(OP_OPEN_DOWNGRADE, "OPEN_DOWNGRADE", all_minors, changes_in_sequence,
                             stateid_bytes, "RFC 8881 18.18"),
    row<ops::putfh>(OP_PUTFH, "PUTFH", all_minors, none, 0, "RFC 8881 18.19"),
    row<ops::putpubfh>(OP_PUTPUBFH, "PUTPUBFH", all_minors, none, 0, "RFC 8881 18.20"),
    row<ops::putrootfh>(OP_PUTROOTFH, "PUTROOTFH", all_minors, none, 0, "RFC 8881 18.21"),
    row<ops::read>(OP_READ, "READ", all_minors, on_current, 0, "RFC 8881 18.22"),
    row<ops::readdir>(OP_READDIR, "READDIR", all_minors, on_current, 0, "RFC 8881 18.23"),
    row<ops::readlink>(OP_READLINK, "READLINK", all_minors, on_current, 0, "RFC 8881 18.24"),
    row<ops::remove>(OP_REMOVE, "REMOVE", all_minors, changes_current, cinfo_bytes, "RFC 8881 18.25"),
    row<ops::rename>(OP_RENAME, "RENAME", all_minors, changes_both, 2 * cinfo_bytes, "RFC 8881 18.26"),
    row<ops::renew>(OP_RENEW, "RENEW", only_40, none, 0, "RFC 7530 16.28"),
    row<ops::restorefh>(OP_RESTOREFH, "RESTOREFH", all_minors, none, 0, "RFC 8881 18.27"),
    row<ops::savefh>(OP_SAVEFH, "SAVEFH", all_minors, looks_at_current, 0, "RFC 8881 18.28"),
    row<ops::secinfo>(OP_SECINFO, "SECINFO", all_minors, on_current, 0, "RFC 8881 18.29"),
    row<ops::setattr>(OP_SETATTR, "SETATTR", all_minors, sets_attributes, bitmap_bytes_max, "RFC 8881 18.30"),
    row<ops::setclientid>(OP_SETCLIENTID, "SETCLIENTID", only_40, changes_state, 2 * (4 + NFS4_OPAQUE_LIMIT),
                          "RFC 7530 16.33"),
    row<ops::setclientid_confirm>(OP_SETCLIENTID_CONFIRM, "SETCLIENTID_CONFIRM", only_40, changes_state,
                                  status_only, "RFC 7530 16.34"),
    row<ops::verify>(OP_VERIFY, "VERIFY", all_minors, looks_at_current, 0, "RFC 8881 18.31"),
    row<ops::write>(OP_WRITE, "WRITE", all_minors, changes_current, WRITE4resok::encoded_bytes_max,
                    "RFC 8881 18.32"),
    row<ops::release_lockowner>(OP_RELEASE_LOCKOWNER, "RELEASE_LOCKOWNER", only_40, changes_state,
                                status_only, "RFC 7530 16.37"),
    row<ops::backchannel_ctl>(OP_BACKCHANNEL_CTL, "BACKCHANNEL_CTL", from_41, none, 0, "RFC 8881 18.33"),
    row<ops::bind_conn_to_session>(OP_BIND_CONN_TO_SESSION, "BIND_CONN_TO_SESSION", from_41, first, 0,
                                   "RFC 8881 18.34"),
    row<ops::exchange_id>(OP_EXCHANGE_ID, "EXCHANGE_ID", from_41, first, 0, "RFC 8881 18.35"),
    row<ops::create_session>(OP_CREATE_SESSION, "CREATE_SESSION", from_41, first_and_changes,
                             CREATE_SESSION4resok::encoded_bytes_max, "RFC 8881 18.36"),
    row<ops::destroy_session>(OP_DESTROY_SESSION, "DESTROY_SESSION", from_41, first_and_changes, status_only,
                              "RFC 8881 18.37"),
    row<ops::free_stateid>(OP_FREE_STATEID, "FREE_STATEID", from_41, changes_state, status_only,
                           "RFC 8881 18.38"),
    row<ops::get_dir_delegation>(OP_GET_DIR_DELEGATION, "GET_DIR_DELEGATION", from_41, changes_current,
                                 dir_delegation_bytes, "RFC 8881 18.39"),
    row<ops::getdeviceinfo>(OP_GETDEVICEINFO, "GETDEVICEINFO", from_41, none, 0, "RFC 8881 18.40"),
    row<ops::getdevicelist>(OP_GETDEVICELIST, "GETDEVICELIST", only_41, on_current, 0, "RFC 8881 18.41"),
    row<ops::layoutcommit>(OP_LAYOUTCOMMIT, "LAYOUTCOMMIT", from_41, on_current, 0, "RFC 8881 18.42"),
    row<ops::layoutget>(OP_LAYOUTGET, "LAYOUTGET", from_41, on_current, 0, "RFC 8881 18.43"),
    row<ops::layoutreturn>(OP_LAYOUTRETURN, "LAYOUTRETURN", from_41, on_current, 0, "RFC 8881 18.44"),
    row<ops::secinfo_no_name>(OP_SECINFO_NO_NAME, "SECINFO_NO_NAME", from_41, on_current, 0,
                              "RFC 8881 18.45"),
    row<ops::sequence>(OP_SEQUENCE, "SEQUENCE", from_41, first, 0, "RFC 8881 18.46"),
    row<ops::set_ssv>(OP_SET_SSV, "SET_SSV", from_41, none, 0, "RFC 8881 18.47"),
    row<ops::test_stateid>(OP_TEST_STATEID, "TEST_STATEID", from_41, none, 0, "RFC 8881 18.48"),
    unsupported(OP_WANT_DELEGATION, "WANT_DELEGATION", from_41, on_current, "RFC 8881 18.49"),
    row<ops::destroy_clientid>(OP_DESTROY_CLIENTID, "DESTROY_CLIENTID", from_41, first_and_changes,
                               status_only, "RFC 8881 18.50"),
    row<ops::reclaim_complete>(OP_RECLAIM_COMPLETE, "RECLAIM_COMPLETE", from_41, changes_state, status_only,
                               "RFC 8881 18.51"),
    row<ops::allocate>(OP_ALLOCATE, "ALLOCATE", from_42, changes_current, status_only, "RFC 7862 15.1"),
    row<ops::copy>(OP_COPY, "COPY", from_42, changes_both, COPY4resok::encoded_bytes_max, "RFC 7862 15.2"),
    unsupported(OP_COPY_NOTIFY, "COPY_NOTIFY", from_42, on_current, "RFC 7862 15.3"),
    row<ops::deallocate>(OP_DEALLOCATE, "DEALLOCATE", from_42, changes_current, status_only, "RFC 7862 15.4"),
    row<ops::io_advise>(OP_IO_ADVISE, "IO_ADVISE", from_42, on_current, 0, "RFC 7862 15.5"),
    row<ops::layouterror>(OP_LAYOUTERROR, "LAYOUTERROR", from_42, on_current, 0, "RFC 7862 15.6"),
    row<ops::layoutstats>(OP_LAYOUTSTATS, "LAYOUTSTATS", from_42, on_current, 0, "RFC 7862 15.7"),
    row<ops::offload_cancel>(OP_OFFLOAD_CANCEL, "OFFLOAD_CANCEL", from_42, changes_current, status_only,
                             "RFC 7862 15.8"),
    row<ops::offload_status>(OP_OFFLOAD_STATUS, "OFFLOAD_STATUS", from_42, on_current, 0, "RFC 7862 15.9"),
    row<ops::read_plus>(OP_READ_PLUS, "READ_PLUS", from_42, on_current, 0, "RFC 7862 15.10"),
    row<ops::seek>(OP_SEEK, "SEEK", from_42, on_current, 0, "RFC 7862 15.11"),
    unsupported(OP_WRITE_SAME, "WRITE_SAME", from_42, on_current, "RFC 7862 15.12"),
    row<ops::clone>(OP_CLONE, "CLONE", from_42, changes_both, status_only, "RFC 7862 15.13"),
    row<ops::getxattr>(OP_GETXATTR, "GETXATTR", from_42, on_current, 0, "RFC 8276 8.4.1"),
    row<ops::setxattr>(OP_SETXATTR, "SETXATTR", from_42, changes_current, cinfo_bytes, "RFC 8276 8.4.2"),
    row<ops::listxattrs>(OP_LISTXATTRS, "LISTXATTRS", from_42, on_current, 0, "RFC 8276 8.4.3"),
    row<ops::removexattr>(OP_REMOVEXATTR, "REMOVEXATTR", from_42, changes_current, cinfo_bytes,
                          "RFC 8276 8.4.4"),
});

constexpr bool complete(std::span<const Operation> rows) {
  constexpr auto first_number = static_cast<std::uint32_t>(OP_ACCESS);
  std::uint32_t number = first_number;
  return std::ranges::all_of(
             rows,
             [&](const Operation& row) { return static_cast<std::uint32_t>(row.number) == number++; }) &&
         number == OperationTable::numbers;
}
static_assert(complete(every_operation), "each number has one row, in order");

}  // namespace

OperationTable standard_operations() { return OperationTable(every_operation); }

}  // namespace braid::nfs4
