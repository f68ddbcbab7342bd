#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "server/cli/state_command.h"
#include "server/cli/status_table.h"
#include "server/metrics/quantile.h"

namespace braid::server::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Quantile, it_is_the_upper_bound_of_the_bucket_that_holds_it) {
  base::LatencyHistogram::Snapshot snapshot;
  EXPECT_EQ(metrics::quantile_us(snapshot, 0.99), 0u);
  snapshot.counts[3] = 98;
  snapshot.counts[10] = 2;
  EXPECT_EQ(metrics::quantile_us(snapshot, 0.5), 8u);
  EXPECT_EQ(metrics::quantile_us(snapshot, 0.98), 8u);
  EXPECT_EQ(metrics::quantile_us(snapshot, 0.99), 1024u);
}

constexpr std::string_view report = R"({
"version":"0.1.0","pid":77,"uptime_seconds":7440,"listen":["[::]:2049"],"rpcbind":true,"connections":3,
"open_descriptors":40,"restrictions":["Something is missing."],
"rdma":{"on":true,"port":20049,"connections":2,"credits":128,"inline_bytes_max":4096,
 "devices":[{"device":"mlx5_0","ports":[{"port":1,"state":"active"}]},
 {"device":"mlx5_1","ports":[{"port":1,"state":"active"},{"port":2,"state":"down"}]}],"registration":"cache","registered_bytes":8388608},
"exports":[{"path":"/data","directory":"/srv/data","squash":"root","read_only":true,"sync":true,
 "clients":["10.0.0.0/8"],"restricted":"Handles end with the process.","unavailable":"It is gone.","suspended":false,"held":"It is in use.","mounts_below":["/srv/data/a b"],"open_files":12,"handle_cache_hits":999,
 "handle_cache_misses":1,"handle_cache_evictions":0,"inline_stalls":0}],
"procedures":[{"program":"nfs","version":3,"procedure":"READ","calls":10,"errors":1,"received_bytes":1024,
 "sent_bytes":1048576,"mean_us":12,"p99_us":32},
 {"program":"nfs","version":3,"procedure":"WRITE","calls":0,"errors":0,"received_bytes":0,"sent_bytes":0,"mean_us":0,
 "p99_us":0}],
"replay_cache":{"entries":5,"bytes":2048,"hits":2,"running_hits":1,"misses":9,"evictions":0},
"memory":{"resident_bytes":20971520,"buffer_bytes_max":1073741824,"buffer_bytes_mapped":4194304,
 "buffer_bytes_used":131072},
"blocking_pool":{"threads":2,"queued":0,"refused":0,"jobs":{"read":4,"write":0}},
"nfs4":{"clients":3,"courteous_clients":1,"sessions":2,"opens":7,"locks":4,"delegations":0,"grace":true,
 "grace_left_seconds":71,"reclaiming_clients":2,
 "reclaiming":[{"name":"Linux NFSv4.2 old\u001b[2J","sessions":true},{"name":"h40","sessions":false}]},
"operations":[{"operation":"READ","calls":11,"errors":2,"mean_us":9,"p99_us":16},
 {"operation":"COPY","calls":0,"errors":0,"mean_us":0,"p99_us":0}],
"stores":[{"name":"archive","directory":"/srv/s","writable":true,"registry":false,"stored_bytes":1048576,"files_sealed":3,
 "bytes_sealed":3145728,"bytes_found":2097152,"files_waiting":4,"seals_failed":1,
 "scrub":{"bad_places":3},"gc":{"garbage_bytes":2048,"alarm":"/srv/a is gone\u001b[2J"}}],
"hashing":{"bytes":3145728,"jobs_on_cores":1,"jobs_on_cards":2,"cards":[{"name":"0 H100","jobs":2,"bytes":2097152,
 "failures":1,"out_of_use":true,"batch_microseconds":88.4,"gb_per_second":48.31}]},
"reactors":[]})";

