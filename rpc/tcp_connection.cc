#include "rpc/tcp_connection.h"

#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/assert.h"
#include "base/log.h"
#include "rpc/peer_account.h"

namespace braid::rpc {
namespace {

constexpr std::size_t flush_bytes = 256 * base::KiB;    // queued replies of this size leave at once
constexpr std::size_t reads_max = 8;                    // before other connections get their turn
constexpr std::size_t low_water_max = 256 * base::KiB;  // of a long record, this much is waited for at a time
constexpr std::size_t low_water_min = 64 * base::KiB;   // below it every arrival wakes
constexpr auto memory_retry = std::chrono::milliseconds(5);
constexpr std::size_t turn_bytes_max = 4 * base::MiB;  // of replies, before other connections get their turn
constexpr auto turn_time_max = std::chrono::milliseconds(1);  // of work on calls, the same
constexpr std::size_t iovecs_max = 64;
constexpr std::size_t head_bytes = 4 * base::KiB;     // of a record that probably has bulk data
constexpr std::size_t dropped_bytes_max = base::MiB;  // at a time

}  // namespace

TcpConnection::TcpConnection(TcpWorker& worker, base::UniqueFd socket, const PeerAddress& peer,
                             Acceptor* acceptor, ConnectionLimit::Place place)
    : worker_(worker),
      socket_(std::move(socket)),
      peer_(peer),
      acceptor_(acceptor),
      place_(std::move(place)),
      reader_(RecordLimits{.record_bytes_max = worker.options_.record_bytes_max}),
      received_at_(worker.reactor_.clock().now()) {}

TcpConnection::~TcpConnection() = default;

io::Op<> TcpConnection::run(Receiver& receiver) {
  receiver_ = &receiver;
  Halt halt = Halt::drained;
  while (!closing_ && halt != Halt::ended) {
    // An error of the socket is found by the next recv().
    if (halt == Halt::drained)
      (void)co_await worker_.reactor_.readable(socket_.get());
    else
      co_await wait(halt);
    if (!closing_) halt = receive();
    if (closing_ || halt != Halt::not_yet) worker_.turns_.end(turn_);
  }
  close();
  bulk_.end();
  gate_.close();
  co_await gate_.drained();
  worker_.forget(*this);
  receiver_->on_closed(*this);
}

io::Op<> TcpConnection::wait(Halt halt) {
  struct Resumption {
    TcpConnection& connection;
    [[nodiscard]] bool await_ready() const { return connection.resumed_ || connection.closing_; }
    void await_suspend(std::coroutine_handle<> handle) { connection.paused_ = handle; }
    void await_resume() const {}
  };
  switch (halt) {
    case Halt::turn_over:
      co_await worker_.reactor_.yield();
      break;
    case Halt::not_yet:
      co_await worker_.turns_.next(turn_);
      break;
    case Halt::paused:
      co_await Resumption{*this};
      if (record_since_) record_since_ = worker_.reactor_.clock().now();  // the peer could not go on with it
      break;
    case Halt::no_memory:
      worker_.metrics_.memory_waits.add();
      co_await worker_.reactor_.sleep(memory_retry);
      break;
    case Halt::drained:
    case Halt::ended:
      break;
  }
}

void TcpConnection::resume() {
  resumed_ = true;
  if (paused_) worker_.reactor_.ready_queue().push(io::ReadyItem::of(std::exchange(paused_, nullptr)));
}

void TcpConnection::close() {
  if (std::exchange(closing_, true)) return;
  worker_.reactor_.cancel_fd(socket_.get());
  resume();
}

void TcpConnection::close_for(base::Counter& counter, const char* reason) {
  if (closing_) return;
  counter.add();
  base::log_event(rpc::log_source(peer_), base::Level::info, "connection_closed", "peer={} reason={}",
                  peer_.text(), reason);
  close();
}

TcpConnection::Halt TcpConnection::receive() {
  const base::TimePoint now = worker_.reactor_.clock().now();
  if (!worker_.turns_.admits(turn_, now)) return Halt::not_yet;
  in_batch_ = true;
  turn_bytes_ = 0;
  turn_records_ = 0;
  const Halt halt = receive_batch(now);
  in_batch_ = false;
  flush();
  if (closing_) return Halt::ended;
  settle(now);
  return halt;
}

TcpConnection::Halt TcpConnection::receive_batch(base::TimePoint now) {
  // Records that were received before a pause.
  if (auto halt = deliver(now)) return *halt;
  for (std::size_t reads = 0; reads < reads_max; ++reads) {
    const Halt halt = receive_once(now);
    if (halt != Halt::turn_over || turn_over(now)) return halt;
  }
  return Halt::turn_over;
}

// Who sends one call at a time pays for no look at the clock.
bool TcpConnection::turn_over(base::TimePoint began) const {
  return turn_bytes_ >= turn_bytes_max ||
         (turn_records_ > 1 && worker_.reactor_.clock().now() - began >= turn_time_max);
}

// Halt::turn_over stands for "there may be more".
TcpConnection::Halt TcpConnection::receive_once(base::TimePoint now) {
  if (bulk_.active()) return receive_bulk(now);
  const auto room = make_room();
  if (!room) return room.error() == base::errno_of(EAGAIN) ? Halt::paused : Halt::no_memory;
  const ssize_t n = ::recv(socket_.get(), room->data(), room->size(), MSG_DONTWAIT);
  if (n < 0 && errno == EINTR) return Halt::turn_over;
  if (n < 0 && errno == EAGAIN) return Halt::drained;
  if (n <= 0) return Halt::ended;
  const auto bytes = static_cast<std::size_t>(n);
  received_at_ = now;
  input_ = {buffer_.slab, static_cast<std::uint32_t>(buffer_.used), static_cast<std::uint32_t>(bytes)};
  buffer_.used += bytes;
  if (auto halt = deliver(now)) return *halt;
  return bytes < room->size() ? Halt::drained : Halt::turn_over;
}

TcpConnection::Halt TcpConnection::receive_bulk(base::TimePoint now) {
  auto piece = bulk_.receive(socket_.get());
  if (!piece && piece.error() == base::errno_of(EAGAIN)) return Halt::drained;
  if (!piece && piece.error() == base::errno_of(ENOBUFS)) return Halt::turn_over;
  if (!piece || piece->length == 0) return Halt::ended;
  received_at_ = now;
  reader_.append(std::move(*piece));
  return deliver(now).value_or(Halt::turn_over);
}

// Once per record, when its head is there.
void TcpConnection::expect_bulk() {
  const std::size_t remaining = reader_.fragment_remaining();
  if (bulk_asked_ || worker_.pipes_ == nullptr || remaining < BulkReceiver::bytes_min) return;
  bulk_asked_ = true;
  bulk_.begin(*worker_.pipes_, std::min(remaining, receiver_->bulk_after(reader_.held())));
}

// Hands on the whole records in the input; nothing when the input is used up.
std::optional<TcpConnection::Halt> TcpConnection::deliver(base::TimePoint now) {
  for (;;) {
    resumed_ = false;
    if (turn_over(now)) return Halt::turn_over;
    // A record that has its memory goes on.
    if (worker_.draining_ || (!reader_.partial() && !receiver_->ready(*this))) return Halt::paused;
    io::Payload record;
    switch (reader_.next(input_, record)) {
      case RecordReader::Next::record:
        record_since_.reset();
        after_bulk_ = std::exchange(bulk_asked_, false);
        ++turn_records_;
        receiver_->on_message(*this, std::move(record), now);
        if (closing_) return Halt::ended;
        break;
      case RecordReader::Next::incomplete:
        expect_bulk();
        return std::nullopt;
      case RecordReader::Next::too_long:
        close_for(worker_.metrics_.closed_record, "record_too_long");
        return Halt::ended;
      case RecordReader::Next::endless:
        close_for(worker_.metrics_.closed_record, "empty_fragments");
        return Halt::ended;
    }
  }
}

// Where the next bytes of the stream are to be received.
base::Result<base::MutableBytes> TcpConnection::make_room() {
  const std::size_t remaining = reader_.fragment_remaining();
  if (buffer_.slab) {
    const std::size_t room = buffer_.slab.bytes() - buffer_.used;
    const bool large = buffer_.slab.get()->size == io::SlabSize::large;
    // A large slab is for the record that it was taken for. Elsewhere what does not fit goes into a slab of
    // its own; the incomplete record keeps the old one, which therefore nobody else may use.
    if (room == 0 || (large ? !reader_.partial() : remaining > room)) buffer_ = {};
  }
  if (!buffer_.slab)
    if (auto taken = take_slab(remaining); !taken) return base::fail(taken.error());
  std::size_t room = buffer_.slab.bytes() - buffer_.used;
  if (after_bulk_ && !reader_.partial()) room = std::min(room, head_bytes);
  if (buffer_.slab.get()->size == io::SlabSize::large)
    room = std::min(room, remaining > 0 ? remaining : io::small_slab_bytes);
  return base::MutableBytes(buffer_.slab.data() + buffer_.used, room);
}

base::Result<void> TcpConnection::take_slab(std::size_t fragment_remaining) {
  const std::size_t parked = reader_.parked_bytes();
  if (fragment_remaining + parked > io::small_slab_bytes) {
    resumed_ = false;
    if (!receiver_->ready(*this)) return base::fail(base::errno_of(EAGAIN));
    auto slab = worker_.pool_.acquire(io::SlabSize::large);
    if (!slab) return base::fail(slab.error());
    buffer_ = {std::move(*slab), 0};
  } else {
    auto buffer = worker_.take_buffer(fragment_remaining + parked);
    if (!buffer) return base::fail(buffer.error());
    buffer_ = std::move(*buffer);
  }
  reader_.unpark(
      {buffer_.slab, static_cast<std::uint32_t>(buffer_.used), static_cast<std::uint32_t>(parked)});
  buffer_.used += parked;
  return {};
}

// Before waiting: gives up what is not needed meanwhile.
void TcpConnection::settle(base::TimePoint now) {
  if (input_.length > 0) return receiver_->holding(receiving_bytes());  // paused in the middle
  input_ = {};
  if (!reader_.partial()) {
    worker_.give_buffer(std::exchange(buffer_, {}));
  } else {
    if (!record_since_) record_since_ = now;
    // What waits with a pipe keeps its slab: pipes are few.
    if (!bulk_.active() && reader_.held_bytes() <= RecordReader::park_bytes_max) {
      reader_.park();
      worker_.give_buffer(std::exchange(buffer_, {}));
    }
  }
  receiver_->holding(receiving_bytes());
  tune_receiving();
}

// Of what is received and not handed on. Slabs are held whole.
std::size_t TcpConnection::receiving_bytes() const {
  std::size_t bytes = 0;
  const io::Slab* last = nullptr;
  for (const io::SlabRange& range : reader_.held().ranges()) {
    if (range.slab.pipe() != nullptr)
      bytes += range.length;
    else if (range.slab.get() != last)
      bytes += range.slab.bytes();
    last = range.slab.get();
  }
  if (buffer_.slab && buffer_.slab.get() != last) bytes += buffer_.slab.bytes();
  return bytes;
}

void TcpConnection::tune_receiving() {
  const std::size_t remaining = reader_.fragment_remaining();
  const bool long_record = remaining >= low_water_min;
  const int low_water = long_record ? static_cast<int>(std::min(remaining, low_water_max)) : 1;
  if (low_water != low_water_) {
    low_water_ = low_water;
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVLOWAT, &low_water, sizeof low_water);
  }
  if (reader_.partial() && !long_record) {
    // A client that sends a record in pieces without TCP_NODELAY waits for our acknowledgement before the
    // next piece.
    const int on = 1;
    ::setsockopt(socket_.get(), IPPROTO_TCP, TCP_QUICKACK, &on, sizeof on);
  }
}

