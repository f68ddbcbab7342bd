#include "rpc/back_channel.h"

#include "rpc/session.h"

namespace braid::rpc {

// Numbers of the two directions are independent (RFC 5531 section 9 leaves them to the caller), and a peer
// that answers a call of an earlier connection cannot reach this one: any first xid will do.
BackChannel::BackChannel(io::Reactor& reactor, io::SlabPool& pool, Session& session)
    : session_(&session),
      peer_(session.peer()),
      headroom_(session.headroom()),
      client_(reactor, pool, static_cast<std::uint32_t>(session.number())) {
  client_.attach(*this);
}

BackChannel::~BackChannel() = default;

void BackChannel::end() {
  session_ = nullptr;
  client_.on_closed(*this);
}

io::Op<> BackChannel::finish(std::shared_ptr<BackChannel> channel) { co_await channel->client_.close(); }

void BackChannel::take_reply(io::Payload message, base::TimePoint arrived) {
  client_.on_message(*this, std::move(message), arrived);
}

void BackChannel::send(xdr::Message message) {
  if (session_ != nullptr) session_->send(std::move(message));
}

void BackChannel::close() {
  if (session_ != nullptr) session_->close_connection();
}

}  // namespace braid::rpc
