#include "server/rdma_memory.h"

#include <gtest/gtest.h>

#include <array>

#include "rdma/sim/fabric.h"

namespace braid::server {
namespace {

constexpr std::uint64_t MiB = base::MiB;

TEST(RdmaMemory, every_device_pins_the_pool_and_dynamic_does_it_twice) {
  EXPECT_EQ(pinned_bytes(64 * MiB, 1, rdma::Registration::cache), 64 * MiB);
  EXPECT_EQ(pinned_bytes(64 * MiB, 2, rdma::Registration::cache), 128 * MiB);
  EXPECT_EQ(pinned_bytes(64 * MiB, 2, rdma::Registration::dynamic), 256 * MiB);
  EXPECT_EQ(pinned_bytes(64 * MiB, 2, rdma::Registration::odp), 0U);
}

TEST(RdmaMemory, a_limit_of_locked_memory_below_the_pool_is_said_with_what_to_do) {
  EXPECT_TRUE(check_pinned(64 * MiB, std::nullopt));
  EXPECT_TRUE(check_pinned(64 * MiB, 64 * MiB));
  const auto refused = check_pinned(1024 * MiB, 8 * MiB);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error(),
            "1024 MiB have to be locked in memory and this process may lock 8 MiB: raise the limit "
            "(LimitMEMLOCK=infinity under systemd, `ulimit -l` as root), or lower buffer_bytes_max");
}

class RegisterTest : public testing::Test {
 protected:
  base::MetricRegistry registry_;
  rdma::RegistrationMetrics metrics_{registry_};
  rdma::sim::Fabric fabric_;
  rdma::sim::Host plain_{fabric_, "plain0", {.requests_max = 16, .pieces_max = 4, .reads_max = 1}};
  rdma::sim::Host able_{fabric_, "able0"};
  io::SlabPool pool_{{.bytes_max = 4 * io::region_bytes, .huge_pages = false}};
};

TEST_F(RegisterTest, a_device_that_cannot_do_what_is_configured_is_found_out_at_the_start) {
  rdma::MemoryMaps maps(pool_, rdma::Registration::odp, metrics_);
  const std::array<rdma::Device*, 1> one{&plain_};
  const auto refused = register_with(one, maps);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error(), "plain0 cannot fault pages in; give another `registration` than \"odp\"");
}

TEST_F(RegisterTest, one_device_that_can_is_enough) {
  rdma::MemoryMaps maps(pool_, rdma::Registration::odp, metrics_);
  const std::array<rdma::Device*, 2> two{&plain_, &able_};
  EXPECT_TRUE(register_with(two, maps));
}

TEST_F(RegisterTest, a_device_that_refuses_memory_is_found_out_at_the_start) {
  const auto slab = pool_.acquire(io::SlabSize::small);
  rdma::MemoryMaps maps(pool_, rdma::Registration::cache, metrics_);
  able_.refuse_registrations(1);
  const std::array<rdma::Device*, 1> one{&able_};
  const auto refused = register_with(one, maps);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error(), "memory cannot be registered with able0: Cannot allocate memory");
}

}  // namespace
}  // namespace braid::server
