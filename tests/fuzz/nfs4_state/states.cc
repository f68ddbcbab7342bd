#include <iterator>
#include <utility>

#include "tests/fuzz/nfs4_state/arguments.h"

namespace braid::nfs4::fuzz {

using enum nfs_opnum4;
using test::Request;

namespace {

openflag4 created(std::uint8_t how, const fattr4& attributes) {
  const verifier4 verifier{std::byte{static_cast<std::uint8_t>(how / 32)}};
  switch (how & 7) {
    case 0:
      return openflag4::with_how(createhow4::with_createattrs(createmode4::UNCHECKED4, attributes));
    case 1:
      return openflag4::with_how(createhow4::with_createattrs(createmode4::GUARDED4, attributes));
    case 2:
      return openflag4::with_how(createhow4::with_createverf(verifier));
    case 3:
      return openflag4::with_how(createhow4::with_ch_createboth({verifier, attributes}));
    default:
      return openflag4::with_default(opentype4::OPEN4_NOCREATE);
  }
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
  args.openhow = created(how, attributes.value);
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

}  // namespace

// Opens, locks and delegations.
bool add_state(Request& request, nfs_opnum4 operation, Bytes& bytes, const Registers& from) {
  switch (operation) {
    case OP_OPEN:
      add_open(request, bytes, from);
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
    default:
      return false;
  }
}

bool add_lock_state(Request& request, nfs_opnum4 operation, Bytes& bytes, const Registers& from) {
  switch (operation) {
    case OP_LOCK:
      add_lock(request, bytes, from);
      return true;
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

}  // namespace braid::nfs4::fuzz
