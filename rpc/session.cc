#include "rpc/session.h"

#include <utility>

#include "base/assert.h"
#include "rpc/call_header.h"
#include "rpc/running_call.h"

namespace braid::rpc {

Session::Session(ServerWorker& worker, Connection& connection)
    : worker_(worker),
      connection_(&connection),
      peer_(connection.peer()),
      headroom_(connection.headroom()),
      pipes_(connection.pipes()),
      number_(worker.server_.next_connection()) {
  ++worker_.sessions_;
}

Session::~Session() {
  base::check(held_ == 0, "an ended session holds no memory");
  --worker_.sessions_;
}

bool Session::ready(Connection&) {
  if (held_ >= worker_.server_.options().connection_bytes_max) {
    choked_ = true;
    return false;
  }
  if (worker_.share_.admits()) return true;
  worker_.wait_for_budget(*this);
  return false;
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
  worker_.forget(*this);
  connection_ = nullptr;
  give(std::exchange(unsent_, 0));
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
}

void Session::give(std::size_t bytes) {
  held_ -= bytes;
  worker_.share_.give(bytes);
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
