// What a coroutine costs over a plain call and over a callback.
#include "io/op.h"

#include <benchmark/benchmark.h>

#include <functional>

#include "io/ready_queue.h"

namespace braid {
namespace {

[[gnu::noinline]] int plain(int value) { return value + 1; }

[[gnu::noinline]] void with_callback(int value, const std::function<void(int)>& then) { then(value + 1); }

[[gnu::noinline]] io::Op<int> without_frame(int value) { return value + 1; }

[[gnu::noinline]] io::Op<int> with_frame(int value) { co_return value + 1; }

// Goes through the ready queue, as a call that waits for the ring does.
struct Yield {
  [[nodiscard]] bool await_ready() const { return false; }
  void await_suspend(std::coroutine_handle<> handle) {
    io::ReadyQueue::current().push(io::ReadyItem::of(handle));
  }
  void await_resume() const {}
};

[[gnu::noinline]] io::Op<int> with_wait(int value) {
  co_await Yield{};
  co_return value + 1;
}

// Each calls its subject until the benchmark ends, so that starting the outer coroutine does not count.
io::Op<> call_without_frame(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(co_await without_frame(1));
}
io::Op<> call_with_frame(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(co_await with_frame(1));
}
io::Op<> call_with_wait(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(co_await with_wait(1));
}

void run_to_the_end(io::Op<> op) {
  io::ReadyQueue queue;
  io::ReadyQueue::make_current(&queue);
  op.start({});
  while (!op.done()) queue.run(64);
  io::ReadyQueue::make_current(nullptr);
}

void plain_call(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(plain(1));
}
void callback(benchmark::State& state) {
  int result = 0;
  for (auto _ : state) with_callback(1, [&result](int value) { benchmark::DoNotOptimize(result = value); });
}
void op_without_frame(benchmark::State& state) { run_to_the_end(call_without_frame(state)); }
void op_that_ends_at_once(benchmark::State& state) { run_to_the_end(call_with_frame(state)); }
void op_that_waits_once(benchmark::State& state) { run_to_the_end(call_with_wait(state)); }

BENCHMARK(plain_call);
BENCHMARK(callback);
BENCHMARK(op_without_frame);
BENCHMARK(op_that_ends_at_once);
BENCHMARK(op_that_waits_once);

}  // namespace
}  // namespace braid
