#include "server/roles/nfs/nfs4_options.h"

#include <gtest/gtest.h>

namespace braid::server::roles::nfs {
namespace {

constexpr std::size_t plenty = 1'000'000;  // descriptors

TEST(Nfs4Options, the_documented_defaults_are_those_of_the_engine) {
  const nfs4::EngineOptions engine;
  const nfs4::EngineOptions options = nfs4_options({}, plenty);
  EXPECT_EQ(options.clients.lease, engine.clients.lease);
  EXPECT_EQ(options.clients.courtesy, engine.clients.courtesy);
  EXPECT_EQ(options.clients.clients_max, engine.clients.clients_max);
  EXPECT_EQ(options.clients.sessions_max, engine.clients.sessions_max);
  EXPECT_EQ(options.clients.reply_bytes_max, engine.clients.reply_bytes_max);
  EXPECT_EQ(options.states.states_max, engine.states.states_max);
  EXPECT_EQ(options.states.states_per_client, engine.states.states_per_client);
  EXPECT_EQ(options.states.owners_max, engine.states.owners_max);
  EXPECT_EQ(options.states.owners_per_client, engine.states.owners_per_client);
  EXPECT_EQ(options.states.lock_ranges_per_client, engine.states.lock_ranges_per_client);
  EXPECT_EQ(options.states.lock_ranges_per_file, engine.states.lock_ranges_per_file);
  EXPECT_EQ(options.states.delegations_max, engine.states.delegations_max);
  EXPECT_EQ(options.states.delegations_per_client, engine.states.delegations_per_client);
  EXPECT_EQ(options.nfs.delegations, engine.nfs.delegations);
  EXPECT_EQ(options.ids.domain, nfs4::domain_of_host());
  EXPECT_FALSE(options.ids.send_names);
}

TEST(Nfs4Options, what_clients_may_hold_is_configured) {
  config::Config config;
  config.limits.clients_max = 100;
  config.limits.states_max = 100'000;
  config.limits.client_states_max = 16'000;
  config.limits.file_locks_max = 300;
  config.limits.session_replies_bytes_max = base::MiB;
  const nfs4::EngineOptions options = nfs4_options(config, plenty);
  EXPECT_EQ(options.clients.clients_max, 100U);
  EXPECT_EQ(options.clients.sessions_max, 200U);
  EXPECT_EQ(options.clients.reply_bytes_max, base::MiB);
  EXPECT_EQ(options.states.states_max, 100'000U);
  EXPECT_EQ(options.states.owners_max, 25'000U);
  EXPECT_EQ(options.states.states_per_client, 16'000U);
  EXPECT_EQ(options.states.lock_ranges_per_client, 4'000U);
  EXPECT_EQ(options.states.lock_ranges_per_file, 300U);
  EXPECT_EQ(options.states.owners_per_client, 1'000U);
  // One client gets no more than there is.
  config.limits.client_states_max = 1'000'000;
  EXPECT_EQ(nfs4_options(config, plenty).states.states_per_client, 100'000U);
}

TEST(Nfs4Options, delegations_take_a_quarter_of_the_descriptors_at_most) {
  const nfs4::EngineOptions options = nfs4_options({}, 800);
  EXPECT_EQ(options.states.delegations_max, 100U);
  EXPECT_EQ(options.states.delegations_per_client, 50U);
}

TEST(Nfs4Options, owners_are_of_the_configured_domain) {
  config::Config config;
  config.idmap_domain = "example.com";
  config.send_names = true;
  const nfs4::EngineOptions options = nfs4_options(config, plenty);
  EXPECT_EQ(options.ids.domain, "example.com");
  EXPECT_TRUE(options.ids.send_names);
}

}  // namespace
}  // namespace braid::server::roles::nfs
