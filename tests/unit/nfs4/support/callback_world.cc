#include "tests/unit/nfs4/support/callback_world.h"

#include <array>
#include <chrono>
#include <optional>
#include <utility>

namespace braid::nfs4::test {

CallbackWorld::CallbackWorld(EngineOptions options, const std::vector<ExportSpec>& exports,
                             Capability capability)
    : World(std::move(options), exports, std::move(capability)) {
  begin();
}

CallbackWorld::~CallbackWorld() {
  end();
  until([this] {
    bool alone = false;
    on_reactor([&] { alone = worker_->sessions() == 0; });
    return alone;
  });
  on_reactor([this] {
    worker_.reset();
    tcp_.reset();
  });
}

void CallbackWorld::begin() {
  on_reactor([this] {
    if (!tcp_)
      tcp_ = std::make_unique<rpc::TcpWorker>(reactor(), slabs(), nullptr, rpc::TcpOptions{}, tcp_metrics_);
    if (!worker_) worker_ = std::make_unique<rpc::ServerWorker>(server_, reactor(), slabs());
    engine().start(reactor(), *tcp_);
  });
}

// Calls that wait for an answer, or for another attempt, do so by the world's clock.
void CallbackWorld::end() {
  std::optional<io::Op<>> closing;
  on_reactor([&] {
    closing.emplace(engine().close());
    closing->start({});
  });
  until([&] {
    advance(std::chrono::seconds(1));
    bool done = false;
    on_reactor([&] { done = closing->done(); });
    return done;
  });
}

void CallbackWorld::restart() {
  end();
  World::restart();
  begin();
}

CallbackPeer::CallbackPeer(CallbackWorld& world) : world_(world) {
  world_.on_reactor([this] {
    pair_ = std::make_unique<rpc::MemoryPair>(rpc::PeerAddress{}, rpc::PeerAddress{}, world_.clock());
    pair_->set_client_receiver(*this);
    session_ = &static_cast<rpc::Session&>(world_.worker_->on_connected(pair_->server_end()));
    pair_->set_server_receiver(*session_);
  });
}

CallbackPeer::~CallbackPeer() {
  world_.on_reactor([this] { pair_->client_end().close(); });
  CallbackWorld::until([this] {
    bool ended = false;
    world_.on_reactor([&] { ended = pair_->ended(); });
    return ended;
  });
  world_.on_reactor([this] { pair_.reset(); });
}

std::vector<CallbackPeer::Call> CallbackPeer::calls() {
  std::vector<Call> out;
  world_.on_reactor([&] { out = calls_; });
  return out;
}

CallbackPeer::Call CallbackPeer::await(nfs_cb_opnum4 op, std::size_t number) {
  std::optional<Call> found;
  CallbackWorld::until([&] {
    std::size_t count = 0;
    for (const Call& call : calls())
      if (call.op == op && ++count == number) found = call;
    return found.has_value();
  });
  return *found;
}

// With AUTH_NONE the header of a call is 40 bytes.
void CallbackPeer::on_message(rpc::Connection& connection, io::Payload message, base::TimePoint /*arrived*/) {
  xdr::Arena arena;
  xdr::Decoder header(message, arena);
  std::uint32_t xid = 0;
  EXPECT_TRUE(header.u32(xid));
  xdr::Decoder in(message, arena, 40);
  CB_COMPOUND4args head;
  nfs_cb_opnum4 op{};
  CB_SEQUENCE4args sequence;
  Call call;
  EXPECT_TRUE(decode(in, head) && decode(in, op) && decode(in, sequence));
  EXPECT_TRUE(head.argarray_count == 1 || decode(in, call.op));
  for (const referring_call_list4& list : sequence.csa_referring_call_lists)
    for (const referring_call4& one : list.rcl_referring_calls)
      call.referring.push_back(
          {.session = list.rcl_sessionid, .slot = one.rc_slotid, .sequence = one.rc_sequenceid});
  call.args.resize(message.size() - in.position());
  message.in_memory().value().copy_to(in.position(), call.args);
  CB_RECALL4args recall;
  CB_RECALL_ANY4args any;
  CB_GETATTR4args getattr;
  if (call.op == nfs_cb_opnum4::OP_CB_RECALL && decode(in, recall)) call.id = recall.stateid;
  if (call.op == nfs_cb_opnum4::OP_CB_RECALL_ANY && decode(in, any)) call.keep = any.craa_objects_to_keep;
  if (call.op == nfs_cb_opnum4::OP_CB_GETATTR && decode(in, getattr))
    call.attributes = getattr.attr_request.size();
  calls_.push_back(call);
  if (silent) return;
  io::SlabCursor cursor(test_slabs());
  xdr::Encoder out(cursor);
  for (const std::uint32_t word : {xid, 1U, 0U, 0U, 0U, 0U}) out.u32(word);
  answer(out, sequence, call);
  connection.send(out.finish());
}

void CallbackPeer::answer(xdr::Encoder& out, const CB_SEQUENCE4args& sequence, const Call& call) const {
  const nfsstat4 answered = status;
  const bool alone = call.op == nfs_cb_opnum4::OP_CB_SEQUENCE;
  encode(out, CB_COMPOUND4res{.status = answered, .tag = {}, .resarray_count = alone ? 1U : 2U});
  encode(out, nfs_cb_opnum4::OP_CB_SEQUENCE);
  encode(out, CB_SEQUENCE4res::with_csr_resok4({.csr_sessionid = sequence.csa_sessionid,
                                                .csr_sequenceid = sequence.csa_sequenceid,
                                                .csr_slotid = sequence.csa_slotid,
                                                .csr_highest_slotid = 7,
                                                .csr_target_highest_slotid = 7}));
  if (alone) return;
  encode(out, call.op);
  encode(out, answered);
  if (call.op != nfs_cb_opnum4::OP_CB_GETATTR || answered != nfsstat4::NFS4_OK) return;
  const bool times = keeps_times;
  out.u32(times ? 3 : 1);
  out.u32(1U << FATTR4_CHANGE | 1U << FATTR4_SIZE);
  if (times) {
    out.u32(0);
    out.u32(1U << (FATTR4_TIME_DELEG_ACCESS % 32) | 1U << (FATTR4_TIME_DELEG_MODIFY % 32));
  }
  out.u32(times ? 40 : 16);
  out.u64(change);
  out.u64(size);
  if (!times) return;
  for (const std::int64_t seconds : {atime.load(), mtime.load()}) {
    out.i64(seconds);
    out.u32(5);
  }
}

}  // namespace braid::nfs4::test