TEST(StatusTable, the_report_becomes_tables) {
  const auto text = status_table(report);
  ASSERT_TRUE(text.has_value());
  EXPECT_THAT(*text, HasSubstr("braid 0.1.0, pid 77, up 2 h 4 min\n"));
  EXPECT_THAT(*text,
              HasSubstr("Store archive in /srv/s: 1 MiB stored; sealed 3 files of 3 MiB; 2 MiB found again; "
                        "4 files wait, 1 failed; 2 KiB garbage; ITS REGISTRY IS LOST: nothing is sealed; "
                        "3 PLACES ARE DAMAGED; NO GARBAGE IS REMOVED: /srv/a is gone\\x1b[2J\n"));
  EXPECT_THAT(
      *text,
      HasSubstr("Hashing: 3 MiB; 1 pieces on cores, 2 on cards\n"
                "  card 0 H100: 2 pieces, 2 MiB; 88 us and 48.3 GB/s expected; 1 failures, OUT OF USE\n"));
  EXPECT_THAT(*text, HasSubstr("Listening on [::]:2049, known to rpcbind\n"));
  EXPECT_THAT(
      *text, HasSubstr("RDMA port 20049 on mlx5_0, mlx5_1 (port 2 down): 2 connections of 128 credits, 8 MiB "
                       "registered (cache)\n"));
  EXPECT_THAT(*text, HasSubstr("Memory 20 MiB; buffers 128 KiB in use of 4 MiB mapped, at most 1 GiB\n"));
  EXPECT_THAT(*text, HasSubstr("Replay cache 5 entries, 2 KiB, 3 replays\n"));
  EXPECT_THAT(*text, HasSubstr("jobs: read 4\n"));
  EXPECT_THAT(*text, HasSubstr("  /data   /srv/data  root    read-only  10.0.0.0/8    12      99.9 %\n"));
  EXPECT_THAT(*text, HasSubstr("  /data: Handles end with the process.\n"));
  EXPECT_THAT(*text, HasSubstr("  /data is unavailable: It is gone.\n"));
  EXPECT_THAT(*text, HasSubstr("nfs3 READ     10       1  1 KiB  1 MiB       12      32\n"));
  EXPECT_THAT(*text, Not(HasSubstr("WRITE")));
  EXPECT_THAT(*text,
              HasSubstr("NFSv4 clients 3, courteous 1, sessions 2; opens 7, locks 4, delegations 0\n"));
  EXPECT_THAT(*text, HasSubstr("Grace period: 1 min 11 s left, 2 clients have not reclaimed\n"
                               "  waiting for Linux NFSv4.2 old\\x1b[2J, NFSv4.1 or later\n"
                               "  waiting for h40, NFSv4.0\n"
                               "  To wait no longer: braid grace end"));
  EXPECT_THAT(*text, HasSubstr("Note: Something is missing.\n"));
  EXPECT_THAT(*text, HasSubstr("  /data: It is in use.\n"));
  EXPECT_THAT(*text,
              HasSubstr("  /srv/data/a b is another file system, and clients of /data see an empty directory "
                        "there; export it by itself"));
  EXPECT_THAT(*text, HasSubstr("  READ                11       2        9      16\n"));
  EXPECT_THAT(*text, Not(HasSubstr("COPY")));
}

TEST(StatusTable, an_export_with_rules_has_a_line_for_each) {
  std::string text(report);
  const std::string_view before = "\"clients\":[\"10.0.0.0/8\"]";
  text.replace(text.find(before), before.size(),
               R"("clients":[],"rules":[{"squash":"none","read_only":false,"clients":["10.0.0.5"]}])");
  EXPECT_THAT(status_table(text).value_or(""),
              HasSubstr("  /data   /srv/data  none    sync       10.0.0.5      12      99.9 %\n"
                        "                     root    read-only  all others"));
}

TEST(StatusTable, why_rdma_is_off_is_said_if_it_was_wanted) {
  const auto with = [](std::string_view rdma) {
    std::string text(report);
    const std::size_t begin = text.find("\"rdma\":{") + 7;
    text.replace(begin, text.find(",\n\"exports\"") - begin, rdma);
    return status_table(text).value_or("");
  };
  EXPECT_THAT(with(R"({"on":false,"reason":"this host has no RDMA device"})"),
              HasSubstr("\nRDMA is off: this host has no RDMA device\n"));
  const std::string unwanted = with(R"({"on":false,"reason":""})");
  EXPECT_THAT(unwanted, HasSubstr("Connections 3"));
  EXPECT_THAT(unwanted, Not(HasSubstr("RDMA")));
}

TEST(StatusTable, what_is_no_report_is_nothing) {
  EXPECT_FALSE(status_table("").has_value());
  EXPECT_FALSE(status_table("[]").has_value());
  EXPECT_FALSE(status_table("{\"error\":\"x\"}").has_value());
  EXPECT_FALSE(status_table("{\"version\":7}").has_value());
}

