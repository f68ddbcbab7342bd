// Which content a file has: found once, exchanged and replaced under load.
#include "vfs/content_slot.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "tests/unit/rpc/loop.h"

namespace braid::vfs {
namespace {

// The slot knows nothing of a content but its address and its life.
class Marked final : public Content {
 public:
  // What the former content goes through after an exchange: its bytes are punched.
  std::atomic<bool> punched{false};

  [[nodiscard]] ContentSource& source() const override { std::abort(); }
  VfsOp<ReadResult> read(Stub& /*stub*/, std::uint64_t /*offset*/, std::uint32_t /*count*/,
                         ReadMemory /*memory*/) override {
    return base::fail(Error::notsupp);
  }
  VfsOp<WriteResult> write(Stub& /*stub*/, const Credentials& /*who*/, std::uint64_t /*offset*/,
                           const io::Payload& /*data*/, Stability /*stability*/) override {
    return base::fail(Error::notsupp);
  }
  VfsOp<Verifier> commit(Stub& /*stub*/, const Credentials& /*who*/, std::uint64_t /*offset*/,
                         std::uint32_t /*count*/) override {
    return base::fail(Error::notsupp);
  }
  [[nodiscard]] Verifier write_verifier(const Verifier& /*own*/) const override { return {}; }
  VfsOp<> resize(Stub& /*stub*/, const Credentials& /*who*/, std::uint64_t /*size*/) override {
    return base::fail(Error::notsupp);
  }
};

bool punched(const ContentSlot::Use& use) {
  return static_cast<const Marked*>(use.content())->punched.load();
}

class ContentSlots : public testing::Test {
 protected:
  static std::shared_ptr<Marked> make() { return std::make_shared<Marked>(); }
  template <class F>
  void run(F body) {
    rpc::test::Loop loop(clock_);
    loop.run(body);
  }
  // Counts loads; each waits for a moment, so that others come meanwhile.
  ContentSlot::Load load(base::Result<ContentRef, Error> found) {
    return [this, found]() -> VfsOp<ContentRef> {
      ++loads_;
      (void)co_await io::Reactor::current()->sleep(std::chrono::milliseconds(2)).as_result();
      co_return co_await base::Result<ContentRef, Error>(found);
    };
  }

