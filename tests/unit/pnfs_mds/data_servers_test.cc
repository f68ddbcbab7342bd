#include "pnfs_mds/data_servers.h"

#include <gmock/gmock.h>

#include "base/manual/manual_clock.h"
#include "pnfs/record_log.h"
#include "tests/unit/pnfs_mds/scratch.h"

namespace braid::pnfs_mds::test {
namespace {

using namespace std::chrono_literals;

pnfs::ServerId id_number(std::uint8_t number) {
  pnfs::ServerId id{};
  id[0] = std::byte{number};
  return id;
}
vfs::Verifier verifier_number(std::uint8_t number) { return {{std::byte{number}}}; }
Heartbeat beat(std::uint8_t verifier) {
  return {.room = {1000, 600, 500, 10}, .load = 3, .verifier = verifier_number(verifier)};
}

class DataServersTest : public ScratchTest {
 protected:
  base::Result<std::unique_ptr<DataServers>> open() {
    return DataServers::open(directory_.get(), hand_clock_, {.patience = 10s, .lost = 60s});
  }
  std::uint32_t admit(std::uint8_t id, const std::string& name, const std::string& address) {
    const auto number = now(servers_->admit(id_number(id), name, {{"tcp", address}}));
    return number ? number->value() : 0;
  }
  DataServerInfo info(std::uint32_t number) {
    return servers_->find(pnfs::ServerNumber(number)).value_or(DataServerInfo{});
  }

