#include "server/roles/stores/seal_engine.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <random>

#include "hashing/chunk_params.h"
#include "tests/cuda_driver/control.h"

namespace braid::server::roles::stores {
namespace {

using config::StoreHashing;
using testing::HasSubstr;

base::Bytes random_bytes(std::size_t count) {
  std::mt19937_64 random(1);
  base::Bytes out(count);
  for (std::byte& byte : out) byte = static_cast<std::byte>(random());
  return out;
}

class SealEngineTest : public testing::Test {
 protected:
  SealEngineTest() {
    // The driver of the tests, set up before the first job looks for cards.
    void* const library = ::dlopen(BRAID_TEST_CUDA_DRIVER, RTLD_NOW);
    const auto set_up = reinterpret_cast<cuda_driver::SetUp>(::dlsym(library, cuda_driver::set_up_name));
    const cuda_driver::Settings settings;
    set_up(&settings);
  }
  hashing::Job job() const { return {.params = &params, .spans = {base::BytesView(data)}}; }

  const base::Bytes data = random_bytes(2 * base::MiB);
  const hashing::ChunkParams params = hashing::ChunkParams::of(hashing::Profile::general, hashing::Key());
  const base::SystemClock clock;
  hashing::CpuHasher own{clock};
  const std::vector<hashing::Chunk> expected = hashing::CpuHasher(clock).run(job())->chunks;
};

TEST_F(SealEngineTest, a_card_hashes_and_says_what_it_did) {
  // However busy the machine is, the card is not late.
  SealEngine engine({.library = BRAID_TEST_CUDA_DRIVER},
                    {.late_after = std::chrono::hours(1), .open_patience = std::chrono::hours(1)});
  base::MetricRegistry metrics;
  engine.register_metrics(metrics);
  nlohmann::json report;
  engine.report(report);
  EXPECT_FALSE(report.contains("hashing"));

  const store::HashJob hash = engine.hash_as(StoreHashing::cuda);
  EXPECT_EQ(hash(job(), own)->chunks, expected);
  engine.report(report);
  ASSERT_EQ(report["hashing"]["cards"].size(), 1u);
  EXPECT_EQ(report["hashing"]["jobs_on_cards"], 1);
  EXPECT_EQ(report["hashing"]["cards"][0]["jobs"], 1);
  EXPECT_EQ(report["hashing"]["cards"][0]["bytes"], data.size());
  EXPECT_EQ(report["hashing"]["cards"][0]["out_of_use"], false);
  EXPECT_THAT(metrics.prometheus(), HasSubstr("braid_hashing_jobs_total{where=\"card\"} 1\n"));
  EXPECT_THAT(metrics.prometheus(), HasSubstr("braid_hashing_card_jobs_total{card=\"0 test card 0\"} 1\n"));

  // While the server ends, cores go on.
  engine.stop();
  EXPECT_EQ(hash(job(), own)->chunks, expected);
  report.clear();
  engine.report(report);
  EXPECT_EQ(report["hashing"]["jobs_on_cards"], 1);
  EXPECT_EQ(report["hashing"]["jobs_on_cores"], 1);
}

TEST_F(SealEngineTest, nobody_looks_for_cards_where_cores_are_told) {
  SealEngine engine({.library = BRAID_TEST_CUDA_DRIVER});
  EXPECT_FALSE(engine.hash_as(StoreHashing::cpu));
}

TEST_F(SealEngineTest, without_a_driver_cores_do_it) {
  SealEngine engine({.library = "libcuda-that-is-not-there.so"});
  EXPECT_EQ(engine.hash_as(StoreHashing::automatic)(job(), own)->chunks, expected);
  nlohmann::json report;
  engine.report(report);
  EXPECT_TRUE(report["hashing"]["cards"].empty());
  EXPECT_EQ(report["hashing"]["jobs_on_cores"], 1);
}

}  // namespace
}  // namespace braid::server::roles::stores
