// The control protocol of pNFS: every message is decoded within bounds and encoded again as it was; what
// nobody signed is refused. Input: which message, then its bytes.
#include <algorithm>
#include <cstdint>

#include "base/assert.h"
#include "io/slab.h"
#include "pnfs/control_session.h"
#include "pnfs/hello.h"
#include "xdr/decoder.h"
#include "xdr/encoder.h"

namespace {

using namespace braid;

template <class T>
io::Payload encoded(const T& value, io::SlabCursor& cursor) {
  xdr::Encoder out(cursor);
  encode(out, value);
  base::check(out.ok(), "what was decoded can be encoded");
  return out.finish().bytes;
}

template <class T, class F>
void check_message(const io::Payload& message, io::SlabCursor& cursor, F look) {
  xdr::Arena arena;
  xdr::Decoder in(message, arena);
  T value;
  if (!decode(in, value)) return;
  look(value);
  const io::Payload first = encoded(value, cursor);
  base::check(first.size() == message.size() - in.remaining(), "in as many bytes");
  // The padding of a peer may be other bytes than zeros; ours is zeros.
  xdr::Decoder in_again(first, arena);
  T again;
  base::check(decode(in_again, again), "what was encoded can be decoded");
  base::check(base::equal(first.in_memory()->bytes(), encoded(again, cursor).in_memory()->bytes()),
              "and is the same");
}

void look_at_hello(const pnfs::control_hello& theirs) {
  const auto secret = pnfs::ClusterSecret::from(base::Bytes(32)).value();
  pnfs::Reception reception(secret);
  pnfs::control_hello ours{.role = pnfs::control_role::ROLE_METADATA,
                           .revision_min = 1,
                           .revision_max = 1,
                           .cluster = {std::byte{1}},
                           .server = {},
                           .name = {},
                           .addresses = {},
                           .nonce = {}};
  const base::TimePoint now{};
  const auto welcome = reception.greet(ours, theirs, 7, "host", now);
  if (!welcome) return;
  base::check(!reception.admit({.session = 7, .proof = {}}, now), "nobody guesses a proof");
}

void look_at_sealed(const pnfs::control_sealed& message) {
  pnfs::ControlSession session({}, message.session, pnfs::control_role::ROLE_METADATA, true);
  base::check(!session.open_call(message), "nobody guesses a signature");
  base::check(!session.open_reply(message.sequence, message), "nor that of a reply");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  static io::SlabPool pool({});
  io::SlabCursor cursor(pool);
  io::Payload message;
  for (std::size_t at = 1; at < size;) {
    const std::size_t step = std::min<std::size_t>(size - at, 1024);
    auto range = cursor.carve(step).value();
    std::ranges::copy(std::as_bytes(std::span(data + at, step)), range.writable().begin());
    message.append(std::move(range));
    at += step;
  }
  const auto nothing = [](const auto&) {};
  switch (data[0] % 10) {
    case 0:
      check_message<pnfs::control_hello>(message, cursor, look_at_hello);
      break;
    case 1:
      check_message<pnfs::HELLOres>(message, cursor, nothing);
      break;
    case 2:
      check_message<pnfs::PROVEargs>(message, cursor, nothing);
      break;
    case 3:
      check_message<pnfs::control_sealed>(message, cursor, look_at_sealed);
      break;
    case 4:
      check_message<pnfs::EXCHANGEres>(message, cursor, nothing);
      break;
    case 5:
      check_message<pnfs::to_metadata_args>(message, cursor, nothing);
      break;
    case 6:
      check_message<pnfs::to_metadata_res>(message, cursor, nothing);
      break;
    case 8:
      check_message<pnfs::to_data_args>(message, cursor, nothing);
      break;
    case 9:
      check_message<pnfs::to_data_res>(message, cursor, nothing);
      break;
    default:
      check_message<pnfs::PROVEres>(message, cursor, nothing);
  }
  return 0;
}
