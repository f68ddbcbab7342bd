// Objects that are written to are told of together.
#include "pnfs_ds/announcements.h"

#include <gmock/gmock.h>

#include "base/clock.h"
#include "tests/unit/rpc/loop.h"

namespace braid::pnfs_ds::test {
namespace {

// Each call takes a while.
class Slow final : public MetadataServer {
 public:
  vfs::VfsOp<FileFacts> facts_of(pnfs::ObjectId /*object*/) override { return base::fail(vfs::Error::stale); }
  vfs::VfsOp<EachObject> tell_dirty(std::vector<pnfs::ObjectId> objects) override {
    calls.push_back(objects.size());
    ++running;
    EXPECT_EQ(running, 1);
    (void)co_await io::Reactor::current()->sleep(std::chrono::milliseconds(1)).as_result();
    --running;
    EachObject out(objects.size());
    for (std::size_t i = 0; i < objects.size(); ++i)
      if (objects[i].value() % 2 == 1) out[i] = base::fail(vfs::Error::stale);
    if (lies) out.pop_back();
    co_return std::move(out);
  }
  std::vector<std::size_t> calls;
  int running = 0;
  bool lies = false;
};

io::Op<> tell(Announcements& announcements, std::uint64_t object, int& told) {
  const auto done = co_await announcements.announce(pnfs::ObjectId(object)).as_result();
  EXPECT_EQ(done.has_value(), object % 2 == 0);
  ++told;
}

TEST(Announcements, one_call_is_under_way_and_the_others_share_the_next) {
  const base::SystemClock clock;
  rpc::test::Loop loop(clock);
  Slow metadata;
  Announcements announcements(metadata);
  int told = 0;
  loop.run([&]() -> io::Op<> {
    io::Gate gate;
    for (std::uint64_t object = 0; object < 2500; ++object)
      io::spawn(gate, tell(announcements, object, told));
    co_await gate.drained();
  });
  EXPECT_EQ(told, 2500);
  EXPECT_EQ(metadata.calls, (std::vector<std::size_t>{1, 1024, 1024, 451}));
}

TEST(Announcements, an_answer_of_another_shape_is_none) {
  const base::SystemClock clock;
  rpc::test::Loop loop(clock);
  Slow metadata;
  metadata.lies = true;
  Announcements announcements(metadata);
  loop.run([&]() -> io::Op<> {
    const auto done = co_await announcements.announce(pnfs::ObjectId(2)).as_result();
    EXPECT_EQ(done.error(), vfs::Error::delay);
  });
}

}  // namespace
}  // namespace braid::pnfs_ds::test
