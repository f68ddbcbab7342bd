#include "rpc/session.h"

#include <utility>

#include "base/assert.h"
#include "rpc/call_header.h"
#include "rpc/running_call.h"

namespace braid::rpc {
namespace {

// What an account may lag behind each of its connections.
constexpr auto publish_bytes = static_cast<std::int64_t>(4 * base::KiB);

}  // namespace

Session::Session(ServerWorker& worker, Connection& connection)
    : worker_(worker),
      connection_(&connection),
      peer_(connection.peer()),
      peer_id_(rpc::peer_id(peer_)),
      transport_(connection.transport()),
      headroom_(connection.headroom()),
      pipes_(connection.pipes()),
      number_(worker.server_.next_connection()),
      known_(worker.server_.knows(peer_)),
      account_(worker.server_.accounts().of(peer_)),
      usage_(worker.server_.usage().begin(peer_)) {
  ++worker_.sessions_;
}

Session::~Session() {
  base::check(held_ == 0, "an ended session holds no memory");
  publish();
  worker_.server_.usage().end(peer_, usage_);
  --worker_.sessions_;
}

bool Session::ready(Connection&) {
  if (held_ >= worker_.server_.options().connection_bytes_max) {
    choked_ = true;
    return false;
  }
  if (!worker_.share_.admits()) {
    worker_.wait_for_budget(*this);
    return false;
  }
  return within_share();
}

bool Session::over_share() const {
  const std::int64_t held = account_->held() + unpublished_;
  const std::int64_t left = worker_.server_.budget().left();
  return held > 0 && held >= share_of(left, known_);
}

bool Session::within_share() {
  const bool waited = over_;
  if (over_share()) {
    if (!std::exchange(over_, true)) {
      publish();
      worker_.server_.note_over_share(peer_, *account_, worker_.reactor_.clock().recently());
    }
    account_->leave(*this);
    account_->wait(*this);
    // Room may have come between that look and now.
    if (over_share()) return false;
  }
  if (!std::exchange(over_, false)) return true;
  account_->leave(*this);
  if (waited) account_->wake_one();
  return true;
}

void Session::look_again() { worker_.wake_later(*this); }

void Session::look_again_here() {
  if (connection_ != nullptr) connection_->resume();
}

void Session::holding(std::size_t bytes) {
  if (bytes == receiving_) return;
  const std::size_t before = std::exchange(receiving_, bytes);
  if (bytes > before)
    take(bytes - before);
  else
    give(before - bytes);
}

std::size_t Session::bulk_after(const io::Payload& head) {
  if (!worker_.server_.options().piped_arguments) return 0;
  Call call(head, peer_, worker_.cursor_);
  if (decode_call_header(call).verdict != HeaderVerdict::call) return 0;
  const DispatchTable::Found found = worker_.server_.table().find(call.program, call.version, call.procedure);
  if (found.route == nullptr || found.route->bulk == nullptr) return 0;
  const auto bytes = found.route->bulk(call.args);
  const std::size_t here = call.args.remaining();
  return bytes && *bytes > here ? *bytes - here : 0;
}

void Session::on_message(Connection&, io::Payload message, base::TimePoint arrived) {
  RunningCall::start(*this, std::move(message), arrived, {});
}

void Session::on_tagged_message(Connection&, io::Payload message, base::TimePoint arrived, CallTag call) {
  RunningCall::start(*this, std::move(message), arrived, call);
}

void Session::on_sent(Connection&, std::size_t bytes) {
  unsent_ -= bytes;
  give(bytes);
}

void Session::on_closed(Connection&) {
  if (std::exchange(over_, false)) account_->leave(*this);
  worker_.forget(*this);
  connection_ = nullptr;
  give(std::exchange(unsent_, 0) + std::exchange(receiving_, 0));
  // Its peer's other connections need not wait for what only this one was told.
  account_->wake_one();
  if (back_) {
    back_->end();
    // What waits for replies learns of it later in this turn; the channel stays until then.
    io::spawn(worker_.ended_channels_, BackChannel::finish(std::move(back_)));
  }
  if (running_ == 0) delete this;
}

BackChannelRef Session::back_channel() {
  if (!back_ && connection_ != nullptr) {
    back_ = std::make_shared<BackChannel>(worker_.reactor_, worker_.cursor_.pool(), *this);
  }
  return {worker_.reactor_, back_};
}

bool Session::take_reply(io::Payload message, base::TimePoint arrived) {
  if (!back_) return false;
  back_->take_reply(std::move(message), arrived);
  return true;
}

void Session::take(std::size_t bytes) {
  held_ += bytes;
  worker_.share_.take(bytes);
  note(static_cast<std::int64_t>(bytes));
}

void Session::note(std::int64_t bytes) {
  unpublished_ += bytes;
  const bool enough = unpublished_ >= publish_bytes || unpublished_ <= -publish_bytes;
  if (enough || (unpublished_ < 0 && account_->waited_for())) publish();
}

void Session::publish() { account_->add(std::exchange(unpublished_, 0)); }

void Session::give(std::size_t bytes) {
  held_ -= bytes;
  worker_.share_.give(bytes);
  note(-static_cast<std::int64_t>(bytes));
  if (choked_ && held_ < worker_.server_.options().connection_bytes_max) {
    choked_ = false;
    if (connection_ != nullptr) connection_->resume();
  }
  if (!worker_.blocked_.empty() && worker_.share_.admits()) worker_.wake_blocked();
}

void Session::send(xdr::Message message) {
  if (connection_ == nullptr) return;
  take_unsent(message.bytes.size());
  connection_->send(std::move(message));
}

void Session::reply(CallTag call, xdr::Message message) {
  if (connection_ == nullptr) return;
  take_unsent(message.bytes.size());
  connection_->reply(call, std::move(message));
}

void Session::take_unsent(std::size_t bytes) {
  unsent_ += bytes;
  take(bytes);
}

void Session::close_connection() {
  if (connection_ != nullptr) connection_->close();
}

void Session::call_ended() {
  base::check(running_ > 0, "a call ends once");
  if (--running_ == 0 && connection_ == nullptr) delete this;
}

}  // namespace braid::rpc
