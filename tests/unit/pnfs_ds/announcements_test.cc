// Objects that are written to are told of together.
#include "pnfs_ds/announcements.h"

#include <gmock/gmock.h>

#include <deque>

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
  // One is under way.
  [[nodiscard]] io::Op<> begun() const {
    while (running == 0) co_await io::Reactor::current()->yield();
  }
  std::vector<std::size_t> calls;
  int running = 0;
  bool lies = false;
};

io::Op<> tell(Announcements& announcements, Object& object, int& told) {
  const auto done = co_await announcements.announce(object).as_result();
  EXPECT_EQ(done.has_value(), object.key.object.value() % 2 == 0);
  EXPECT_EQ(object.announced(), done.has_value());
  ++told;
}

TEST(Announcements, one_call_is_under_way_and_the_others_share_the_next) {
  const base::SystemClock clock;
  rpc::test::Loop loop(clock);
  Slow metadata;
  Announcements announcements(metadata);
  int told = 0;
  std::deque<Object> objects;
  for (std::uint64_t number = 0; number < 2500; ++number)
    objects.emplace_back(ObjectKey{pnfs::ObjectId(number), 0});
  loop.run([&]() -> io::Op<> {
    io::Gate gate;
    for (Object& object : objects) {
      io::spawn(gate, tell(announcements, object, told));
      if (metadata.calls.empty()) co_await metadata.begun();
    }
    co_await gate.drained();
  });
  EXPECT_EQ(told, 2500);
  EXPECT_EQ(metadata.calls, (std::vector<std::size_t>{1, 1024, 1024, 451}));
}

TEST(Announcements, who_comes_while_its_object_is_told_of_needs_no_call) {
  const base::SystemClock clock;
  rpc::test::Loop loop(clock);
  Slow metadata;
  Announcements announcements(metadata);
  int told = 0;
  Object object(ObjectKey{pnfs::ObjectId(2), 0});
  const auto tell_of_eight = [&]() -> io::Op<> {
    io::Gate gate;
    for (int i = 0; i < 8; ++i) {
      io::spawn(gate, tell(announcements, object, told));
      if (i == 0) co_await metadata.begun();
    }
    co_await gate.drained();
  };
  loop.run([&]() -> io::Op<> {
    co_await tell_of_eight();
    EXPECT_EQ(metadata.calls, (std::vector<std::size_t>{1}));
    object.note_asked();
    co_await tell_of_eight();
  });
  EXPECT_EQ(metadata.calls, (std::vector<std::size_t>{1, 1})) << "it is told once more";
  EXPECT_EQ(told, 16);
}

// What was told before does not count: who asks in between has seen it, perhaps.
TEST(Announcements, who_comes_after_it_was_asked_for_shares_a_call_for_each_object) {
  const base::SystemClock clock;
  rpc::test::Loop loop(clock);
  Slow metadata;
  Announcements announcements(metadata);
  int told = 0;
  Object object(ObjectKey{pnfs::ObjectId(2), 0}), other(ObjectKey{pnfs::ObjectId(3), 0});
  loop.run([&]() -> io::Op<> {
    io::Gate gate;
    for (int i = 0; i < 4; ++i) {
      io::spawn(gate, [](Announcements& to, Object& of, int& done) -> io::Op<> {
        (void)co_await to.announce(of).as_result();
        ++done;
      }(announcements, i % 2 == 0 ? object : other, told));
      if (i == 0) co_await metadata.begun();
    }
    object.note_asked();
    co_await gate.drained();
  });
  EXPECT_EQ(metadata.calls, (std::vector<std::size_t>{1, 2}));
  EXPECT_TRUE(object.announced());
  EXPECT_EQ(told, 4);
}

TEST(Announcements, an_answer_of_another_shape_is_none) {
  const base::SystemClock clock;
  rpc::test::Loop loop(clock);
  Slow metadata;
  metadata.lies = true;
  Announcements announcements(metadata);
  loop.run([&]() -> io::Op<> {
    Object object(ObjectKey{pnfs::ObjectId(2), 0});
    const auto done = co_await announcements.announce(object).as_result();
    EXPECT_EQ(done.error(), vfs::Error::delay);
  });
}

}  // namespace
}  // namespace braid::pnfs_ds::test
