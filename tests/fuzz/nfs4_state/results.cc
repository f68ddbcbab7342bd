#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

#include "base/bytes.h"
#include "tests/fuzz/nfs4_reply.h"
#include "tests/fuzz/nfs4_state/registers.h"
#include "xdr/arena.h"
#include "xdr/decoder.h"

namespace braid::nfs4::fuzz {
namespace {

using enum nfs_opnum4;

void keep(const GETFH4res& result, Registers& to) {
  if (const auto* ok = result.resok4()) to.handles.keep(std::string(base::text_of(ok->object)));
}
void keep(const OPEN4res& result, Registers& to) {
  const auto* ok = result.resok4();
  if (ok == nullptr) return;
  to.states.keep(ok->stateid);
  if (const auto* read = ok->delegation.read()) to.states.keep(read->stateid);
  if (const auto* write = ok->delegation.write()) to.states.keep(write->stateid);
}
void keep(const OPEN_CONFIRM4res& result, Registers& to) {
  if (const auto* ok = result.resok4()) to.states.keep(ok->open_stateid);
}
void keep(const OPEN_DOWNGRADE4res& result, Registers& to) {
  if (const auto* ok = result.resok4()) to.states.keep(ok->open_stateid);
}
void keep(const LOCK4res& result, Registers& to) {
  if (const auto* ok = result.resok4()) to.states.keep(ok->lock_stateid);
}
void keep(const LOCKU4res& result, Registers& to) {
  if (const auto* id = result.lock_stateid()) to.states.keep(*id);
}
void keep(const GET_DIR_DELEGATION4res& result, Registers& to) {
  const auto* answer = result.gddr_res_non_fatal4();
  if (answer == nullptr) return;
  if (const auto* ok = answer->gddrnf_resok4()) to.states.keep(ok->gddr_stateid);
}
void keep(const COPY4res& result, Registers& to) {
  const auto* ok = result.cr_resok4();
  if (ok == nullptr) return;
  for (const stateid4& id : ok->cr_response.wr_callback_id) to.states.keep(id);
}
void keep(const SETCLIENTID4res& result, Registers& to) {
  if (const auto* ok = result.resok4())
    to.clients.keep({.id = ok->clientid, .sequence = 0, .confirm = ok->setclientid_confirm});
}
void keep(const EXCHANGE_ID4res& result, Registers& to) {
  if (const auto* ok = result.eir_resok4())
    to.clients.keep({.id = ok->eir_clientid, .sequence = ok->eir_sequenceid, .confirm = {}});
}
void keep(const CREATE_SESSION4res& result, Registers& to) {
  if (const auto* ok = result.csr_resok4()) to.sessions.keep(ok->csr_sessionid);
}
void keep(const READDIR4res& result, Registers& to) {
  const auto* ok = result.resok4();
  if (ok == nullptr) return;
  to.verifiers.keep(ok->cookieverf);
}

template <class Res>
bool read(xdr::Decoder& in, Registers& to) {
  Res result;
  if (!decode(in, result)) return false;
  keep(result, to);
  return true;
}

bool read_result(xdr::Decoder& in, std::uint32_t operation, Registers& to) {
  switch (static_cast<nfs_opnum4>(operation)) {
    case OP_GETFH:
      return read<GETFH4res>(in, to);
    case OP_OPEN:
      return read<OPEN4res>(in, to);
    case OP_OPEN_CONFIRM:
      return read<OPEN_CONFIRM4res>(in, to);
    case OP_OPEN_DOWNGRADE:
      return read<OPEN_DOWNGRADE4res>(in, to);
    case OP_LOCK:
      return read<LOCK4res>(in, to);
    case OP_LOCKU:
      return read<LOCKU4res>(in, to);
    case OP_GET_DIR_DELEGATION:
      return read<GET_DIR_DELEGATION4res>(in, to);
    case OP_COPY:
      return read<COPY4res>(in, to);
    case OP_SETCLIENTID:
      return read<SETCLIENTID4res>(in, to);
    case OP_EXCHANGE_ID:
      return read<EXCHANGE_ID4res>(in, to);
    case OP_CREATE_SESSION:
      return read<CREATE_SESSION4res>(in, to);
    case OP_READDIR:
      return read<READDIR4res>(in, to);
    default:
      return result_decodes(in, operation);
  }
}

}  // namespace

void keep_results(const io::Payload& reply, Registers& registers) {
  static const bool traced = std::getenv("BRAID_FUZZ_TRACE") != nullptr;
  xdr::Arena arena;
  xdr::Decoder in(reply, arena);
  COMPOUND4res head;
  if (!decode(in, head)) return;
  if (traced) fmt::print(stderr, "{}", name_of(head.status));
  for (std::uint32_t i = 0; i < head.resarray_count; ++i) {
    std::uint32_t operation = 0;
    if (!in.u32(operation) || !read_result(in, operation, registers)) return;
    if (traced) fmt::print(stderr, " {}", name_of(static_cast<nfs_opnum4>(operation)));
  }
  if (traced) fmt::print(stderr, "\n");
}

}  // namespace braid::nfs4::fuzz
