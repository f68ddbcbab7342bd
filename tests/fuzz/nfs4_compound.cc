// COMPOUNDs: whatever arrives is refused, or answered with results that the protocol can decode, within the
// bound of a reply. Input: the size of the pieces in which it arrives, whether it follows a SEQUENCE of an
// existing session, the arguments of COMPOUND or the operations behind SEQUENCE.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>

#include "tests/fuzz/nfs4_reply.h"
#include "tests/unit/nfs4/support/world.h"

namespace {

using namespace braid;
using namespace braid::nfs4;
using base::BytesView;

io::Payload cut(BytesView bytes, std::size_t piece_bytes, io::SlabPool& pool) {
  io::Payload payload;
  while (!bytes.empty()) {
    io::SlabCursor cursor(pool);
    const std::size_t step = std::min(piece_bytes, bytes.size());
    auto range = cursor.carve(step);
    std::memcpy(range->writable().data(), bytes.data(), step);
    payload.append(std::move(*range));
    bytes = bytes.subspan(step);
  }
  return payload;
}

// One server for many inputs; a new one before their state adds up.
struct Subject {
  test::World world;
  test::SessionClient client{world, 2, "fuzz"};
  unsigned inputs = 0;
  Subject() { world.write_local("file", "some text"); }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr unsigned inputs_max = 512;
  static std::unique_ptr<Subject> subject;
  if (size < 2) return 0;
  if (!subject || ++subject->inputs > inputs_max) subject = std::make_unique<Subject>();
  const std::size_t piece_bytes = data[0] == 0 ? 4096 : data[0];
  const bool in_session = (data[1] & 1) != 0;
  const BytesView rest(reinterpret_cast<const std::byte*>(data + 2), size - 2);
  io::Payload args;
  if (in_session) {
    test::Request request = subject->client.request();
    request.claim_count(1 + data[1] / 2);
    args = request.encoded();
  }
  args.append(cut(rest, piece_bytes, subject->world.slabs()));
  const test::Reply reply = subject->world.send_raw(std::move(args));
  if (reply.answer() == rpc::Answer::success) fuzz::check_reply(reply.bytes());
  return 0;
}
