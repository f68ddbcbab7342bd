#include "nfs4/callback/callbacks.h"

#include "base/assert.h"
#include "nfs4/callback/callback_target.h"
#include "nfs4/callback/hop.h"

namespace braid::nfs4::callback {
namespace {

using enum nfsstat4;
using Next = state::Session::Next;

constexpr base::Duration closing_poll = std::chrono::milliseconds(2);

// Counts a call from its beginning to its end.
class Running {
 public:
  explicit Running(std::atomic<std::size_t>& count) : count_(count) { ++count_; }
  ~Running() { --count_; }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

 private:
  std::atomic<std::size_t>& count_;
};

// What the client's status to CB_SEQUENCE says about the slot (RFC 8881 20.9.3, 2.10.6.1).
Next next_after(nfsstat4 status) {
  switch (status) {
    case NFS4_OK:
    case NFS4ERR_SEQ_FALSE_RETRY:
    case NFS4ERR_RETRY_UNCACHED_REP:
      return Next::following;
    case NFS4ERR_SEQ_MISORDERED:
      return Next::first;
    default:
      return Next::same;
  }
}

}  // namespace

Callbacks::Callbacks(Clients& clients, rpc::TcpWorker& tcp, io::SlabPool& pool,
                     const CallbackOptions& options)
    : clients_(clients), tcp_(tcp), pool_(pool), options_(options), paths_(tcp, pool, options.paths) {}

Callbacks::~Callbacks() {
  base::check(paths_.size() == 0 && running_ == 0, "callbacks are closed before they go");
}

base::Bytes Callbacks::bytes_of(xdr::Encoder& out) {
  const xdr::Message message = out.finish();
  const auto memory = message.bytes.in_memory();
  return memory ? memory->bytes() : base::Bytes();
}

bool Callbacks::reachable(clientid4 client) const {
  const state::SessionRef session = clients_.back_channel_of(client);
  if (session && session->back_health().works()) return true;
  return reachable_4_0_.with([&](const auto& known) { return known.contains(client); });
}

CallbackOp<Answer> Callbacks::send(clientid4 client, Request request) {
  const Running running(running_);
  if (closing_) co_return base::fail(Failure::closing);
  if (state::SessionRef session = clients_.back_channel_of(client))
    co_return co_await send_in_session(std::move(session), std::move(request));
  if (auto to = clients_.callback_of(client))
    co_return co_await send_4_0(client, std::move(*to), std::move(request));
  co_return base::fail(Failure::no_path);
}

CallbackOp<Answer> Callbacks::send_in_session(state::SessionRef session, Request request) {
  // RFC 8881 2.10.6.4
  if (bytes_in_session(request) > session->back.request_bytes_max) co_return base::fail(Failure::too_big);
  io::Reactor& home = *io::Reactor::current();
  // A second time when the first only found out where the slot's counting stands.
  for (int attempt = 0; attempt < 2; ++attempt) {
    const auto connection = session->back_connection();
    if (!connection) co_return base::fail(Failure::no_path);
    const auto slot = session->take_back_slot();
    if (!slot) co_return base::fail(Failure::busy);
    co_await HopTo(connection->reactor());
    auto outcome = co_await exchange(*session, *connection, *slot, request).as_result();
    co_await HopTo(home);
    const nfsstat4 status = outcome ? outcome->sequence.status : NFS4ERR_SERVERFAULT;
    const Next next = next_after(status);
    session->give_back_slot(*slot, next, outcome ? outcome->sequence.target_slot : std::nullopt);
    if (!outcome) {
      if (outcome.error() == Failure::refused) session->set_back_fault();
      if (outcome.error() == Failure::timed_out) session->set_back_answered(false);
      co_return base::fail(outcome.error());
    }
    session->set_back_answered(true);
    if (outcome->answer) co_return std::move(*outcome->answer);
    if (status == NFS4ERR_DELAY) co_return base::fail(Failure::busy);
    if (next == Next::same) break;
  }
  session->set_back_fault();
  co_return base::fail(Failure::refused);
}

CallbackOp<SessionAnswer> Callbacks::exchange(const state::Session& session,
                                              const rpc::BackChannelRef& connection,
                                              const state::Session::BackSlot& slot, const Request& request) {
  const std::shared_ptr<rpc::BackChannel> channel = connection.lock();
  if (!channel) co_return base::fail(Failure::no_path);
  const state::CallbackParameters parameters = session.callback();
  const rpc::ProcedureId compound{parameters.program, NFS_CB,
                                  static_cast<std::uint32_t>(NFS_CB_procedure::CB_COMPOUND)};
  auto encode_args = [&](xdr::Encoder& out) { encode_in_session(out, session, slot, request); };
  const auto results =
      co_await channel->client()
          .call(compound, {.auth = parameters.auth, .timeout = options_.timeout}, encode_args)
          .as_result();
  if (!results) co_return base::fail(failure_of(results.error()));
  co_return co_await decode_in_session(*results, session, slot, request.op);
}

CallbackOp<Answer> Callbacks::send_4_0(clientid4 client, state::CallbackAddress to, Request request) {
  io::Reactor& home = *io::Reactor::current();
  co_await HopTo(tcp_.reactor());
  auto path = path_to(client, to);
  base::Result<Answer, Failure> answer = base::fail(Failure::busy);
  if (path)
    answer = co_await path->call(std::move(request), options_.timeout, options_.retry_after).as_result();
  path.reset();
  co_await HopTo(home);
  reachable_4_0_.with([&](auto& known) {
    if (answer)
      known.insert(client);
    else if (answer.error() == Failure::no_path || answer.error() == Failure::timed_out)
      known.erase(client);
  });
  co_return std::move(answer);
}

std::shared_ptr<Path40> Callbacks::path_to(clientid4 client, const state::CallbackAddress& to) {
  const std::size_t before = paths_.size();
  auto path = paths_.to(client, to);
  if (paths_.size() > before) drop_paths_of_gone();
  return path;
}

void Callbacks::drop_paths_of_gone() {
  const auto gone = [this](clientid4 client) { return !clients_.callback_of(client); };
  paths_.drop(gone);
  reachable_4_0_.with([&](auto& known) { std::erase_if(known, gone); });
}

bool Callbacks::reachable_soon(clientid4 client) {
  if (reachable(client)) return true;
  if (clients_.callback_of(client)) probe(client);
  return false;
}

void Callbacks::probe_own(clientid4 client) {
  const auto to = clients_.callback_of(client);
  const auto target = to ? callback_target(*to) : std::nullopt;
  if (target && target->own) probe(client);
}

void Callbacks::probe(clientid4 client) {
  if (!probed_.with([&](auto& probed) { return probed.insert(client).second; })) return;
  in_background([this, client] { return probe_here(client); });
}

io::Op<> Callbacks::probe_here(clientid4 client) {
  const auto to = clients_.callback_of(client);
  const auto path = to && !closing_ ? path_to(client, *to) : nullptr;
  bool answered = false;
  if (path) {
    const auto outcome = co_await path->null(options_.timeout, options_.retry_after).as_result();
    answered = outcome.has_value();
  }
  probed_.with([&](auto& probed) { probed.erase(client); });
  if (!path) co_return;
  reachable_4_0_.with([&](auto& known) {
    if (answered)
      known.insert(client);
    else
      known.erase(client);
  });
}

void Callbacks::probe(state::SessionRef session) {
  if (session->back_health().answers != state::Session::Answers::unknown) return;
  in_background([this, session = std::move(session)] { return probe_session_here(session); });
}

io::Op<> Callbacks::probe_session_here(state::SessionRef session) {
  if (closing_) co_return;
  (void)co_await send_in_session(std::move(session), {.op = nfs_cb_opnum4::OP_CB_SEQUENCE, .args = {}})
      .as_result();
}

io::Op<> Callbacks::close() {
  closing_ = true;
  co_await paths_.close();
  while (running_ > 0) co_await tcp_.reactor().sleep(closing_poll);
  co_await gate_.drained();
}

}  // namespace braid::nfs4::callback
