#include "server/process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "store/store.h"

namespace braid::server {
namespace {

config::Config with_one_export() {
  config::Config config;
  config.exports.resize(1);
  return config;
}

TEST(DescriptorPlan, half_is_for_open_files_and_a_quarter_for_connections) {
  const auto plan = plan_descriptors(with_one_export(), 2, 4096);
  ASSERT_TRUE(plan.has_value());
  EXPECT_EQ(plan->open_files_max, 2048u);
  EXPECT_EQ(plan->connections_max, 1024u);
}

TEST(DescriptorPlan, neither_grows_beyond_65536) {
  const auto plan = plan_descriptors(with_one_export(), 2, 1 << 30);
  ASSERT_TRUE(plan.has_value());
  EXPECT_EQ(plan->open_files_max, 65536u);
  EXPECT_EQ(plan->connections_max, 65536u);
}

TEST(DescriptorPlan, what_the_configuration_says_is_kept) {
  config::Config config = with_one_export();
  config.limits.open_files_max = 500;
  config.limits.connections_max = 100;
  const auto plan = plan_descriptors(config, 2, 1024);
  ASSERT_TRUE(plan.has_value());
  EXPECT_EQ(plan->open_files_max, 500u);
  EXPECT_EQ(plan->connections_max, 100u);
}

TEST(DescriptorPlan, more_than_there_are_is_an_error_that_says_what_to_do) {
  config::Config config = with_one_export();
  config.limits.open_files_max = 2000;
  config.limits.connections_max = 100;
  const auto plan = plan_descriptors(config, 2, 1024);
  ASSERT_FALSE(plan.has_value());
  EXPECT_EQ(
      plan.error(),
      "100 connections and 2000 open files need 2164 descriptors, but this process may have 1024; lower "
      "connections_max or open_files_max, or raise the limit (ulimit -Hn, LimitNOFILE=)");
}

TEST(DescriptorPlan, pipes_get_what_is_left) {
  EXPECT_EQ(plan_descriptors(with_one_export(), 2, 4096)->pipes_max, 64u);
  EXPECT_EQ(plan_descriptors(with_one_export(), 2, 512)->pipes_max, 24u);
}

TEST(DescriptorPlan, calls_to_clients_have_descriptors_of_their_own) {
  EXPECT_EQ(plan_descriptors(with_one_export(), 2, 65536)->callbacks_max, 1024u);
  // 1,024 connections, 2,048 files, 64 besides: a quarter of what is left.
  EXPECT_EQ(plan_descriptors(with_one_export(), 2, 4096)->callbacks_max, 4u + (4096 - 3072 - 64) / 4);
  config::Config few = with_one_export();
  few.limits.open_files_max = 500;
  few.limits.connections_max = 100;
  EXPECT_EQ(plan_descriptors(few, 2, 600 + 60 + 4)->callbacks_max, 4u);
  EXPECT_FALSE(plan_descriptors(few, 2, 600 + 60 + 3));
}

TEST(DescriptorPlan, objects_beside_exports_are_counted) {
  config::Config config = with_one_export();
  EXPECT_EQ(objects_open_max(config, 1200), 0u);
  config.data_servers.resize(3);
  EXPECT_EQ(objects_open_max(config, 1200), 100u);
  EXPECT_EQ(objects_open_max(config, 10), 16u);
  EXPECT_EQ(plan_descriptors(config, 2, 6000)->open_files_max, 2000u);
  config.limits.open_files_max = 1200;
  config.limits.connections_max = 100;
  // 60 without data servers, and 4 for calls to clients; 3 times 8 for a store and 2 for each thread; 2 times
  // 3 times 100 for objects.
  EXPECT_TRUE(plan_descriptors(config, 2, 1300 + 64 + 36 + 600));
  EXPECT_FALSE(plan_descriptors(config, 2, 1300 + 64 + 36 + 599));
  config.exports.clear();
  EXPECT_EQ(objects_open_max(config, 1200), 200u);
}

TEST(DescriptorPlan, a_store_has_its_own) {
  config::Config config = with_one_export();
  config.stores.resize(2);
  const std::uint64_t of_stores = 2 * store::Store::descriptors_max;
  EXPECT_EQ(plan_descriptors(config, 2, of_stores + 4096)->open_files_max, 2048u);
  EXPECT_EQ(plan_descriptors(config, 2, of_stores + 4096)->connections_max, 1024u);
  EXPECT_FALSE(plan_descriptors(config, 2, of_stores));
}

TEST(DescriptorLimit, the_soft_limit_becomes_the_hard_one) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit lowered{before.rlim_max / 2, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &lowered), 0);
  EXPECT_EQ(raise_descriptor_limit(), before.rlim_max);
}

}  // namespace
}  // namespace braid::server
