#include "rpc/memory/memory_transport.h"

#include <utility>

#include "base/assert.h"

namespace braid::rpc {

class MemoryPair::End final : public Connection {
 public:
  // `far`: the address of the other end.
  End(const PeerAddress& far, const base::Clock& clock) : peer_(far), clock_(clock) {}

  void meet(End& other) { other_ = &other; }
  void set_receiver(Receiver& receiver) {
    receiver_ = &receiver;
    schedule();
  }
  [[nodiscard]] bool told() const { return told_; }
  [[nodiscard]] bool scheduled() const { return scheduled_; }

  [[nodiscard]] const PeerAddress& peer() const override { return peer_; }
  [[nodiscard]] std::size_t headroom() const override { return 0; }
  [[nodiscard]] io::PipePool* pipes() const override { return nullptr; }
  void send(xdr::Message message) override {
    if (closing_) return;
    other_->inbox_.push_back(std::move(message.bytes));
    other_->schedule();
  }
  void resume() override { schedule(); }
  void close() override {
    if (std::exchange(closing_, true)) return;
    schedule();
    other_->close();
  }

 private:
  void schedule() {
    if (scheduled_ || receiver_ == nullptr || told_) return;
    scheduled_ = true;
    io::ReadyQueue::current().push({[](void* self) { static_cast<End*>(self)->run(); }, this});
  }
  void run() {
    scheduled_ = false;
    while (!closing_ && !inbox_.empty() && receiver_->ready(*this)) {
      io::Payload message = std::move(inbox_.front());
      inbox_.pop_front();
      other_->sent(message.size());
      receiver_->on_message(*this, std::move(message), clock_.now());
    }
    if (closing_ && !std::exchange(told_, true)) {
      inbox_.clear();
      receiver_->on_closed(*this);
    }
  }
  void sent(std::size_t bytes) {
    if (!told_) receiver_->on_sent(*this, bytes);
  }

  const PeerAddress peer_;
  const base::Clock& clock_;
  End* other_ = nullptr;
  Receiver* receiver_ = nullptr;
  std::deque<io::Payload> inbox_;
  bool scheduled_ = false;
  bool closing_ = false;
  bool told_ = false;
};

MemoryPair::MemoryPair(const PeerAddress& client, const PeerAddress& server, const base::Clock& clock)
    : client_(std::make_unique<End>(server, clock)), server_(std::make_unique<End>(client, clock)) {
  client_->meet(*server_);
  server_->meet(*client_);
}

MemoryPair::~MemoryPair() {
  base::check(!client_->scheduled() && !server_->scheduled(), "nothing is left to deliver");
}

Connection& MemoryPair::client_end() { return *client_; }
Connection& MemoryPair::server_end() { return *server_; }
void MemoryPair::set_client_receiver(Receiver& receiver) { client_->set_receiver(receiver); }
void MemoryPair::set_server_receiver(Receiver& receiver) { server_->set_receiver(receiver); }
bool MemoryPair::ended() const { return client_->told() && server_->told(); }

}  // namespace braid::rpc