  base::SystemClock clock_;
  std::atomic<int> loads_{0};
};

TEST_F(ContentSlots, a_file_has_the_content_that_was_loaded) {
  const ContentRef found = make();
  ContentSlot slot;
  EXPECT_FALSE(slot.enter().has_value()) << "nobody knows it";
  EXPECT_EQ(slot.content(), nullptr);
  run([&]() -> io::Op<> {
    const auto use = co_await slot.acquire(load(found)).as_result();
    EXPECT_EQ(use->content(), found.get());
    const auto again = co_await slot.acquire(load(nullptr)).as_result();
    EXPECT_EQ(again->content(), found.get());
  });
  EXPECT_EQ(loads_, 1);
  EXPECT_EQ(slot.enter()->content(), found.get());
  EXPECT_EQ(slot.content(), found);
}

TEST_F(ContentSlots, a_plain_file_is_known_to_be_plain) {
  ContentSlot slot;
  run([&]() -> io::Op<> {
    const auto use = co_await slot.acquire(load(nullptr)).as_result();
    EXPECT_EQ(use->content(), nullptr);
  });
  EXPECT_EQ(slot.enter()->content(), nullptr);
}

TEST_F(ContentSlots, who_comes_during_a_load_shares_it) {
  const ContentRef found = make();
  ContentSlot slot;
  run([&]() -> io::Op<> {
    std::vector<VfsOp<ContentSlot::Use>> calls;
    for (int i = 0; i < 3; ++i) calls.push_back(slot.acquire(load(found)));
    for (auto& call : calls) call.start({});
    for (auto& call : calls) {
      const auto use = co_await std::move(call).as_result();
      EXPECT_EQ(use->content(), found.get());
    }
  });
  EXPECT_EQ(loads_, 1);
}

TEST_F(ContentSlots, a_failed_load_is_the_error_of_all_who_waited_and_the_next_call_tries_again) {
  const ContentRef found = make();
  ContentSlot slot;
  run([&]() -> io::Op<> {
    VfsOp<ContentSlot::Use> one = slot.acquire(load(base::fail(Error::io)));
    VfsOp<ContentSlot::Use> other = slot.acquire(load(found));
    one.start({});
    other.start({});
    const auto first = co_await std::move(one).as_result();
    const auto second = co_await std::move(other).as_result();
    EXPECT_EQ(first.error(), Error::io);
    EXPECT_EQ(second.error(), Error::io);
    EXPECT_EQ(loads_, 1);
    const auto third = co_await slot.acquire(load(found)).as_result();
    EXPECT_EQ(third->content(), found.get());
    EXPECT_EQ(loads_, 2);
  });
}

TEST_F(ContentSlots, an_exchange_ends_when_the_calls_that_began_before_have_ended) {
  const ContentRef first = make(), second = make();
  ContentSlot slot(first);
  run([&]() -> io::Op<> {
    std::optional<ContentSlot::Use> before(slot.enter());
    io::Op<ContentRef> exchanging = slot.exchange(second);
    exchanging.start({});
    const bool waits = !exchanging.done();
    EXPECT_TRUE(waits);
    EXPECT_EQ(before->content(), first.get()) << "a call keeps what it began with";
    std::optional<ContentSlot::Use> after(slot.enter());
    EXPECT_EQ(after->content(), second.get()) << "what begins now does not wait";
    before.reset();
    const ContentRef former = co_await std::move(exchanging);
    EXPECT_EQ(former, first);
  });
}

TEST_F(ContentSlots, exchanges_of_one_file_take_turns) {
  const ContentRef first = make(), second = make(), third = make();
  ContentSlot slot(first);
  run([&]() -> io::Op<> {
    std::optional<ContentSlot::Use> before(slot.enter());
    io::Op<ContentRef> one = slot.exchange(second);
    io::Op<ContentRef> other = slot.exchange(third);
    one.start({});
    other.start({});
    EXPECT_EQ(slot.enter()->content(), second.get()) << "the other one waits for the first";
    before.reset();
    const ContentRef from_one = co_await std::move(one);
    const ContentRef from_other = co_await std::move(other);
    EXPECT_EQ(from_one, first);
    EXPECT_EQ(from_other, second);
    EXPECT_EQ(slot.enter()->content(), third.get());
  });
}

TEST_F(ContentSlots, no_call_runs_while_the_content_is_replaced) {
  const ContentRef first = make(), second = make();
  ContentSlot slot(first);
  run([&]() -> io::Op<> {
    std::optional<ContentSlot::Use> before(slot.enter());
    bool replaces = false;
    VfsOp<ContentRef> replacing =
        slot.replace(load(nullptr), [&](const ContentRef& former) -> VfsOp<ContentRef> {
          EXPECT_EQ(former, first);
          replaces = true;
          EXPECT_FALSE(slot.enter().has_value());
          (void)co_await io::Reactor::current()->sleep(std::chrono::milliseconds(2)).as_result();
          co_return second;
        });
    replacing.start({});
    EXPECT_FALSE(replaces) << "a call is under way";
    VfsOp<ContentSlot::Use> newcomer = slot.acquire(load(nullptr));
    newcomer.start({});
    before.reset();
    const auto made = co_await std::move(replacing).as_result();
    EXPECT_EQ(*made, second);
    const auto use = co_await std::move(newcomer).as_result();
    EXPECT_EQ(use->content(), second.get());
  });
  EXPECT_EQ(loads_, 0);
}

TEST_F(ContentSlots, a_replacement_that_fails_leaves_the_former_content) {
  const ContentRef first = make();
  ContentSlot slot(first);
  run([&]() -> io::Op<> {
    const auto failed =
        co_await slot
            .replace(load(nullptr),
                     [](const ContentRef&) -> VfsOp<ContentRef> { return base::fail(Error::nospc); })
            .as_result();
    EXPECT_EQ(failed.error(), Error::nospc);
  });
  EXPECT_EQ(slot.enter()->content(), first.get());
}

// Threads use the content all the time while it is exchanged and replaced; none sees one that is punched.
TEST_F(ContentSlots, nobody_uses_a_content_that_has_been_exchanged_away) {
  constexpr int exchanges = 100;
  ContentSlot slot(make());
  std::atomic<bool> over{false};
  std::atomic<std::uint64_t> uses{0}, wrong{0};
  std::vector<std::thread> users;
  for (int i = 0; i < 4; ++i)
    users.emplace_back([&] {
      while (!over.load()) {
        const std::optional<ContentSlot::Use> use = slot.enter();
        if (!use) continue;
        for (int look = 0; look < 8; ++look) {
          if (punched(*use)) wrong.fetch_add(1);
          std::this_thread::yield();
        }
        uses.fetch_add(1);
      }
    });
  const auto next = [&](const ContentRef& former) -> VfsOp<ContentRef> {
    static_cast<Marked&>(*former).punched.store(true);
    return ContentRef(make());
  };
  run([&]() -> io::Op<> {
    // On a machine with much else to do, fewer.
    const base::TimePoint end = clock_.now() + std::chrono::seconds(5);
    for (int i = 0; i < exchanges && clock_.now() < end; ++i) {
      const ContentRef former = co_await slot.exchange(make());
      static_cast<Marked&>(*former).punched.store(true);
      if (i % 4 == 0) (void)co_await slot.replace(load(nullptr), next).as_result();
      for (const std::uint64_t seen = uses.load(); uses.load() == seen;) std::this_thread::yield();
    }
  });
  over.store(true);
  for (std::thread& user : users) user.join();
  EXPECT_EQ(wrong.load(), 0U);
}

}  // namespace
}  // namespace braid::vfs
