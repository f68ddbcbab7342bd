#include "server/status_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace braid::server {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Quantile, it_is_the_upper_bound_of_the_bucket_that_holds_it) {
  base::LatencyHistogram::Snapshot snapshot;
  EXPECT_EQ(quantile_us(snapshot, 0.99), 0u);
  snapshot.counts[3] = 98;
  snapshot.counts[10] = 2;
  EXPECT_EQ(quantile_us(snapshot, 0.5), 8u);
  EXPECT_EQ(quantile_us(snapshot, 0.98), 8u);
  EXPECT_EQ(quantile_us(snapshot, 0.99), 1024u);
}

constexpr std::string_view report = R"({
"version":"0.1.0","pid":77,"uptime_seconds":7440,"listen":["[::]:2049"],"rpcbind":true,"connections":3,
"open_descriptors":40,
"exports":[{"path":"/data","directory":"/srv/data","squash":"root","read_only":true,"sync":true,
 "clients":["10.0.0.0/8"],"restricted":"Handles end with the process.","open_files":12,"handle_cache_hits":999,
 "handle_cache_misses":1,"handle_cache_evictions":0,"inline_stalls":0}],
"procedures":[{"program":"nfs","version":3,"procedure":"READ","calls":10,"errors":1,"received_bytes":1024,
 "sent_bytes":1048576,"mean_us":12,"p99_us":32},
 {"program":"nfs","version":3,"procedure":"WRITE","calls":0,"errors":0,"received_bytes":0,"sent_bytes":0,"mean_us":0,
 "p99_us":0}],
"replay_cache":{"entries":5,"bytes":2048,"hits":2,"running_hits":1,"misses":9,"evictions":0},
"memory":{"resident_bytes":20971520,"buffer_bytes_max":1073741824,"buffer_bytes_mapped":4194304,
 "buffer_bytes_used":131072},
"blocking_pool":{"threads":2,"queued":0,"refused":0,"jobs":{"read":4,"write":0}},
"reactors":[]})";

TEST(StatusTable, the_report_becomes_tables) {
  const auto text = status_table(report);
  ASSERT_TRUE(text.has_value());
  EXPECT_THAT(*text, HasSubstr("braid 0.1.0, pid 77, up 2 h 4 min\n"));
  EXPECT_THAT(*text, HasSubstr("Listening on [::]:2049, known to rpcbind\n"));
  EXPECT_THAT(*text, HasSubstr("Memory 20 MiB; buffers 128 KiB in use of 4 MiB mapped, at most 1 GiB\n"));
  EXPECT_THAT(*text, HasSubstr("Replay cache 5 entries, 2 KiB, 3 replays\n"));
  EXPECT_THAT(*text, HasSubstr("jobs: read 4\n"));
  EXPECT_THAT(*text, HasSubstr("  /data   /srv/data  root    read-only  10.0.0.0/8    12      99.9 %\n"));
  EXPECT_THAT(*text, HasSubstr("  /data: Handles end with the process.\n"));
  EXPECT_THAT(*text, HasSubstr("nfs3 READ     10       1  1 KiB  1 MiB       12      32\n"));
  EXPECT_THAT(*text, Not(HasSubstr("WRITE")));
}

TEST(StatusTable, what_is_no_report_is_nothing) {
  EXPECT_FALSE(status_table("").has_value());
  EXPECT_FALSE(status_table("[]").has_value());
  EXPECT_FALSE(status_table("{\"error\":\"x\"}").has_value());
  EXPECT_FALSE(status_table("{\"version\":7}").has_value());
}

}  // namespace
}  // namespace braid::server
