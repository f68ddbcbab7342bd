#include "tests/fuzz/nfs4_state/play.h"

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "base/assert.h"
#include "base/unique_fd.h"
#include "tests/fuzz/nfs4_reply.h"

namespace braid::nfs4::fuzz {
namespace {

using namespace std::chrono_literals;
using enum nfs_opnum4;
using enum nfsstat4;
using test::Request;

EngineOptions options() {
  EngineOptions options;
  options.nfs.delegations = Delegations::write;
  options.nfs.recall_patience = 200ms;
  // Few, so that the limits are met.
  options.clients.clients_max = 6;
  options.clients.unconfirmed_max = 6;
  options.clients.sessions_per_client = 4;
  options.clients.sessions_max = 12;
  options.clients.courtesy = 1h;
  options.states.states_per_client = 24;
  options.states.owners_per_client = 4;
  options.states.lock_ranges_per_client = 8;
  options.states.delegations_per_client = 4;
  return options;
}

// The status of a reply, and of the SEQUENCE that it begins with.
struct Outcome {
  nfsstat4 whole = NFS4_OK;
  std::optional<nfsstat4> sequence;
  std::size_t operations = 0;
};
Outcome outcome_of(const io::Payload& reply) {
  xdr::Arena arena;
  xdr::Decoder in(reply, arena);
  COMPOUND4res head;
  Outcome out;
  if (!decode(in, head)) return out;
  out.whole = head.status;
  out.operations = head.resarray_count;
  nfs_opnum4 first{};
  nfsstat4 status{};
  if (head.resarray_count > 0 && decode(in, first) && first == OP_SEQUENCE && decode(in, status))
    out.sequence = status;
  return out;
}

bool same(const io::Payload& left, const io::Payload& right) {
  if (left.size() != right.size()) return false;
  base::Bytes a(left.size()), b(right.size());
  left.in_memory().value().copy_to(0, a);
  right.in_memory().value().copy_to(0, b);
  return a == b;
}

// RFC 8881 2.10.6.1.3: the same answer, or none. One that nobody asked to keep: SEQUENCE is answered anew,
// with what its flags say by now, and behind it what is no operation.
void check_repeated(const io::Payload& first, bool cached, const io::Payload& reply) {
  const Outcome outcome = outcome_of(reply);
  if (outcome.sequence != NFS4_OK || outcome.whole == NFS4ERR_RETRY_UNCACHED_REP) return;
  if (!cached && outcome.operations == 1) return;
  const bool nothing = outcome.whole == NFS4ERR_OP_ILLEGAL || outcome.whole == NFS4ERR_BADXDR;
  if (!cached && outcome.operations == 2 && nothing) return;
  base::check(same(first, reply), "a repeated message has the answer of the first");
}

// A local process, which does not wait for a delegation to come back: nobody would have time pass meanwhile.
void write_locally(const std::string& path, std::string_view text) {
  const base::UniqueFd file(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NONBLOCK | O_CLOEXEC, 0644));
  if (file) (void)!::write(file.get(), text.data(), text.size());
}

}  // namespace