  base::ManualClock hand_clock_;
  std::unique_ptr<DataServers> servers_ = open().value();
};

TEST_F(DataServersTest, a_server_keeps_its_number_and_no_other_one_gets_it) {
  EXPECT_EQ(admit(1, "a", "192.0.2.1.8.1"), 1U);
  EXPECT_EQ(admit(2, "b", "192.0.2.2.8.1"), 2U);
  EXPECT_EQ(admit(1, "a", "192.0.2.1.8.1"), 1U);
  servers_.reset();
  servers_ = open().value();
  EXPECT_EQ(admit(3, "c", "192.0.2.3.8.1"), 3U);
  EXPECT_EQ(admit(2, "b", "192.0.2.2.8.1"), 2U);
  EXPECT_EQ(info(1).name, "a");
  EXPECT_EQ(info(1).addresses, (std::vector<Address>{{"tcp", "192.0.2.1.8.1"}}));
  EXPECT_EQ(servers_->number_of(id_number(3)), pnfs::ServerNumber(3));
  EXPECT_FALSE(servers_->number_of(id_number(4)));
  EXPECT_EQ(servers_->all().size(), 3U);
}

TEST_F(DataServersTest, a_name_belongs_to_one_server) {
  EXPECT_EQ(admit(1, "a", "192.0.2.1.8.1"), 1U);
  const auto refused = now(servers_->admit(id_number(2), "a", {}));
  EXPECT_EQ(refused.error(), vfs::Error::exist);
  EXPECT_EQ(servers_->id_of("a"), id_number(1));
  EXPECT_FALSE(servers_->id_of("b"));
}

TEST_F(DataServersTest, is_in_contact_for_a_while_after_each_heartbeat) {
  admit(1, "a", "192.0.2.1.8.1");
  EXPECT_FALSE(info(1).in_contact);
  EXPECT_TRUE(now(servers_->heard(id_number(1), beat(7))));
  EXPECT_TRUE(info(1).in_contact);
  EXPECT_EQ(info(1).room.bytes_available, 500U);
  EXPECT_EQ(info(1).load, 3U);
  hand_clock_.advance(9s);
  EXPECT_TRUE(info(1).in_contact);
  EXPECT_TRUE(now(servers_->heard(id_number(1), beat(7))));
  hand_clock_.advance(10s);
  EXPECT_FALSE(info(1).in_contact);
  EXPECT_FALSE(info(1).lost);
  hand_clock_.advance(50s);
  EXPECT_TRUE(info(1).lost);
  EXPECT_TRUE(now(servers_->heard(id_number(1), beat(7))));
  EXPECT_FALSE(info(1).lost);
  servers_.reset();
  servers_ = open().value();
  EXPECT_FALSE(info(1).lost) << "it has that long again to be heard of";
  hand_clock_.advance(60s);
  EXPECT_TRUE(info(1).lost);
  EXPECT_EQ(now(servers_->heard(id_number(9), beat(7))).error(), vfs::Error::noent);
}

TEST_F(DataServersTest, the_log_says_for_how_long_a_server_was_silent) {
  admit(1, "a", "192.0.2.1.8.1");
  const auto logged = [&](std::uint8_t verifier) {
    testing::internal::CaptureStderr();
    EXPECT_TRUE(now(servers_->heard(id_number(1), beat(verifier))));
    return testing::internal::GetCapturedStderr();
  };
  EXPECT_EQ(logged(7), "") << "it was not expected yet";
  hand_clock_.advance(9s);
  EXPECT_EQ(logged(7), "") << "in contact";
  hand_clock_.advance(12s);
  EXPECT_THAT(logged(7),
              testing::HasSubstr("warning data_server_heard_again number=1 name=a silent_ms=12000"));
  EXPECT_EQ(logged(7), "");
  hand_clock_.advance(10s);
  EXPECT_THAT(logged(8), testing::HasSubstr("silent_ms=10000")) << "also if it was restarted";
}

TEST_F(DataServersTest, the_generation_is_that_of_a_start_and_of_addresses_and_outlives_restarts) {
  admit(1, "a", "192.0.2.1.8.1");
  EXPECT_EQ(info(1).generation, 1U);
  EXPECT_TRUE(now(servers_->heard(id_number(1), beat(7))));
  EXPECT_EQ(info(1).generation, 1U) << "the first heartbeat is no restart";
  EXPECT_TRUE(now(servers_->heard(id_number(1), beat(8))));
  EXPECT_EQ(info(1).generation, 2U);
  EXPECT_TRUE(info(1).in_contact);
  admit(1, "a", "192.0.2.9.8.1");
  EXPECT_EQ(info(1).generation, 3U);
  EXPECT_TRUE(info(1).in_contact) << "a hello takes nothing away";
  servers_.reset();
  servers_ = open().value();
  EXPECT_EQ(info(1).generation, 3U);
  EXPECT_FALSE(info(1).in_contact);
  EXPECT_TRUE(now(servers_->heard(id_number(1), beat(8))));
  EXPECT_EQ(info(1).generation, 3U);
  EXPECT_TRUE(now(servers_->heard(id_number(1), beat(9))));
  EXPECT_EQ(info(1).generation, 4U);
}

TEST_F(DataServersTest, a_verifier_that_an_answer_brought_is_the_current_one_until_the_next_heartbeat) {
  admit(1, "a", "192.0.2.1.8.1");
  EXPECT_TRUE(now(servers_->heard(id_number(1), beat(7))));
  servers_->saw(pnfs::ServerNumber(1), verifier_number(8));
  EXPECT_EQ(servers_->verifier_of(pnfs::ServerNumber(1)), verifier_number(8));
  EXPECT_EQ(info(1).generation, 1U);
  EXPECT_TRUE(now(servers_->heard(id_number(1), beat(8))));
  EXPECT_EQ(info(1).generation, 2U) << "that it restarted is known by then";
  servers_->saw(pnfs::ServerNumber(77), verifier_number(8));
  EXPECT_EQ(servers_->verifier_of(pnfs::ServerNumber(77)), vfs::Verifier{});
}

TEST_F(DataServersTest, a_log_in_which_a_number_changes_hands_is_damage) {
  admit(1, "a", "192.0.2.1.8.1");
  servers_.reset();
  std::vector<base::Bytes> records;
  {
    auto log = pnfs::RecordLog::open(directory_.get(), "servers", [&](base::BytesView record) {
                 records.emplace_back(record.begin(), record.end());
               }).value();
    records.back().at(5) ^= std::byte{1};  // the id of number 1
    EXPECT_TRUE(log->append(records));
  }
  EXPECT_EQ(open().error(), base::errno_of(EBADMSG));
}

TEST_F(DataServersTest, a_log_with_records_that_are_cut_is_damage) {
  servers_.reset();
  {
    auto log = pnfs::RecordLog::open(directory_.get(), "servers", [](base::BytesView) {}).value();
    const std::vector<base::Bytes> records{base::Bytes(30, std::byte{1})};
    EXPECT_TRUE(log->append(records));
  }
  EXPECT_EQ(open().error(), base::errno_of(EBADMSG));
}

}  // namespace
}  // namespace braid::pnfs_mds::test
