#include <algorithm>
#include <cstring>
#include <iterator>
#include <string_view>

#include "base/bytes.h"
#include "tests/fuzz/nfs4_state/registers.h"
#include "tests/unit/nfs4/support/request.h"

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

constexpr std::string_view names[] = {"file", "other", "large", "sub", "link",
                                      "new",  "newer", "",      "..",  "no/name"};
constexpr std::string_view owners[] = {"one", "two", "three", ""};
constexpr std::uint64_t offsets[] = {
    0, 1, 10, 4096, 65'536, 1U << 20, 0x7fff'ffff'ffff'fff0, ~std::uint64_t{0}};
constexpr std::uint64_t lengths[] = {1, 10, 100, 4096, ~std::uint64_t{0}, 0, ~std::uint64_t{0} - 1, 1U << 20};
constexpr std::uint32_t counts[] = {0, 1, 100, 4096, 70'000, 300'000, 0xffff'ffff};
constexpr std::uint32_t accesses[] = {1, 2, 3, 3, 0x101, 0x302, 0x403, 0x20003, 0x100003, 0};
constexpr std::uint32_t denies[] = {0, 0, 0, 1, 2, 3, 4};
constexpr std::uint32_t seqids[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 0xffff'ffff};

// Attributes whose values are words: up to three of them, with as many bytes as they take, or not.
struct Attributes {
  std::array<std::uint32_t, 3> mask{};
  fattr4 value;

  explicit Attributes(Bytes& bytes) {
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
};

base::BytesView owner_of(Bytes& bytes) { return base::bytes_of(bytes.of(owners)); }

io::Payload text(std::uint32_t bytes) {
  io::Payload out;
  io::SlabCursor cursor(test::test_slabs());
  while (out.size() < bytes) {
    const auto piece = std::min<std::size_t>(bytes - out.size(), 60'000);
    auto range = cursor.carve(piece);
    std::memset(range->writable().data(), 'x', piece);
    out.append(std::move(*range));
  }
  return out;
}

void add_open(Request& request, Bytes& bytes, const Registers& from) {
  OPEN4args args;
  const clientid4 client = from.client(bytes);
  const std::uint8_t how = bytes.byte();
  args.share_access = bytes.of(accesses);
  args.share_deny = bytes.of(denies);
  const std::uint8_t who = bytes.byte();
  args.owner = {.clientid = client, .owner = base::bytes_of(owners[who % std::size(owners)])};
  args.seqid = seqids[who / 8 % std::size(seqids)];
  const Attributes attributes(bytes);
  const verifier4 verifier{std::byte{static_cast<std::uint8_t>(how / 32)}};
  args.openhow = openflag4::with_default(opentype4::OPEN4_NOCREATE);
  switch (how & 7) {
    case 0:
      args.openhow =
          openflag4::with_how(createhow4::with_createattrs(createmode4::UNCHECKED4, attributes.value));
      break;
    case 1:
      args.openhow =
          openflag4::with_how(createhow4::with_createattrs(createmode4::GUARDED4, attributes.value));
      break;
    case 2:
      args.openhow = openflag4::with_how(createhow4::with_createverf(verifier));
      break;
    case 3:
      args.openhow = openflag4::with_how(createhow4::with_ch_createboth({verifier, attributes.value}));
      break;
    default:
      break;
  }
  const std::string_view name = bytes.of(names);
  switch (how / 8 % 8) {
    case 0:
      args.claim = open_claim4::with_CLAIM_FH();
      break;
    case 1:
      args.claim = open_claim4::with_delegate_type(open_delegation_type4::OPEN_DELEGATE_NONE);
      break;
    case 2:
      args.claim = open_claim4::with_delegate_type(open_delegation_type4::OPEN_DELEGATE_WRITE);
      break;
    case 3:
      args.claim = open_claim4::with_delegate_cur_info({from.states.at(who), name});
      break;
    case 4:
      args.claim = open_claim4::with_oc_delegate_stateid(from.states.at(who));
      break;
    default:
      args.claim = open_claim4::with_file(name);
      break;
  }
  request.add(OP_OPEN, args);
}

void add_lock(Request& request, Bytes& bytes, const Registers& from) {
  constexpr nfs_lock_type4 types[] = {nfs_lock_type4::READ_LT, nfs_lock_type4::WRITE_LT,
                                      nfs_lock_type4::READW_LT, nfs_lock_type4::WRITEW_LT};
  LOCK4args args;
  args.locktype = bytes.of(types);
  const stateid4 state = from.state(bytes);
  args.offset = bytes.of(offsets);
  args.length = bytes.of(lengths);
  const std::uint8_t how = bytes.byte();
  args.reclaim = (how & 0x40) != 0;
  const seqid4 seqid = bytes.of(seqids);
  if ((how & 1) != 0)
    args.locker = locker4::with_lock_owner({.lock_stateid = state, .lock_seqid = seqid});
  else
    args.locker = locker4::with_open_owner(
        {.open_seqid = seqid,
         .open_stateid = state,
         .lock_seqid = seqids[how / 4 % std::size(seqids)],
         .lock_owner = {.clientid = from.client(bytes), .owner = base::bytes_of(owners[how / 2 % 4])}});
  request.add(OP_LOCK, args);
}

// Ids, sessions and their connections.
bool add_client(Request& request, nfs_opnum4 operation, Bytes& bytes, const Registers& from) {
  constexpr channel_dir_from_client4 directions[] = {
      channel_dir_from_client4::CDFC4_FORE, channel_dir_from_client4::CDFC4_BACK,
      channel_dir_from_client4::CDFC4_FORE_OR_BOTH, channel_dir_from_client4::CDFC4_BACK_OR_BOTH};
  constexpr std::uint32_t exchange_flags[] = {0, 0, 0x4000'0000, 1, 0x100, 0x8000'0000};
  const std::array security{callback_sec_parms4::with_SECINFO_AUTH_NONE()};
  switch (operation) {
    case OP_SETCLIENTID: {
      SETCLIENTID4args args;
      args.client.id = owner_of(bytes);
      args.client.verifier = {std::byte{static_cast<std::uint8_t>(bytes.byte() % 3)}};
      request.add(operation, args);
      return true;
    }
    case OP_SETCLIENTID_CONFIRM: {
      const std::uint8_t which = bytes.byte();
      request.add(operation, SETCLIENTID_CONFIRM4args{from.client(bytes), from.clients.at(which).confirm});
      return true;
    }
    case OP_EXCHANGE_ID: {
      EXCHANGE_ID4args args;
      args.eia_clientowner.co_ownerid = owner_of(bytes);
      args.eia_clientowner.co_verifier = {std::byte{static_cast<std::uint8_t>(bytes.byte() % 3)}};
      args.eia_flags = bytes.of(exchange_flags);
      request.add(operation, args);
      return true;
    }
    case OP_CREATE_SESSION: {
      CREATE_SESSION4args args;
      const std::uint8_t which = bytes.byte();
      args.csa_clientid = which < 0xf0 ? from.clients.at(which).id : which;
      args.csa_sequence = from.clients.at(which).sequence + bytes.byte() % 4;
      args.csa_flags = bytes.byte() & 7U;
      args.csa_fore_chan_attrs = {.ca_headerpadsize = 0,
                                  .ca_maxrequestsize = 1U << (bytes.byte() % 24),
                                  .ca_maxresponsesize = 1U << (bytes.byte() % 24),
                                  .ca_maxresponsesize_cached = 1U << (bytes.byte() % 16),
                                  .ca_maxoperations = 40,
                                  .ca_maxrequests = 1U + bytes.byte() % 8,
                                  .ca_rdma_ird = {}};
      if ((args.csa_flags & 4U) == 0) {  // most are of use
        args.csa_fore_chan_attrs.ca_maxrequestsize = args.csa_fore_chan_attrs.ca_maxresponsesize = 1U << 20;
        args.csa_fore_chan_attrs.ca_maxresponsesize_cached = 4096;
        args.csa_fore_chan_attrs.ca_maxrequests = 8;
      }
      args.csa_back_chan_attrs = args.csa_fore_chan_attrs;
      args.csa_sec_parms = security;
      request.add(operation, args);
      return true;
    }
    case OP_SEQUENCE: {
      SEQUENCE4args args;
      args.sa_sessionid = from.sessions.at(bytes.byte());
      args.sa_sequenceid = bytes.byte() % 8;
      args.sa_slotid = bytes.byte() % 9;
      args.sa_highest_slotid = bytes.byte() % 16;
      args.sa_cachethis = bytes.flag();
      request.add(operation, args);
      return true;
    }
    case OP_RENEW:
      request.add(operation, RENEW4args{from.client(bytes)});
      return true;
    case OP_DELEGPURGE:
      request.add(operation, DELEGPURGE4args{from.client(bytes)});
      return true;
    case OP_RELEASE_LOCKOWNER: {
      const clientid4 client = from.client(bytes);
      request.add(operation, RELEASE_LOCKOWNER4args{{client, owner_of(bytes)}});
      return true;
    }
    case OP_DESTROY_SESSION:
      request.add(operation, DESTROY_SESSION4args{from.sessions.at(bytes.byte())});
      return true;
    case OP_DESTROY_CLIENTID:
      request.add(operation, DESTROY_CLIENTID4args{from.client(bytes)});
      return true;
    case OP_RECLAIM_COMPLETE:
      request.add(operation, RECLAIM_COMPLETE4args{bytes.flag()});
      return true;
    case OP_BIND_CONN_TO_SESSION: {
      const std::uint8_t which = bytes.byte();
      request.add(operation,
                  BIND_CONN_TO_SESSION4args{from.sessions.at(which), bytes.of(directions), bytes.flag()});
      return true;
    }
    case OP_BACKCHANNEL_CTL:
      request.add(operation, BACKCHANNEL_CTL4args{bytes.byte(), security});
      return true;
    case OP_SET_SSV:
      request.add(operation, SET_SSV4args{});
      return true;
    default:
      return false;
  }
}

// Opens, locks and delegations.
bool add_state(Request& request, nfs_opnum4 operation, Bytes& bytes, const Registers& from) {
  switch (operation) {
    case OP_OPEN:
      add_open(request, bytes, from);
      return true;
    case OP_LOCK:
      add_lock(request, bytes, from);
      return true;
    case OP_CLOSE: {
      const stateid4 state = from.state(bytes);
      request.add(operation, CLOSE4args{bytes.of(seqids), state});
      return true;
    }
    case OP_OPEN_CONFIRM: {
      const stateid4 state = from.state(bytes);
      request.add(operation, OPEN_CONFIRM4args{state, bytes.of(seqids)});
      return true;
    }
    case OP_OPEN_DOWNGRADE: {
      OPEN_DOWNGRADE4args args;
      args.open_stateid = from.state(bytes);
      args.seqid = bytes.of(seqids);
      args.share_access = bytes.of(accesses);
      args.share_deny = bytes.of(denies);
      request.add(operation, args);
      return true;
    }
    case OP_LOCKU: {
      LOCKU4args args;
      args.locktype = nfs_lock_type4::WRITE_LT;
      args.lock_stateid = from.state(bytes);
      args.seqid = bytes.of(seqids);
      args.offset = bytes.of(offsets);
      args.length = bytes.of(lengths);
      request.add(operation, args);
      return true;
    }
    case OP_LOCKT: {
      LOCKT4args args;
      args.locktype = bytes.flag() ? nfs_lock_type4::READ_LT : nfs_lock_type4::WRITE_LT;
      const clientid4 client = from.client(bytes);
      args.owner = {client, owner_of(bytes)};
      args.offset = bytes.of(offsets);
      args.length = bytes.of(lengths);
      request.add(operation, args);
      return true;
    }
    case OP_FREE_STATEID:
      request.add(operation, FREE_STATEID4args{from.state(bytes)});
      return true;
    case OP_TEST_STATEID: {
      const std::array states{from.state(bytes), from.state(bytes), from.state(bytes)};
      request.add(operation, TEST_STATEID4args{states});
      return true;
    }
    case OP_DELEGRETURN:
      request.add(operation, DELEGRETURN4args{from.state(bytes)});
      return true;
    case OP_GET_DIR_DELEGATION: {
      static constexpr std::array<std::uint32_t, 1> types{0x3f};
      GET_DIR_DELEGATION4args args;
      args.gdda_notification_types = types;
      request.add(operation, args);
      return true;
    }
    case OP_WANT_DELEGATION:
      request.add(operation, WANT_DELEGATION4args{bytes.byte(), deleg_claim4::with_CLAIM_FH()});
      return true;
    default:
      return false;
  }
}

// Data, and what copies it.
bool add_data(Request& request, nfs_opnum4 operation, Bytes& bytes, const Registers& from) {
  switch (operation) {
    case OP_READ: {
      const stateid4 state = from.state(bytes);
      const offset4 offset = bytes.of(offsets);
      request.add(operation, READ4args{state, offset, bytes.of(counts)});
      return true;
    }
    case OP_READ_PLUS: {
      const stateid4 state = from.state(bytes);
      const offset4 offset = bytes.of(offsets);
      request.add(operation, READ_PLUS4args{state, offset, bytes.of(counts)});
      return true;
    }
    case OP_WRITE: {
      constexpr std::uint32_t sizes[] = {0, 1, 100, 5000, 100'000};
      constexpr offset4 places[] = {0, 1, 4096, 1U << 20, ~std::uint64_t{0} - 3};
      WRITE4args args;
      args.stateid = from.state(bytes);
      args.offset = bytes.of(places);
      args.stable = static_cast<stable_how4>(bytes.byte() % 3);
      args.data = text(bytes.of(sizes));
      request.add(operation, args);
      return true;
    }
    case OP_COMMIT:
      request.add(operation, COMMIT4args{bytes.of(offsets), bytes.of(counts)});
      return true;
    case OP_COPY: {
      COPY4args args;
      args.ca_src_stateid = from.state(bytes);
      args.ca_dst_stateid = from.state(bytes);
      args.ca_count = bytes.of(lengths);
      args.ca_synchronous = bytes.flag();
      args.ca_consecutive = true;
      args.ca_dst_offset = bytes.of(offsets);
      request.add(operation, args);
      return true;
    }
    case OP_CLONE: {
      CLONE4args args;
      args.cl_src_stateid = from.state(bytes);
      args.cl_dst_stateid = from.state(bytes);
      args.cl_count = bytes.of(lengths);
      args.cl_dst_offset = bytes.of(offsets);
      request.add(operation, args);
      return true;
    }
    case OP_COPY_NOTIFY:
      request.add(operation, COPY_NOTIFY4args{from.state(bytes), netloc4::with_nl_name("host")});
      return true;
    case OP_OFFLOAD_STATUS:
      request.add(operation, OFFLOAD_STATUS4args{from.state(bytes)});
      return true;
    case OP_OFFLOAD_CANCEL:
      request.add(operation, OFFLOAD_CANCEL4args{from.state(bytes)});
      return true;
    case OP_ALLOCATE: {
      const stateid4 state = from.state(bytes);
      const offset4 offset = bytes.of(offsets);
      // What a file system has room for; it would be filled otherwise.
      request.add(operation, ALLOCATE4args{state, offset, lengths[bytes.byte() % 4]});
      return true;
    }
    case OP_DEALLOCATE: {
      const stateid4 state = from.state(bytes);
      const offset4 offset = bytes.of(offsets);
      request.add(operation, DEALLOCATE4args{state, offset, bytes.of(lengths)});
      return true;
    }
    case OP_SEEK: {
      const stateid4 state = from.state(bytes);
      const offset4 offset = bytes.of(offsets);
      request.add(operation, SEEK4args{state, offset,
                                       bytes.flag() ? data_content4::NFS4_CONTENT_DATA
                                                    : data_content4::NFS4_CONTENT_HOLE});
      return true;
    }
    case OP_IO_ADVISE: {
      static constexpr std::array<std::uint32_t, 1> hints{0xff};
      request.add(operation, IO_ADVISE4args{from.state(bytes), 0, 100, hints});
      return true;
    }
    default:
      return false;
  }
}

// Filehandles and names.
bool add_name(Request& request, nfs_opnum4 operation, Bytes& bytes, const Registers& from) {
  switch (operation) {
    case OP_PUTFH: {
      const std::string handle = from.handle(bytes);
      request.add(operation, PUTFH4args{base::bytes_of(handle)});
      return true;
    }
    case OP_LOOKUP:
      request.add(operation, LOOKUP4args{bytes.of(names)});
      return true;
    case OP_SECINFO:
      request.add(operation, SECINFO4args{bytes.of(names)});
      return true;
    case OP_SECINFO_NO_NAME:
      request.add(operation, SECINFO_NO_NAME4args{bytes.flag() ? secinfo_style4::SECINFO_STYLE4_PARENT
                                                               : secinfo_style4::SECINFO_STYLE4_CURRENT_FH});
      return true;
    case OP_REMOVE:
      request.add(operation, REMOVE4args{bytes.of(names)});
      return true;
    case OP_LINK:
      request.add(operation, LINK4args{bytes.of(names)});
      return true;
    case OP_RENAME: {
      const std::string_view old = bytes.of(names);
      request.add(operation, RENAME4args{old, bytes.of(names)});
      return true;
    }
    case OP_CREATE: {
      constexpr nfs_ftype4 types[] = {nfs_ftype4::NF4LNK, nfs_ftype4::NF4DIR, nfs_ftype4::NF4SOCK,
                                      nfs_ftype4::NF4FIFO};
      CREATE4args args;
      args.objname = bytes.of(names);
      const Attributes attributes(bytes);
      args.createattrs = attributes.value;
      const nfs_ftype4 type = bytes.of(types);
      args.objtype = type == nfs_ftype4::NF4LNK ? createtype4::with_linkdata(bytes.of(names))
                                                : createtype4::with_NF4SOCK(type);
      request.add(operation, args);
      return true;
    }
    case OP_READDIR: {
      static constexpr std::array<std::uint32_t, 2> wanted{0x0018'0b9a, 0x0030'a03a};
      READDIR4args args;
      args.cookie = bytes.byte() % 16;
      args.cookieverf = args.cookie == 0 ? verifier4{} : from.verifiers.at(bytes.byte());
      args.dircount = bytes.of(counts);
      args.maxcount = bytes.of(counts);
      args.attr_request = wanted;
      request.add(operation, args);
      return true;
    }
    default:
      return false;
  }
}

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
    case OP_SETATTR: {
      const stateid4 state = from.state(bytes);
      const Attributes attributes(bytes);
      request.add(operation, SETATTR4args{state, attributes.value});
      return;
    }
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

void add_operation(Request& request, const Step& step, const Registers& registers) {
  Bytes bytes(step);
  const nfs_opnum4 operation = operations[step.number % std::size(operations)];
  if (add_client(request, operation, bytes, registers)) return;
  if (add_state(request, operation, bytes, registers)) return;
  if (add_data(request, operation, bytes, registers)) return;
  if (add_name(request, operation, bytes, registers)) return;
  add_attribute(request, operation, bytes, registers);
}

}  // namespace braid::nfs4::fuzz
