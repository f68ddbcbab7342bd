#include "pnfs/control_service.h"

#include <array>
#include <string_view>
#include <utility>

namespace braid::pnfs {
namespace {

// Who has too many hellos under way is told by where it comes from, whatever its port.
std::string_view host_of(const rpc::PeerAddress& peer) {
  return {reinterpret_cast<const char*>(peer.bytes.data()), peer.bytes.size()};
}

rpc::Answer answer_with(rpc::Reply& reply, const auto& result, control_status status) {
  reply.status = static_cast<std::uint32_t>(status);
  encode(reply.begin(), result);
  return rpc::Answer::success;
}

}  // namespace

class ControlService::Running {
 public:
  // Under the sessions' lock.
  explicit Running(std::shared_ptr<Session> session) : session_(std::move(session)) { ++session_->running; }
  Running(Running&&) noexcept = default;
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  Running& operator=(Running&&) = delete;
  ~Running() {
    if (session_ != nullptr) session_->running.fetch_sub(1, std::memory_order_release);
  }
  [[nodiscard]] Session& session() const { return *session_; }

 private:
  std::shared_ptr<Session> session_;
};

bool ControlService::Session::replaced_by(const Session& later) const {
  return later.caller.role == control_role::ROLE_METADATA && caller.role == later.caller.role &&
         (channel.boot != later.channel.boot || channel.number == later.channel.number);
}

ControlService::ControlService(const base::Clock& clock, const ClusterSecret& secret, Own own,
                               ControlHandler& handler, const ControlServiceLimits& limits)
    : clock_(clock),
      own_(std::move(own)),
      handler_(handler),
      limits_(limits),
      reception_(std::in_place, secret) {}

std::size_t ControlService::sessions() const {
  return sessions_.with([](const Sessions& sessions) { return sessions.size(); });
}

io::Op<rpc::Answer> ControlService::null(rpc::Service& /*service*/, rpc::Call& /*call*/, rpc::Reply& reply) {
  reply.begin();
  return rpc::Answer::success;
}

io::Op<rpc::Answer> ControlService::hello(rpc::Service& service, rpc::Call& call, rpc::Reply& reply) {
  auto& self = static_cast<ControlService&>(service);
  control_hello theirs;
  if (!decode(call.args, theirs)) return rpc::Answer::garbage_args;
  const OwnHello own(self.own_());
  // What is wrong for good is said before the handler's word.
  control_status status = judge(own.hello(), theirs);
  if (status == control_status::CONTROL_OK) status = self.handler_.look_at(theirs, call.peer);
  if (status != control_status::CONTROL_OK) return answer_with(reply, HELLOres::with_default(status), status);
  const base::TimePoint now = self.clock_.now();
  const auto welcome = self.reception_.with([&](Reception& reception) {
    return reception.greet(own.hello(), theirs, random_session(), host_of(call.peer), now);
  });
  if (!welcome) return answer_with(reply, HELLOres::with_default(welcome.error()), welcome.error());
  return answer_with(reply, HELLOres::with_welcome(*welcome), control_status::CONTROL_OK);
}

ControlOp<> ControlService::admit(const PROVEargs& args, const rpc::PeerAddress& peer) {
  auto admitted =
      reception_.with([&, now = clock_.now()](Reception& reception) { return reception.admit(args, now); });
  if (!admitted) co_await base::fail(control_status::CONTROL_REFUSED);
  const control_role own = admitted->caller.role == control_role::ROLE_DATA ? control_role::ROLE_METADATA
                                                                            : control_role::ROLE_DATA;
  auto session = std::make_shared<Session>(args.session, own, std::move(*admitted));
  if (!end_replaced(*session)) co_await base::fail(control_status::CONTROL_DELAY);
  const ControlCaller caller{session->caller, session->revision, peer};
  co_await handler_.admit(caller);
  co_await keep(args.session, std::move(session));
}

io::Op<rpc::Answer> ControlService::prove(rpc::Service& service, rpc::Call& call, rpc::Reply& reply) {
  auto& self = static_cast<ControlService&>(service);
  PROVEargs args;
  if (!decode(call.args, args)) co_return rpc::Answer::garbage_args;
  const auto admitted = co_await self.admit(args, call.peer).as_result();
  const control_status status = admitted ? control_status::CONTROL_OK : admitted.error();
  co_return answer_with(reply, PROVEres{status}, status);
}

io::Op<rpc::Answer> ControlService::exchange(rpc::Service& service, rpc::Call& call, rpc::Reply& reply) {
  auto& self = static_cast<ControlService&>(service);
  // Where the body begins: behind session, sequence number and length.
  const std::size_t body_at = call.args.position() + 8 + 8 + 4;
  control_sealed sealed;
  if (!decode(call.args, sealed)) co_return rpc::Answer::garbage_args;
  const auto refuse = [&reply](control_status status) {
    return answer_with(reply, EXCHANGEres::with_default(status), status);
  };
  const std::optional<Running> running = self.begin(sealed.session);
  if (!running) co_return refuse(control_status::CONTROL_REFUSED);
  Session* const session = &running->session();
  const auto opened = session->seals.with([&](ControlSession& seals) { return seals.open_call(sealed); });
  if (!opened) co_return refuse(control_status::CONTROL_REFUSED);
  const ControlRequest request{.from = {session->caller, session->revision, call.peer},
                               .body = call.message.slice(body_at, sealed.body.size()),
                               .bulk = std::move(sealed.bulk),
                               .memory = call.cursor,
                               // What is in a pipe cannot be signed.
                               .pipes = session->signs_bulk ? nullptr : call.pipes};
  auto answer = co_await self.handler_.handle(request).as_result();
  if (!answer) co_return refuse(answer.error());
  const control_sealed out = session->seals.with([&](const ControlSession& seals) {
    return seals.seal_reply(sealed.sequence, answer->body, std::move(answer->bulk));
  });
  co_return answer_with(reply, EXCHANGEres::with_sealed(out), control_status::CONTROL_OK);
}

std::optional<ControlService::Running> ControlService::begin(std::uint64_t id) {
  return sessions_.with([&, now = clock_.now()](Sessions& sessions) -> std::optional<Running> {
    const auto found = sessions.find(id);
    if (found == sessions.end() || found->second->ended) return std::nullopt;
    found->second->used = now;
    return Running(found->second);
  });
}

bool ControlService::end_replaced(const Session& by) {
  return sessions_.with([&](Sessions& sessions) {
    bool over = true;
    std::erase_if(sessions, [&](const auto& entry) {
      Session& one = *entry.second;
      if (!one.replaced_by(by)) return false;
      one.ended = true;
      if (one.running.load(std::memory_order_acquire) == 0) return true;
      over = false;
      return false;
    });
    return over;
  });
}

base::Result<void, control_status> ControlService::keep(std::uint64_t id, std::shared_ptr<Session> session) {
  session->used = clock_.now();
  return sessions_.with([&](Sessions& sessions) -> base::Result<void, control_status> {
    if (!make_room(sessions, limits_, session->caller)) return base::fail(control_status::CONTROL_BUSY);
    sessions.insert_or_assign(id, std::move(session));
    return {};
  });
}

// A session with calls that run is not idle: whoever replaces it has to wait for them.
bool ControlService::make_room(Sessions& sessions, const ControlServiceLimits& limits,
                               const Introduction& caller) {
  auto idle_of_server = sessions.end();
  auto idle_of_all = sessions.end();
  std::size_t of_server = 0;
  const auto longer_idle = [&](Sessions::iterator one, Sessions::iterator than) {
    return one->second->running == 0 && (than == sessions.end() || one->second->used < than->second->used);
  };
  for (auto one = sessions.begin(); one != sessions.end(); ++one) {
    if (longer_idle(one, idle_of_all)) idle_of_all = one;
    if (one->second->caller.role != caller.role || one->second->caller.server != caller.server) continue;
    ++of_server;
    if (longer_idle(one, idle_of_server)) idle_of_server = one;
  }
  const bool full_of_server = of_server >= limits.sessions_per_server_max;
  if (!full_of_server && sessions.size() < limits.sessions_max) return true;
  const auto victim = full_of_server ? idle_of_server : idle_of_all;
  if (victim == sessions.end()) return false;
  sessions.erase(victim);
  return true;
}

rpc::Program ControlService::program() {
  // The largest common I/O of a client; calls without bulk data take far less.
  constexpr std::uint32_t reply_bytes_max = base::MiB + 64 * base::KiB;
  static constexpr auto procedures = std::to_array<rpc::Procedure>({
      {"NULL", null, rpc::Replay::idempotent, 0},
      {"HELLO", hello, rpc::Replay::idempotent, HELLOres::encoded_bytes_max},
      {"PROVE", prove, rpc::Replay::idempotent, PROVEres::encoded_bytes_max},
      {"EXCHANGE", exchange, rpc::Replay::idempotent, reply_bytes_max},
  });
  static_assert(procedures.size() ==
                static_cast<std::size_t>(PNFS_CONTROL_V1_procedure::CONTROL_EXCHANGE) + 1);
  static constexpr auto versions = std::to_array<rpc::Version>({{PNFS_CONTROL_V1, procedures}});
  return {PNFS_CONTROL, "pnfs_control", versions, this};
}

}  // namespace braid::pnfs