void TcpConnection::send(xdr::Message message) {
  if (closing_) return;
  // RFC 5531 section 11: one fragment, the last one.
  const auto length = static_cast<std::uint32_t>(message.bytes.size() - headroom());
  std::uint32_t mark = length | last_fragment_bit;
  if constexpr (std::endian::native == std::endian::little) mark = __builtin_bswap32(mark);
  const base::MutableBytes front = message.bytes.ranges().front().writable();
  base::check(front.size() >= headroom(), "a message starts with its headroom");
  std::memcpy(front.data(), &mark, sizeof mark);
  turn_bytes_ += message.bytes.size();
  output_.append(message.bytes);
  if (output_.size() >= flush_bytes)
    flush();
  else if (!in_batch_)
    flush_later();
}

void TcpConnection::flush_later() {
  if (flush_hold_ || writing_) return;
  flush_hold_.emplace(gate_);
  worker_.reactor_.at_end_of_turn({[](void* self) {
                                     auto* connection = static_cast<TcpConnection*>(self);
                                     connection->flush();
                                     connection->flush_hold_.reset();
                                   },
                                   this});
}

void TcpConnection::flush() {
  if (writing_ || output_.empty()) return;
  send_queued();
  if (output_.empty() || closing_) return;
  writing_ = true;
  sent_at_ = worker_.reactor_.clock().recently();
  io::spawn(gate_, write_loop());
}

