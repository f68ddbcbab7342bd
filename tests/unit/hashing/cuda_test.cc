// The CUDA cards as they are built for users, with the driver of tests/cuda_driver: streams that run beside
// the program, memory of their own, and faults.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "hashing/cpu_hasher.h"
#include "hashing/cuda/cuda_cards.h"
#include "tests/cuda_driver/control.h"
#include "tests/unit/hashing/engine_fixture.h"

namespace braid::hashing {
namespace {

using cuda_driver::Fault;

// Settings come before the engine, which finds the cards as they are then.
class CudaTest : public test::EngineFixture {
 protected:
  CudaTest()
      : library_(::dlopen(BRAID_TEST_CUDA_DRIVER, RTLD_NOW)),
        pool({.bytes_max = 256 * base::MiB, .huge_pages = false}) {
    options.mode = EngineMode::card;
    options.cards.first_quarantine = std::chrono::milliseconds(1);
    options.cards.quarantine_max = std::chrono::milliseconds(2);
  }
  ~CudaTest() override {
    engine.reset();
    EXPECT_EQ(counts().held, 0u) << "something of the cards was not given back";
  }
  void release() { symbol<cuda_driver::Release>(cuda_driver::release_name)(); }
  void set_up() { symbol<cuda_driver::SetUp>(cuda_driver::set_up_name)(&settings); }
  cuda_driver::Counts counts() {
    cuda_driver::Counts out;
    symbol<cuda_driver::Count>(cuda_driver::count_name)(&out);
    return out;
  }
  void make_engine_with_cuda() {
    set_up();
    make_engine(cuda_cards(cuda, pool));
  }
  // A megabyte of the data in slabs, from an odd place on.
  Job pooled_job(std::size_t bytes) {
    Job job{.params = &params, .key = key};
    for (std::size_t at = 0; at < bytes; at += io::large_slab_bytes) {
      slabs_.push_back(pool.acquire(io::SlabSize::large).value());
      const auto part = base::BytesView(data).subspan(at, std::min(bytes - at, io::large_slab_bytes));
      std::ranges::copy(part, slabs_.back().data());
      job.spans.emplace_back(slabs_.back().data(), part.size());
    }
    return job;
  }
  void give_back_slabs() { slabs_.clear(); }
  template <class Condition>
  static void wait_until(Condition condition) {
    while (!condition()) std::this_thread::yield();
  }
  CardStats card(std::size_t i = 0) { return engine->stats().cards.at(i); }

  template <class Function>
  Function symbol(const char* name) {
    return reinterpret_cast<Function>(::dlsym(library_, name));
  }

 private:
  void* library_;

 protected:
  io::SlabPool pool;
  CudaOptions cuda{.library = BRAID_TEST_CUDA_DRIVER};
  cuda_driver::Settings settings;