Play::Play() : world_(options(), {{.path = "/"}, {.path = "/second"}}) {
  for (auto& peer : peers_) peer = std::make_unique<test::CallbackPeer>(world_);
  world_.write_local("file", "some text");
  world_.write_local("large", std::string(200'000, 'l'));
}

void Play::run(std::span<const std::uint8_t> script) {
  for (std::size_t i = 0; i < script.size() / step_bytes; ++i) {
    const Step step = step_at(script, i);
    switch (step.kind) {
      case Step::Kind::message:
        begin(step);
        break;
      case Step::Kind::operation:
        if (message_) add_operation(message_->request, step, registers_);
        break;
      case Step::Kind::event:
        send();
        happen(step);
        break;
    }
  }
  send();
  finish_all();
  check_end();
}

// Bytes: who; minor version; session; slot; what is special, by bits: 1 cache this, 2 repeat the message
// before, 4 another sequence id, 8 cut short, 16 not waited for, 32 no SEQUENCE, 64 a wrong number of
// operations; how much is cut.
void Play::begin(const Step& step) {
  send();
  Bytes bytes(step);
  const std::uint8_t who = bytes.byte();
  const std::uint8_t version = bytes.byte();
  const sessionid4& session = registers_.sessions.at(bytes.byte());
  const slotid4 slot = bytes.byte() % 9;
  const std::uint8_t special = bytes.byte();
  const std::uint32_t minor_version = version > 250 ? 3 : version % 3;
  Message message;
  message.request = Request(minor_version);
  message.caller = {.uid = (who & 3U) == 2 ? 1000U : 0U,
                    .gid = 0,
                    .address = (who & 3U) == 2 ? "192.0.2.2" : "192.0.2.1",
                    .connection = (who & 3U) == 3 ? nullptr : peers_[who & 1U]->connection(),
                    .boot = 0};
  message.beside = (special & 16) != 0;
  if (minor_version > 0 && (special & 32) == 0) {
    message.session = session;
    message.slot = slot;
    Slot& known = slot_of(message);
    message.again = (special & 2) != 0 && known.sequence > 0;
    if (!message.again) {
      const sequenceid4 sequence = known.sequence + ((special & 4) != 0 ? 2 : 1);
      message.request.add(OP_SEQUENCE, SEQUENCE4args{session, sequence, slot, slot, (special & 1) != 0});
      if ((special & 4) == 0) known.sequence = sequence;
      message.cached = (special & 1) != 0;
    }
    message.sequence = known.sequence;
  }
  if ((special & 8) != 0) message.request.cut_last(bytes.byte() % 8);
  if ((special & 64) != 0) message.request.claim_count(bytes.byte());
  message_ = std::move(message);
}

void Play::send() {
  if (!message_) return;
  Message message = std::move(*message_);
  message_.reset();
  if (message.session && message.again) message.request = slot_of(message).request;
  if (message.session && !message.again) {
    slot_of(message).request = message.request;
    slot_of(message).cached = message.cached;
    slot_of(message).kept = false;
  }
  message.sent = world_.start(message.request, message.caller);
  if (beside_.size() >= beside_max) finish_all();
  if (message.beside)
    beside_.push_back(std::move(message));
  else
    finish(std::move(message));
}

// Who waits for something may do so until a time.
void Play::finish(Message message) {
  for (unsigned turns = 1; !world_.ended(message.sent); ++turns) {
    std::this_thread::yield();
    if (turns % 64 == 0) world_.advance(100ms);
  }
  const test::Reply reply = world_.wait(message.sent);
  if (reply.answer() != rpc::Answer::success) return;
  if (!reply.bytes().in_memory()) return;  // what is in a pipe is looked at by who sends it
  check_reply(reply.bytes());
  keep_results(reply.bytes(), registers_);
  if (!message.session) return;
  Slot& slot = slot_of(message);
  if (message.sequence != slot.sequence) return;  // another one has followed
  if (message.again) {
    if (slot.kept) check_repeated(slot.reply, slot.cached, reply.bytes());
  } else if (outcome_of(reply.bytes()).sequence == NFS4_OK) {
    slot.reply = reply.bytes();
    slot.kept = true;
  }
}

void Play::finish_all() {
  for (Message& message : std::exchange(beside_, {})) finish(std::move(message));
}

void Play::pass(base::Duration time) {
  world_.advance(time);
  world_.tick();
}

void Play::restart() {
  finish_all();
  world_.restart();
  slots_.clear();
}

void Play::happen(const Step& step) {
  Bytes bytes(step);
  switch (step.number) {
    case 0:
      pass(1s);
      break;
    case 1:
      pass(50s);
      break;
    case 2:
      pass(100s);
      break;
    case 3:
      pass(2h);
      break;
    case 4:
      restart();
      break;
    case 5:
      ::unlink((world_.directory() + "/file").c_str());
      break;
    case 6:
      write_locally(world_.directory() + "/file", "other text, of another length");
      break;
    case 7:
      peers_[bytes.byte() & 1U]->silent = bytes.flag();
      break;
    case 8:
      peers_[bytes.byte() & 1U]->status = bytes.flag() ? NFS4ERR_DELAY : NFS4_OK;
      break;
    case 9:
    case 10:
      finish_all();
      break;
    case 11: {
      const clientid4 client = registers_.client(bytes);
      const bool all = bytes.flag();
      world_.on_engine([&](Nfs4Engine& engine) -> io::Op<> {
        if (all)
          (void)co_await engine.evict(client).as_result();
        else
          (void)co_await engine.revoke(client).as_result();
      });
      break;
    }
    case 12:
      world_.offer_pipes(bytes.flag());
      break;
    case 13:
      write_locally(world_.directory() + "/new", "");
      break;
    default:
      pass(100ms);
      break;
  }
}

// Whoever is silent long enough has nothing any more, and everybody else is served.
void Play::check_end() {
  for (int times = 0; times < 4; ++times) pass(1h);
  const ServerState& state = world_.engine().state();
  state.states.with([](const state::States& states) {
    base::check(states.size() == 0, "no state outlives its client");
    base::check(states.delegations().stats().held() == 0, "no delegation outlives its client");
  });
  world_.offer_pipes(false);
  Request probe(0);
  probe.add(OP_PUTROOTFH).add(OP_GETATTR, GETATTR4args{});
  base::check(world_.send(probe).status() == NFS4_OK, "the next one is served");
}

}  // namespace braid::nfs4::fuzz