void TcpConnection::send_queued() {
  std::size_t sent = 0;
  while (!output_.empty()) {
    const auto n = send_front();
    if (!n && n.error() == base::errno_of(EINTR)) continue;
    if (!n) {
      if (n.error() != base::errno_of(EAGAIN)) close();
      break;
    }
    output_.consume(*n);
    sent += *n;
  }
  if (sent > 0) receiver_->on_sent(*this, sent);
}

base::Result<std::size_t> TcpConnection::send_front() {
  if (const SendQueue::Piped piped = output_.front_pipe(); piped.pipe != nullptr)
    return piped.pipe->drain_to(socket_.get(), piped.bytes, output_.size() > piped.bytes);
  std::array<iovec, iovecs_max> vectors;
  msghdr message{};
  message.msg_iov = vectors.data();
  message.msg_iovlen = output_.iovecs(vectors);
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < message.msg_iovlen; ++i) bytes += vectors[i].iov_len;
  const int more = bytes < output_.size() ? MSG_MORE : 0;
  const ssize_t n = ::sendmsg(socket_.get(), &message, MSG_DONTWAIT | MSG_NOSIGNAL | more);
  if (n < 0) return base::fail(base::last_errno());
  return static_cast<std::size_t>(n);
}

io::Op<> TcpConnection::write_loop() {
  while (!output_.empty() && !closing_) {
    (void)co_await worker_.reactor_.writable(socket_.get());
    if (closing_) break;
    const std::size_t before = output_.size();
    send_queued();
    if (output_.size() < before) sent_at_ = worker_.reactor_.clock().recently();
  }
  writing_ = false;
}

