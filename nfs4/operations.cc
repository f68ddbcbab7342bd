#include "nfs4/operations.h"

#include <array>
#include <span>

#include "nfs4/ops/operations.h"

namespace braid::nfs4 {
namespace {

using enum nfs_opnum4;

constexpr OperationFlags on_current{.needs_current = true};
constexpr OperationFlags looks_at_current{.needs_current = true, .looks = true};
constexpr OperationFlags changes_current{.needs_current = true, .changes = true};
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

constexpr auto every_operation = std::to_array<Operation>({
    {OP_ACCESS, "ACCESS", all_minors, nullptr, looks_at_current, 0, "RFC 8881 18.1"},
    {OP_CLOSE, "CLOSE", all_minors, nullptr, changes_current, stateid_bytes, "RFC 8881 18.2"},
    {OP_COMMIT, "COMMIT", all_minors, nullptr, on_current, 0, "RFC 8881 18.3"},
    {OP_CREATE, "CREATE", all_minors, nullptr, changes_current, cinfo_bytes + bitmap_bytes_max,
     "RFC 8881 18.4"},
    {OP_DELEGPURGE, "DELEGPURGE", all_minors, nullptr, changes_state, status_only, "RFC 8881 18.5"},
    {OP_DELEGRETURN, "DELEGRETURN", all_minors, nullptr, changes_current, status_only, "RFC 8881 18.6"},
    {OP_GETATTR, "GETATTR", all_minors, nullptr, looks_at_current, 0, "RFC 8881 18.7"},
    {OP_GETFH, "GETFH", all_minors, nullptr, looks_at_current, 0, "RFC 8881 18.8"},
    {OP_LINK, "LINK", all_minors, nullptr, changes_both, cinfo_bytes, "RFC 8881 18.9"},
    {OP_LOCK, "LOCK", all_minors, nullptr, changes_current, denied_bytes, "RFC 8881 18.10"},
    {OP_LOCKT, "LOCKT", all_minors, nullptr, on_current, 0, "RFC 8881 18.11"},
    {OP_LOCKU, "LOCKU", all_minors, nullptr, changes_current, stateid_bytes, "RFC 8881 18.12"},
    {OP_LOOKUP, "LOOKUP", all_minors, nullptr, on_current, 0, "RFC 8881 18.13"},
    {OP_LOOKUPP, "LOOKUPP", all_minors, nullptr, on_current, 0, "RFC 8881 18.14"},
    {OP_NVERIFY, "NVERIFY", all_minors, nullptr, looks_at_current, 0, "RFC 8881 18.15"},
    {OP_OPEN, "OPEN", all_minors, nullptr, changes_current, open_bytes, "RFC 8881 18.16"},
    {OP_OPENATTR, "OPENATTR", all_minors, nullptr, on_current, 0, "RFC 8881 18.17"},
    {OP_OPEN_CONFIRM, "OPEN_CONFIRM", only_40, nullptr, changes_current, stateid_bytes, "RFC 7530 16.18"},
    {OP_OPEN_DOWNGRADE, "OPEN_DOWNGRADE", all_minors, nullptr, changes_current, stateid_bytes,
     "RFC 8881 18.18"},
    {OP_PUTFH, "PUTFH", all_minors, nullptr, none, 0, "RFC 8881 18.19"},
    {OP_PUTPUBFH, "PUTPUBFH", all_minors, nullptr, none, 0, "RFC 8881 18.20"},
    {OP_PUTROOTFH, "PUTROOTFH", all_minors, nullptr, none, 0, "RFC 8881 18.21"},
    {OP_READ, "READ", all_minors, nullptr, on_current, 0, "RFC 8881 18.22"},
    {OP_READDIR, "READDIR", all_minors, nullptr, on_current, 0, "RFC 8881 18.23"},
    {OP_READLINK, "READLINK", all_minors, nullptr, on_current, 0, "RFC 8881 18.24"},
    {OP_REMOVE, "REMOVE", all_minors, nullptr, changes_current, cinfo_bytes, "RFC 8881 18.25"},
    {OP_RENAME, "RENAME", all_minors, nullptr, changes_both, 2 * cinfo_bytes, "RFC 8881 18.26"},
    {OP_RENEW, "RENEW", only_40, nullptr, none, 0, "RFC 7530 16.28"},
    {OP_RESTOREFH, "RESTOREFH", all_minors, nullptr, none, 0, "RFC 8881 18.27"},
    {OP_SAVEFH, "SAVEFH", all_minors, nullptr, looks_at_current, 0, "RFC 8881 18.28"},
    {OP_SECINFO, "SECINFO", all_minors, nullptr, on_current, 0, "RFC 8881 18.29"},
    {OP_SETATTR, "SETATTR", all_minors, nullptr, changes_current, bitmap_bytes_max, "RFC 8881 18.30"},
    {OP_SETCLIENTID, "SETCLIENTID", only_40, nullptr, changes_state, 2 * (4 + NFS4_OPAQUE_LIMIT),
     "RFC 7530 16.33"},
    {OP_SETCLIENTID_CONFIRM, "SETCLIENTID_CONFIRM", only_40, nullptr, changes_state, status_only,
     "RFC 7530 16.34"},
    {OP_VERIFY, "VERIFY", all_minors, nullptr, looks_at_current, 0, "RFC 8881 18.31"},
    {OP_WRITE, "WRITE", all_minors, nullptr, changes_current, WRITE4resok::encoded_bytes_max,
     "RFC 8881 18.32"},
    {OP_RELEASE_LOCKOWNER, "RELEASE_LOCKOWNER", only_40, nullptr, changes_state, status_only,
     "RFC 7530 16.37"},
    {OP_BACKCHANNEL_CTL, "BACKCHANNEL_CTL", from_41, nullptr, none, 0, "RFC 8881 18.33"},
    {OP_BIND_CONN_TO_SESSION, "BIND_CONN_TO_SESSION", from_41, nullptr, first, 0, "RFC 8881 18.34"},
    {OP_EXCHANGE_ID, "EXCHANGE_ID", from_41, nullptr, first, 0, "RFC 8881 18.35"},
    {OP_CREATE_SESSION, "CREATE_SESSION", from_41, nullptr, first_and_changes,
     CREATE_SESSION4resok::encoded_bytes_max, "RFC 8881 18.36"},
    {OP_DESTROY_SESSION, "DESTROY_SESSION", from_41, nullptr, first_and_changes, status_only,
     "RFC 8881 18.37"},
    {OP_FREE_STATEID, "FREE_STATEID", from_41, nullptr, changes_state, status_only, "RFC 8881 18.38"},
    {OP_GET_DIR_DELEGATION, "GET_DIR_DELEGATION", from_41, nullptr, changes_current, dir_delegation_bytes,
     "RFC 8881 18.39"},
    {OP_GETDEVICEINFO, "GETDEVICEINFO", from_41, nullptr, none, 0, "RFC 8881 18.40"},
    {OP_GETDEVICELIST, "GETDEVICELIST", only_41, nullptr, on_current, 0, "RFC 8881 18.41"},
    {OP_LAYOUTCOMMIT, "LAYOUTCOMMIT", from_41, nullptr, on_current, 0, "RFC 8881 18.42"},
    {OP_LAYOUTGET, "LAYOUTGET", from_41, nullptr, on_current, 0, "RFC 8881 18.43"},
    {OP_LAYOUTRETURN, "LAYOUTRETURN", from_41, nullptr, on_current, 0, "RFC 8881 18.44"},
    {OP_SECINFO_NO_NAME, "SECINFO_NO_NAME", from_41, nullptr, on_current, 0, "RFC 8881 18.45"},
    {OP_SEQUENCE, "SEQUENCE", from_41, nullptr, first, 0, "RFC 8881 18.46"},
    {OP_SET_SSV, "SET_SSV", from_41, nullptr, none, 0, "RFC 8881 18.47"},
    {OP_TEST_STATEID, "TEST_STATEID", from_41, nullptr, none, 0, "RFC 8881 18.48"},
    {OP_WANT_DELEGATION, "WANT_DELEGATION", from_41, nullptr, on_current, 0, "RFC 8881 18.49"},
    {OP_DESTROY_CLIENTID, "DESTROY_CLIENTID", from_41, nullptr, first_and_changes, status_only,
     "RFC 8881 18.50"},
    {OP_RECLAIM_COMPLETE, "RECLAIM_COMPLETE", from_41, nullptr, changes_state, status_only, "RFC 8881 18.51"},
    {OP_ALLOCATE, "ALLOCATE", from_42, nullptr, changes_current, status_only, "RFC 7862 15.1"},
    {OP_COPY, "COPY", from_42, nullptr, changes_both, COPY4resok::encoded_bytes_max, "RFC 7862 15.2"},
    {OP_COPY_NOTIFY, "COPY_NOTIFY", from_42, nullptr, on_current, 0, "RFC 7862 15.3"},
    {OP_DEALLOCATE, "DEALLOCATE", from_42, nullptr, changes_current, status_only, "RFC 7862 15.4"},
    {OP_IO_ADVISE, "IO_ADVISE", from_42, nullptr, on_current, 0, "RFC 7862 15.5"},
    {OP_LAYOUTERROR, "LAYOUTERROR", from_42, nullptr, on_current, 0, "RFC 7862 15.6"},
    {OP_LAYOUTSTATS, "LAYOUTSTATS", from_42, nullptr, on_current, 0, "RFC 7862 15.7"},
    {OP_OFFLOAD_CANCEL, "OFFLOAD_CANCEL", from_42, nullptr, changes_current, status_only, "RFC 7862 15.8"},
    {OP_OFFLOAD_STATUS, "OFFLOAD_STATUS", from_42, nullptr, on_current, 0, "RFC 7862 15.9"},
    {OP_READ_PLUS, "READ_PLUS", from_42, nullptr, on_current, 0, "RFC 7862 15.10"},
    {OP_SEEK, "SEEK", from_42, nullptr, on_current, 0, "RFC 7862 15.11"},
    {OP_WRITE_SAME, "WRITE_SAME", from_42, nullptr, on_current, 0, "RFC 7862 15.12"},
    {OP_CLONE, "CLONE", from_42, nullptr, changes_both, status_only, "RFC 7862 15.13"},
    {OP_GETXATTR, "GETXATTR", from_42, nullptr, on_current, 0, "RFC 8276 8.4.1"},
    {OP_SETXATTR, "SETXATTR", from_42, nullptr, changes_current, cinfo_bytes, "RFC 8276 8.4.2"},
    {OP_LISTXATTRS, "LISTXATTRS", from_42, nullptr, on_current, 0, "RFC 8276 8.4.3"},
    {OP_REMOVEXATTR, "REMOVEXATTR", from_42, nullptr, changes_current, cinfo_bytes, "RFC 8276 8.4.4"},
});

}  // namespace

OperationTable standard_operations() {
  OperationTable table(every_operation);
  for (const auto bindings : {ops::file_operations(), ops::attribute_operations(), ops::client_operations(),
                              ops::open_operations(), ops::extended_operations()}) {
    for (const Binding& binding : bindings) table.bind(binding.number, binding.handler);
  }
  return table;
}

}  // namespace braid::nfs4
