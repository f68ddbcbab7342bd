#include "pnfs/control_session.h"

#include <algorithm>
#include <utility>

#include "base/big_endian.h"
#include "hashing/blake3.h"

namespace braid::pnfs {
namespace {

// The MAC that a bulk without signature is signed as: no bytes at all.
base::Bytes digest_of_bulk(const io::Payload& bulk) {
  // What is still in a pipe cannot be looked at: then the receiver cannot agree, and the message is refused.
  const auto memory = bulk.in_memory();
  if (!memory) return {};
  hashing::Blake3 hash;
  for (const io::SlabRange& range : bulk.ranges())
    if (const auto bytes = range.memory()) hash.update(*bytes);
  const hashing::Digest digest = hash.digest();
  return {digest.bytes.begin(), digest.bytes.end()};
}

}  // namespace

bool SequenceWindow::take(std::uint64_t number) {
  if (number == 0 || (largest_ >= width && number <= largest_ - width)) return false;
  const auto bit_of = [](std::uint64_t n) { return std::uint64_t{1} << (n % 64); };
  const auto word_of = [this](std::uint64_t n) -> std::uint64_t& { return seen_[n % width / 64]; };
  if (number > largest_) {
    // Those between are new to the window, and so are their places.
    if (number - largest_ >= width) {
      seen_.fill(0);
    } else {
      for (std::uint64_t n = largest_ + 1; n <= number; ++n) word_of(n) &= ~bit_of(n);
    }
    largest_ = number;
  }
  if ((word_of(number) & bit_of(number)) != 0) return false;
  word_of(number) |= bit_of(number);
  return true;
}

Mac ControlSession::mac_of(control_role sender, Kind kind, const control_sealed& message) const {
  std::array<std::byte, 18> head;
  base::store_be<std::uint8_t>(head, 0, static_cast<std::uint8_t>(sender));
  base::store_be<std::uint8_t>(head, 1, static_cast<std::uint8_t>(kind));
  base::store_be<std::uint64_t>(head, 2, message.session);
  base::store_be<std::uint64_t>(head, 10, message.sequence);
  if (signs_bulk_) return sign(key_, {head, message.body, digest_of_bulk(message.bulk)});
  return sign(key_, {head, message.body});
}

control_sealed ControlSession::seal(Kind kind, std::uint64_t sequence, base::BytesView body,
                                    io::Payload bulk) const {
  control_sealed out{.session = id_, .sequence = sequence, .body = body, .mac = {}, .bulk = std::move(bulk)};
  out.mac = mac_of(own_, kind, out).bytes;
  return out;
}

bool ControlSession::is_signed(Kind kind, const control_sealed& message) const {
  return message.session == id_ && equal(mac_of(other(), kind, message), message.mac);
}

control_sealed ControlSession::seal_call(base::BytesView body, io::Payload bulk) {
  return seal(Kind::call, ++last_, body, std::move(bulk));
}

base::Result<void, SealFault> ControlSession::open_call(const control_sealed& call) {
  if (!is_signed(Kind::call, call)) return base::fail(SealFault::forged);
  // Only what is signed moves the window.
  if (!seen_.take(call.sequence)) return base::fail(SealFault::repeated);
  return {};
}

control_sealed ControlSession::seal_reply(std::uint64_t sequence, base::BytesView body,
                                          io::Payload bulk) const {
  return seal(Kind::reply, sequence, body, std::move(bulk));
}

base::Result<void, SealFault> ControlSession::open_reply(std::uint64_t sequence,
                                                         const control_sealed& reply) const {
  if (reply.sequence != sequence || !is_signed(Kind::reply, reply)) return base::fail(SealFault::forged);
  return {};
}

}  // namespace braid::pnfs