bool TcpConnection::hang_up() {
  if (closing_) return true;
  ::shutdown(socket_.get(), SHUT_WR);
  // Closing a socket with unread bytes resets the connection, and replies that are still on their way with
  // it.
  if (::recv(socket_.get(), nullptr, dropped_bytes_max, MSG_DONTWAIT | MSG_TRUNC) == 0) return true;
  // The FIN counts as one; a peer that is gone never acknowledges it, and nothing depends on that.
  int unacknowledged = 0;
  if (::ioctl(socket_.get(), SIOCOUTQ, &unacknowledged) != 0 || unacknowledged > 1) return false;
  int unread = 0;
  return ::ioctl(socket_.get(), SIOCINQ, &unread) == 0 && unread == 0;
}

base::Counter* TcpConnection::overdue(base::TimePoint now, base::Duration stall_limit) const {
  if (writing_ && now - sent_at_ > stall_limit) return &worker_.metrics_.closed_stalled;
  // A pause is ours, not the peer's, unless it is for what the peer itself has.
  const bool counts = !paused_ || over_share();
  if (record_since_ && counts &&
      now - *record_since_ > (paused_ ? worker_.options_.stall_limit : stall_limit))
    return &worker_.metrics_.closed_stalled;
  if (acceptor_ != nullptr && quiet() && now - received_at_ > worker_.options_.idle_limit)
    return &worker_.metrics_.closed_idle;
  return nullptr;
}

}  // namespace braid::rpc