TEST(StateTable, every_list_becomes_a_table) {
  const auto clients = state_table("clients", R"({"clients":[{"id":"0x500000001","address":"192.0.2.1:700",
    "minor_version":2,"name":"Linux NFSv4.2 host","implementation":"","state":"active","age_seconds":65,
    "silent_seconds":10,"lease_left_seconds":80,"callbacks":true,"recorded":true,"sessions":1,"opens":2,"locks":3,
    "delegations":4},
   {"id":"0x500000002","address":"","minor_version":0,"name":"","implementation":"","state":"courteous",
    "age_seconds":7200,"silent_seconds":200,"lease_left_seconds":0,"callbacks":false,"recorded":true,"sessions":0,
    "opens":1,"locks":0,"delegations":0}]})");
  ASSERT_TRUE(clients.has_value());
  EXPECT_THAT(*clients,
              HasSubstr("  0x500000001  192.0.2.1:700  4.2  active     Linux NFSv4.2 host  1 min 5 s  "
                        "1 min 20 s         1      2      3            4\n"));
  EXPECT_THAT(*clients, HasSubstr("  0x500000002  -              4.0  courteous  -"));
  const auto sessions =
      state_table("sessions", R"({"sessions":[{"id":"ab","client":"0x1","address":"a:1","minor_version":2,
    "age_seconds":65,"slots":64,"slots_target":16,
    "slots_used":3,"running":1,"kept_bytes":2048,"back_slots":16,"back_connections":1}]})");
  EXPECT_THAT(sessions.value_or(""),
              HasSubstr("  ab       0x1     a:1      4.2  1 min 5 s     64      16     3        1  2 KiB"));
  const auto opens = state_table("opens", R"({"opens":[{"client":"0x1","address":"a:1","minor_version":0,
    "age_seconds":7,"access":"both","deny":"-","owner":"open id:\\x00","file":"/data:/x"}]})");
  EXPECT_THAT(opens.value_or(""),
              HasSubstr("  0x1     a:1      4.0  7 s  both    -     open id:0x0  /data:/x\n"));
  const auto locks = state_table("locks", R"({"locks":[{"client":"0x1","address":"a:1","minor_version":2,
    "age_seconds":7,"owner":"o","file":"f","ranges":[{"first":0,"last":9,"type":"read"},{"first":20,"last":18446744073709551615,"type":"write"}],
    "range_count":5}]})");
  EXPECT_THAT(locks.value_or(""), HasSubstr("  4.2  7 s  read 0-9, write 20-end and 3 more  o      f\n"));
  const auto delegations =
      state_table("delegations", R"({"delegations":[{"client":"0x1","address":"a:1","minor_version":1,
    "age_seconds":7,"type":"read","recalled":true,"file":"f"}]})");
  EXPECT_THAT(delegations.value_or(""), HasSubstr("  0x1     a:1      4.1  7 s  read  recalled  f\n"));
  EXPECT_EQ(state_table("locks", R"({"locks":[]})"), "  No locks.\n");
}

TEST(StateTable, what_is_no_such_list_is_nothing) {
  EXPECT_FALSE(state_table("clients", "").has_value());
  EXPECT_FALSE(state_table("clients", R"({"sessions":[]})").has_value());
  EXPECT_FALSE(state_table("clients", R"({"clients":[{"id":7}]})").has_value());
  EXPECT_FALSE(state_table("locks", R"({"locks":7})").has_value());
  EXPECT_FALSE(state_table("reactors", R"({"reactors":[]})").has_value());
}

TEST(StateTable, owners_are_words_and_numbers) {
  const auto owner = [](std::string_view text) {
    return state_table("opens", fmt::format(R"({{"opens":[{{"client":"0x1","address":"a:1","minor_version":0,
      "age_seconds":7,"access":"both","deny":"-","owner":"{}","file":"f"}}]}})",
                                            text))
        .value_or("");
  };
  EXPECT_THAT(owner(R"(open id:\\x00\\x00\\x01A\\xff)"), HasSubstr("  open id:0x141ff  "));
  EXPECT_THAT(owner("a word"), HasSubstr("  a word  "));
  EXPECT_THAT(owner(R"(\\x00)"), HasSubstr("  0x0  "));
}

TEST(ClientMeant, a_client_is_named_by_id_address_or_name_where_that_is_one) {
  const auto clients = nlohmann::json::parse(R"([
    {"id":"0x500000001","address":"192.0.2.1:700","name":"Linux NFSv4.2 alpha","state":"active"},
    {"id":"0x500000002","address":"[2001:db8::1]:701","name":"Linux NFSv4.2 beta","state":"courteous"},
    {"id":"0x500000003","address":"192.0.2.3:702","name":"beta","state":"active"},
    {"id":"0x500000004","address":"192.0.2.4:703","name":"alpha","state":"unconfirmed"},
    {"id":"0x500000005","address":"192.0.2.3:704","name":"gamma 12","state":"active"}])");
  const auto meant = [&](const char* wanted) { return client_meant(clients, wanted).value_or("-"); };
  EXPECT_EQ(meant("0x500000002"), "0x500000002");
  EXPECT_EQ(meant("21474836483"), "0x500000003") << "decimal";
  EXPECT_EQ(meant("192.0.2.1"), "0x500000001");
  EXPECT_EQ(meant("2001:db8::1"), "0x500000002");
  EXPECT_EQ(meant("192.0.2.3:704"), "0x500000005");
  EXPECT_EQ(meant("alpha"), "0x500000001");
  EXPECT_EQ(meant("beta"), "0x500000003") << "a whole name goes before a part";
  EXPECT_EQ(client_meant(clients, "192.0.2.3").error(),
            "192.0.2.3 may be 2 clients; name one by its id, such as 0x500000003");
  EXPECT_EQ(client_meant(clients, "0x9").error(), "there is no client 0x9; braid clients lists them");
  EXPECT_EQ(meant("192.0.2.4"), "-") << "not confirmed yet";
}

}  // namespace
}  // namespace braid::server::cli
