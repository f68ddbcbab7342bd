#include "tests/sim/network.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace braid::sim {
namespace {

constexpr base::Duration duplicate_max = std::chrono::seconds(4);  // how late a repetition may come

io::Payload payload_of(io::SlabPool& pool, base::BytesView bytes) {
  io::SlabCursor cursor(pool);
  io::Payload out;
  while (!bytes.empty()) {
    const std::size_t here = std::min(bytes.size(), io::small_slab_bytes);
    io::SlabRange range = cursor.carve(here).value();
    std::memcpy(range.writable().data(), bytes.data(), here);
    out.append(std::move(range));
    bytes = bytes.subspan(here);
  }
  return out;
}

}  // namespace

Wire::Wire(Network& network, std::uint32_t client, std::uint64_t number, WireUser& user, const Random& random)
    : network_(network), client_(client), user_(&user), random_(random) {
  peer_.bytes = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 0, 2, static_cast<std::uint8_t>(client + 1)};
  peer_.port = static_cast<std::uint16_t>(1 + number % 60'000);
}

base::TimePoint Wire::arrival(Lane& lane) {
  const base::TimePoint now = network_.machine_.scheduler.now();
  const base::Duration latency =
      random_.between(base::Duration(std::chrono::microseconds(20)), network_.options_.latency_max);
  lane.last = std::max({lane.last + base::Duration(1), now + latency, network_.cut_until(client_)});
  return lane.last;
}

void Wire::come_up() {
  Host* const server = network_.server_;
  if (broken_) return;
  if (server == nullptr || network_.cut_until(client_) > network_.machine_.scheduler.now()) {
    broken_ = true;
    return end_client_side();
  }
  life_ = server->life();
  receiver_ = &server->acceptor().on_connected(*this);
  pump();
}

void Wire::send_to_server(base::Bytes message) {
  if (broken_) return;
  const bool twice = random_.percent(network_.options_.duplicate_percent);
  Scheduler& scheduler = network_.machine_.scheduler;
  const base::TimePoint when = arrival(up_);
  if (twice)
    scheduler.at(when + random_.between(base::Duration(1), duplicate_max),
                 [self = shared_from_this(), message] {
                   if (!self->broken_) self->deliver_up(message);
                 });
  scheduler.at(when,
               [self = shared_from_this(), message = std::move(message)] { self->deliver_up(message); });
}

void Wire::deliver_up(const base::Bytes& message) {
  if (!broken_ || straggle_ == base::Duration(0)) return take_up(message);
  network_.machine_.scheduler.after(straggle_,
                                    [self = shared_from_this(), message] { self->take_up(message); });
}

void Wire::take_up(const base::Bytes& message) {
  if (!up_.open || (broken_ && receiver_ == nullptr)) return;
  inbox_.push_back(message);
  pump();
}

void Wire::pump() {
  while (receiver_ != nullptr && !inbox_.empty() && receiver_->ready(*this)) {
    const base::Bytes message = std::move(inbox_.front());
    inbox_.pop_front();
    const base::TimePoint now = network_.machine_.scheduler.now();
    network_.heard_[client_] = now;
    receiver_->on_message(*this, payload_of(network_.slabs_, message), now);
  }
}

void Wire::resume() {
  network_.machine_.scheduler.after(base::Duration(0), [self = shared_from_this()] { self->pump(); });
}

void Wire::send(xdr::Message message) {
  base::Bytes bytes(message.bytes.size());
  message.bytes.in_memory().value().copy_to(0, bytes);
  Scheduler& scheduler = network_.machine_.scheduler;
  scheduler.after(base::Duration(0), [self = shared_from_this(), sent = bytes.size()] {
    if (self->receiver_ != nullptr) self->receiver_->on_sent(*self, sent);
  });
  if (broken_) return;
  scheduler.at(arrival(down_), [self = shared_from_this(), arrived = std::move(bytes)]() mutable {
    if (self->down_.open && self->user_ != nullptr) self->user_->on_message(self, std::move(arrived));
  });
}

void Wire::hang_up() {
  user_ = nullptr;
  break_down();
}

void Wire::break_down() {
  if (std::exchange(broken_, true)) return;
  up_.open = random_.percent(50);
  down_.open = random_.percent(50);
  const NetworkOptions& options = network_.options_;
  Scheduler& scheduler = network_.machine_.scheduler;
  const base::TimePoint from = scheduler.now();
  base::TimePoint up_from = from;
  if (options.straggle_max > base::Duration(0)) {
    straggle_ = random_.between(base::Duration(0), options.straggle_max);
    up_from = std::max(from, network_.cut_until(client_)) + straggle_;
  }
  scheduler.at(up_from + random_.between(base::Duration(1), options.notice_max),
               [self = shared_from_this()] { self->end_server_side(); });
  scheduler.at(from + random_.between(base::Duration(1), options.notice_max),
               [self = shared_from_this()] { self->end_client_side(); });
}

void Wire::end_server_side() {
  up_.open = false;
  inbox_.clear();
  if (rpc::Receiver* const receiver = std::exchange(receiver_, nullptr)) receiver->on_closed(*this);
}

void Wire::end_client_side() {
  down_.open = false;
  if (WireUser* const user = std::exchange(user_, nullptr)) user->on_closed(shared_from_this());
}

WireRef Network::connect(std::uint32_t client, WireUser& user) {
  std::erase_if(wires_, [](const WireRef& wire) { return wire->broken_ && wire->receiver_ == nullptr; });
  ++made_;
  auto wire = std::make_shared<Wire>(*this, client, made_, user, random_.fork(made_));
  wires_.push_back(wire);
  machine_.scheduler.at(wire->arrival(wire->up_), [wire] { wire->come_up(); });
  return wire;
}

void Network::set_server(Host* server) {
  server_ = server;
  if (server != nullptr) return;
  for (const WireRef& wire : std::vector<WireRef>(wires_)) {
    if (wire->life_ == 0) continue;
    wire->break_down();
    // Its own server is not there to be told later.
    wire->end_server_side();
  }
}

void Network::break_one(Random& random) {
  std::vector<WireRef> up;
  for (const WireRef& wire : wires_)
    if (wire->receiver_ != nullptr && !wire->broken_) up.push_back(wire);
  if (!up.empty()) up[random.below(up.size())]->break_down();
}

void Network::break_those_of(std::uint32_t client) {
  for (const WireRef& wire : std::vector<WireRef>(wires_))
    if (wire->client_ == client) wire->break_down();
}

bool Network::quiet() {
  return std::ranges::all_of(
      wires_, [](const WireRef& wire) { return wire->receiver_ == nullptr && wire->user_ == nullptr; });
}

}  // namespace braid::sim
