#include "rdma/registration.h"

#include <gtest/gtest.h>

#include "rdma/sim/fabric.h"

namespace braid::rdma {
namespace {

class RegistrationTest : public testing::Test {
 protected:
  std::unique_ptr<MemoryMap> map(Registration strategy) {
    return MemoryMap::create(host_, pool_, strategy, metrics_).value();
  }
  io::SlabRange range(std::uint32_t bytes) { return {pool_.acquire(io::SlabSize::small).value(), 0, bytes}; }

  base::MetricRegistry registry_;
  RegistrationMetrics metrics_{registry_};
  sim::Fabric fabric_;
  sim::Host host_{fabric_, "sim0"};
  io::SlabPool pool_{{.bytes_max = 4 * io::region_bytes, .huge_pages = false}};
};

TEST_F(RegistrationTest, the_cache_registers_regions_not_transfers) {
  const io::SlabRange before = range(100);
  {
    const auto cache = map(Registration::cache);
    EXPECT_EQ(metrics_.made.value(), 1U);
    const io::SlabRef large = pool_.acquire(io::SlabSize::large).value();
    EXPECT_EQ(metrics_.made.value(), 2U);
    EXPECT_EQ(cache->bytes_registered(), 2 * io::region_bytes);
    for (int i = 0; i < 5; ++i) EXPECT_EQ(cache->pin(before)->key(), cache->key_of(before.slab));
    EXPECT_NE(cache->key_of(large), cache->key_of(before.slab));
    EXPECT_EQ(metrics_.made.value(), 2U);
    EXPECT_EQ(metrics_.reused.value(), 5U);
  }
  EXPECT_EQ(host_.stats().regions, 0U);
}

TEST_F(RegistrationTest, dynamic_registers_each_transfer_for_its_time) {
  const auto dynamic = map(Registration::dynamic);
  const io::SlabRange data = range(100);
  const std::size_t at_rest = host_.stats().regions;
  {
    const Pin pin = dynamic->pin(data).value();
    EXPECT_EQ(host_.stats().regions, at_rest + 1);
    EXPECT_NE(pin.key(), dynamic->key_of(data.slab));
  }
  EXPECT_EQ(host_.stats().regions, at_rest);
  EXPECT_EQ(metrics_.bytes.value(), io::region_bytes + 100);
}

TEST_F(RegistrationTest, odp_registers_once_for_all) {
  const auto odp = map(Registration::odp);
  const io::SlabRange data = range(100);
  EXPECT_EQ(odp->pin(data)->key(), odp->key_of(data.slab));
  EXPECT_EQ(metrics_.made.value(), 1U);
}

TEST_F(RegistrationTest, odp_needs_a_device_that_has_it) {
  sim::Host plain(fabric_, "sim1", {.requests_max = 16, .pieces_max = 4, .reads_max = 1, .on_demand = false});
  const auto made = MemoryMap::create(plain, pool_, Registration::odp, metrics_);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error(), base::errno_of(ENOTSUP));
}

TEST_F(RegistrationTest, what_the_device_refuses_the_pool_does_not_hand_out) {
  const auto cache = map(Registration::cache);
  host_.refuse_registrations(1);
  EXPECT_FALSE(pool_.acquire(io::SlabSize::small));
  EXPECT_EQ(metrics_.refused.value(), 1U);
  EXPECT_TRUE(pool_.acquire(io::SlabSize::small));
}

}  // namespace
}  // namespace braid::rdma
