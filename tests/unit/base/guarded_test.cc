#include "base/guarded.h"

#include <gtest/gtest.h>

#include <coroutine>
#include <exception>
#include <thread>
#include <vector>

namespace braid::base {
namespace {

struct Task {
  struct promise_type {
    Task get_return_object() { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
};

// What Guarded::with refuses to compile, seen through the concept that it asks.
static_assert(Awaitable<Task>, "the result of a coroutine");
static_assert(Awaitable<std::suspend_always>, "something a coroutine waits for");
static_assert(!Awaitable<int>);
static_assert(!Awaitable<std::vector<int>>);

TEST(Guarded, with_returns_what_the_function_returns) {
  Guarded<int> value(std::in_place, 20);
  EXPECT_EQ(value.with([](int& v) { return v += 22; }), 42);
  const Guarded<int>& view = value;
  EXPECT_EQ(view.with([](const int& v) { return v; }), 42);
}

TEST(Guarded, threads_see_the_value_one_at_a_time) {
  constexpr int threads = 4, rounds = 20'000;
  Guarded<long> value(std::in_place, 0);
  {
    std::vector<std::jthread> workers;
    for (int t = 0; t < threads; ++t)
      workers.emplace_back([&] {
        for (int i = 0; i < rounds; ++i) value.with([](long& v) { ++v; });
      });
  }
  EXPECT_EQ(value.with([](long& v) { return v; }), long{threads} * rounds);
}

}  // namespace
}  // namespace braid::base