 private:
  std::vector<io::SlabRef> slabs_;
};

TEST_F(CudaTest, cards_give_the_cpus_chunks_and_work_on_several_batches_at_once) {
  // The first batch ends when another has begun, however slowly the engine's threads run.
  settings.fault = {.kind = Fault::Kind::hang, .function = "cuMemcpyHtoDAsync_v2"};
  make_engine_with_cuda();
  const auto jobs = many_jobs(60);
  expect_right(jobs, submit_then(jobs, [this] {
                 wait_until([this] { return counts().streams_busy >= 2; });
                 release();
               }));
  EXPECT_EQ(engine->stats().parts_card, 60u);
  EXPECT_EQ(card().failures, 0u);
}

TEST_F(CudaTest, what_lies_in_the_pool_is_uploaded_from_where_it_is) {
  make_engine_with_cuda();
  const std::vector<Job> jobs{pooled_job(3 << 20)};
  expect_right(jobs, submit(jobs));  // pins what the pool has mapped since
  const std::uint64_t copied = counts().pinned_bytes_uploaded;
  expect_right(jobs, submit(jobs));
  EXPECT_GE(counts().pinned_bytes_uploaded - copied, 3u << 20);
  EXPECT_EQ(counts().pageable_bytes_uploaded, 0u);
  EXPECT_EQ(counts().calls["cuMemHostRegister_v2"], pool.stats().bytes_mapped / io::region_bytes);
  give_back_slabs();
}

// What is measured is the upload and the kernel, not that they were begun.
TEST_F(CudaTest, an_upload_and_a_sliding_window_can_be_waited_for) {
  set_up();
  const auto cards = cuda_cards(cuda, pool);
  ASSERT_EQ(cards.size(), 1u);
  const CardLimits limits{.slots = 1, .slot_bytes = 4 << 20, .streams_max = 4};
  ASSERT_TRUE(cards[0]->open(limits));
  Task task;
  task.job = {.work = Work::hash, .spans = {base::BytesView(data).first(1 << 20)}};
  task.bytes = 1 << 20;
  CardBatch batch(limits);
  ASSERT_TRUE(batch.add(&task));
  cards[0]->gather(0, batch.finish());
  ASSERT_TRUE(cards[0]->load(0));
  ASSERT_TRUE(cards[0]->wait(0));
  EXPECT_EQ(counts().streams_busy, 0u);
  ASSERT_TRUE(cards[0]->slide(0, {.window = 20, .step = 1, .zero_bits = 8}));
  ASSERT_TRUE(cards[0]->wait(0));
  EXPECT_EQ(counts().streams_busy, 0u);
  EXPECT_EQ(cards[0]->slide_cuts(0).value(),
            sliding_cuts({.window = 20, .step = 1, .zero_bits = 8}, task.job.spans[0]).value());
  cards[0]->close();
}

TEST_F(CudaTest, memory_that_cannot_be_pinned_is_copied) {
  settings.pinned_bytes_max = 4 * base::MiB;  // the card's own, but no region of the pool
  make_engine_with_cuda();
  const std::vector<Job> jobs{pooled_job(3 << 20)};
  expect_right(jobs, submit(jobs));
  EXPECT_EQ(card().jobs, 1u);
  EXPECT_GE(counts().pageable_bytes_uploaded, 3u << 20);
  give_back_slabs();
}

TEST_F(CudaTest, two_cards_share_the_work_and_the_pinned_memory) {
  settings.devices = 2;
  make_engine_with_cuda();
  std::vector<Job> jobs = many_jobs(60);
  jobs.push_back(pooled_job(3 << 20));
  expect_right(jobs, submit(jobs));
  for (const std::size_t i : {0U, 1U}) EXPECT_GT(card(i).batches, 0u) << i;
  EXPECT_EQ(card(0).failures + card(1).failures, 0u);
  give_back_slabs();
}

TEST_F(CudaTest, cards_that_cannot_be_used_leave_the_work_to_the_cpu) {
  const auto refused = [this](const char* what) {
    SCOPED_TRACE(what);
    make_engine_with_cuda();
    const auto jobs = many_jobs(5);
    expect_right(jobs, submit(jobs));
    EXPECT_EQ(engine->stats().parts_card, 0u);
    engine.reset();
    settings = {};
  };
  settings.devices = 0;
  refused("no card");
  settings.compute_major = 7;
  refused("too old a card");
  settings.takes_images = false;
  refused("too old a driver");
  settings.memory_bytes = 16 << 20;
  refused("too little memory");
  cuda.library = "/nonexistent/libcuda.so.1";
  refused("no driver");
}

TEST_F(CudaTest, what_there_is_and_why_it_is_not_used_is_told) {
  settings = {.devices = 2, .version = 12040, .memory_bytes = 1 << 20};
  set_up();
  CudaState state = cuda_state(cuda);
  EXPECT_EQ(state.driver, "CUDA driver 12.4");
  ASSERT_EQ(state.devices.size(), 2u);
  EXPECT_EQ(state.devices[1].name, "1 test card 1");
  EXPECT_EQ(state.devices[1].refused, "");
  EXPECT_EQ(state.devices[1].memory_bytes, 1u << 20);
  EXPECT_EQ(state.summary(), "CUDA driver 12.4, 2 CUDA cards");
  settings.compute_major = 7;
  set_up();
  state = cuda_state(cuda);
  EXPECT_EQ(state.devices.at(0).refused, "test card 0 has compute capability 7.0; 8.0 or later is needed");
  EXPECT_EQ(state.summary(), "CUDA driver 12.4, no card that can be used");
  settings.devices = 0;
  set_up();
  EXPECT_EQ(cuda_state(cuda).summary(), "the CUDA driver finds no card");
  EXPECT_EQ(cuda_state({.library = "/nonexistent/libcuda.so.1"}).summary(), "no CUDA driver");
}

TEST_F(CudaTest, a_driver_that_does_not_start_is_left_alone) {
  settings.fault = {.kind = Fault::Kind::hang, .function = "cuInit"};
  cuda.patience = std::chrono::milliseconds(20);
  make_engine_with_cuda();
  release();
  const auto jobs = many_jobs(3);
  expect_right(jobs, submit(jobs));
  EXPECT_EQ(engine->stats().parts_card, 0u);
  engine.reset();
  set_up();
  EXPECT_EQ(cuda_state(cuda).summary(), "the CUDA driver does not start");
  release();
}

// As with CUDA_VISIBLE_DEVICES empty, and with a card in exclusive mode that another process has.
TEST_F(CudaTest, a_card_that_others_have_is_tried_again) {
  settings.fault = {.kind = Fault::Kind::error, .function = "cuDevicePrimaryCtxRetain"};
  make_engine_with_cuda();
  const auto jobs = many_jobs(5);
  expect_right(jobs, submit(jobs));
  wait_until([this] { return !card().quarantined; });
  EXPECT_GT(card().failures, 0u);
  expect_right(jobs, submit(jobs));
  EXPECT_GE(card().jobs, 5u) << "it may have been back for the first ones, too";
}

TEST_F(CudaTest, a_card_with_little_memory_is_enough) {
  settings.memory_bytes = std::size_t{1} << 30;
  options.cards.limits = CardLimits();
  make_engine_with_cuda();
  const auto jobs = many_jobs(5);
  expect_right(jobs, submit(jobs));
  EXPECT_EQ(engine->stats().parts_card, 5u);
}

TEST_F(CudaTest, jobs_in_flight_end_when_the_engine_stops) {
  make_engine_with_cuda();
  const auto jobs = many_jobs(30);
  const auto results = submit_and_stop(jobs);
  CpuHasher cpu(clock);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (!results[i]) continue;  // refused
    EXPECT_EQ(results[i]->chunks, cpu.run(jobs[i]).value().chunks) << i;
  }
}

constexpr std::array functions{"cuDevicePrimaryCtxRetain",
                               "cuCtxSetCurrent",
                               "cuCtxGetStreamPriorityRange",
                               "cuModuleLoadData",
                               "cuModuleUnload",
                               "cuModuleGetFunction",
                               "cuMemAlloc_v2",
                               "cuMemFree_v2",
                               "cuMemHostAlloc",
                               "cuMemFreeHost",
                               "cuMemHostRegister_v2",
                               "cuMemHostUnregister",
                               "cuMemcpyHtoDAsync_v2",
                               "cuMemcpyDtoHAsync_v2",
                               "cuStreamCreateWithPriority",
                               "cuStreamDestroy_v2",
                               "cuStreamSynchronize",
                               "cuEventCreate",
                               "cuEventDestroy_v2",
                               "cuEventRecord",
                               "cuEventQuery",
                               "cuLaunchKernel"};

// There are many faults, and all that is hashed is hashed three times more to be compared.
constexpr std::size_t few = 20'000;

class CudaFaultTest : public CudaTest, public testing::WithParamInterface<const char*> {
 protected:
  static bool is_put_into_a_stream() {
    constexpr std::array put_into_streams{"cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2", "cuEventRecord",
                                          "cuLaunchKernel"};
    return std::ranges::find(put_into_streams, std::string_view(GetParam())) != put_into_streams.end();
  }
  // True if the fault came to pass.
  bool run_with(Fault::Kind kind, unsigned call) {
    settings.fault = {.kind = kind, .function = GetParam(), .call = call};
    make_engine_with_cuda();
    std::vector<Job> jobs = many_jobs(12, few);
    jobs.push_back(pooled_job(256 << 10));
    expect_right(jobs, submit(jobs));
    // Used again, if it was lost.
    wait_until([this] { return !card().quarantined; });
    expect_right(jobs, submit(jobs));
    wait_until([this] { return !card().quarantined; });
    const bool fired = counts().fault_fired > 0;
    engine.reset();
    give_back_slabs();
    EXPECT_EQ(counts().held, 0u) << "after call " << call;
    return fired;
  }
};

TEST_P(CudaFaultTest, a_call_that_fails_loses_nothing_and_the_card_comes_back) {
  for (const unsigned call : {1U, 2U, 9U}) run_with(Fault::Kind::error, call);
}

// Only a new context works then.
TEST_P(CudaFaultTest, an_error_that_stays_with_the_context_loses_nothing_and_the_card_comes_back) {
  for (const unsigned call : {1U, 5U}) run_with(Fault::Kind::sticky, call);
}

// What is behind it in its stream does not end, either, until the context is made anew.
TEST_P(CudaFaultTest, what_never_ends_is_done_by_the_cpu_and_the_card_comes_back) {
  if (!is_put_into_a_stream()) return;
  options.cards.late_after = std::chrono::milliseconds(20);
  for (const unsigned call : {1U, 2U, 3U, 5U, 9U}) run_with(Fault::Kind::hang, call);
}

TEST_P(CudaFaultTest, what_never_ends_does_not_keep_the_engine_from_stopping) {
  if (!is_put_into_a_stream()) return;
  settings.fault = {.kind = Fault::Kind::hang, .function = GetParam(), .call = 2};
  options.cards.late_after = std::chrono::milliseconds(20);
  make_engine_with_cuda();
  submit_and_stop(many_jobs(12, few));
}

// Of those that are called while there is work, or before: what waits is done by the CPU, however long it
// takes.
TEST_P(CudaFaultTest, a_call_that_does_not_return_holds_up_nobody) {
  constexpr std::array at_the_end{"cuModuleUnload",      "cuMemFree_v2",       "cuMemFreeHost",
                                  "cuMemHostUnregister", "cuStreamDestroy_v2", "cuStreamSynchronize",
                                  "cuEventDestroy_v2"};
  if (std::ranges::find(at_the_end, std::string_view(GetParam())) != at_the_end.end()) return;
  options.cards.late_after = options.cards.open_patience = std::chrono::milliseconds(20);
  for (const unsigned call : {1U, 2U, 6U, 11U}) {
    settings.fault = {.kind = Fault::Kind::hang, .function = GetParam(), .call = call};
    make_engine_with_cuda();
    const std::vector<Job> jobs = many_jobs(12, few);
    expect_right(jobs, submit(jobs));
    release();
    wait_until([this] { return !card().quarantined; });
    expect_right(jobs, submit(jobs));
    engine.reset();
  }
}

class CudaEndTest : public CudaTest {
 protected:
  // Ends the program while the driver hangs in this function, which is called for a batch or only when the
  // card is closed.
  [[noreturn]] void end_while_in(const char* function, bool for_a_batch) {
    settings.fault = {.kind = Fault::Kind::hang, .function = function};
    options.cards.stop_patience = std::chrono::milliseconds(20);
    options.cards.late_after = for_a_batch ? options.cards.stop_patience : std::chrono::hours(1);
    make_engine_with_cuda();
    const std::vector<Job> jobs = many_jobs(12, few);
    expect_right(jobs, submit(jobs));
    engine.reset();
    std::_Exit(HasFailure() ? 1 : 0);
  }
};

// The thread in the driver is left behind.
TEST_F(CudaEndTest, a_driver_that_hangs_does_not_keep_the_program_from_ending) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(end_while_in("cuEventQuery", true), testing::ExitedWithCode(0), "card_left_behind");
  EXPECT_EXIT(end_while_in("cuStreamSynchronize", false), testing::ExitedWithCode(0), "card_left_behind");
}

// What should have been done was not, and nobody said so: every chunk is compared by the engine here.
TEST_P(CudaFaultTest, what_is_left_out_is_never_a_wrong_id) {
  if (!is_put_into_a_stream()) return;
  for (const unsigned call : {1U, 2U, 3U, 4U, 5U, 6U, 7U, 12U, 20U}) run_with(Fault::Kind::skip, call);
}

INSTANTIATE_TEST_SUITE_P(Calls, CudaFaultTest, testing::ValuesIn(functions),
                         [](const auto& function) { return std::string(function.param); });

}  // namespace
}  // namespace braid::hashing
