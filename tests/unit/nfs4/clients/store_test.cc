#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "nfs4/recovery/client_store.h"
#include "nfs4/recovery/fields.h"
#include "nfs4/state/clients/grace.h"

namespace {

int file_syncs = 0;

}  // namespace

// The linker puts these in the place of fsync(2).
extern "C" {
int __real_fsync(int fd);   // NOLINT(*-reserved-identifier)
int __wrap_fsync(int fd) {  // NOLINT(*-reserved-identifier)
  ++file_syncs;
  return __real_fsync(fd);
}
}

namespace braid::nfs4::recovery {
namespace {

using enum nfsstat4;
using namespace std::chrono_literals;
using state::KnownClient;

KnownClient named(std::string_view owner, std::uint32_t minor = 1) {
  const base::BytesView view = base::bytes_of(owner);
  return {.minor_version = minor, .owner = {view.begin(), view.end()}};
}

base::Result<void> record(ClientStore& store, const KnownClient& client, std::uint64_t instance) {
  const std::array one{RecordChange{RecordChange::What::record, client, instance}};
  return store.apply(one);
}
base::Result<void> forget(ClientStore& store, const KnownClient& client, std::uint64_t instance) {
  const std::array one{RecordChange{RecordChange::What::forget, client, instance}};
  return store.apply(one);
}

class ClientStoreTest : public testing::Test {
 protected:
  ClientStoreTest() : directory_(testing::TempDir() + "client_store_XXXXXX") {
    EXPECT_NE(::mkdtemp(directory_.data()), nullptr);
    directory_ += "/nfs4";
  }
  ~ClientStoreTest() override {
    std::filesystem::remove_all(std::filesystem::path(directory_).parent_path());
  }

  std::unique_ptr<ClientStore> restart() {
    auto store = ClientStore::open(directory_);
    EXPECT_TRUE(store) << base::message_of(store.error());
    return store ? std::move(*store) : nullptr;
  }
  static std::vector<std::string> names_of(const ClientStore& store) {
    std::vector<std::string> out;
    for (const KnownClient& client : store.known()) out.emplace_back(base::text_of(client.owner));
    std::ranges::sort(out);
    return out;
  }
  std::vector<std::string> files() const {
    std::vector<std::string> out;
    for (const auto& entry : std::filesystem::directory_iterator(directory_))
      if (entry.path().filename().string().starts_with("client-")) out.push_back(entry.path());
    return out;
  }
  void damage(const std::string& path, std::streamoff at) const {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(at);
    const int byte = file.get();
    file.seekp(at);
    file.put(static_cast<char>(byte ^ 1));
  }
  using Names = std::vector<std::string>;

  std::string directory_;
};

TEST_F(ClientStoreTest, recorded_clients_are_known_after_a_restart) {
  {
    const auto store = restart();
    EXPECT_TRUE(store->known().empty());
    EXPECT_TRUE(record(*store, named("a"), 1));
    EXPECT_TRUE(record(*store, named("b"), 2));
    EXPECT_TRUE(record(*store, named(std::string(1024, 'c')), 3));
    EXPECT_TRUE(record(*store, named(std::string("\0/..", 4)), 4));
    EXPECT_TRUE(forget(*store, named("b"), 2));
  }
  EXPECT_EQ(names_of(*restart()), (Names{std::string("\0/..", 4), "a", std::string(1024, 'c')}));
}

TEST_F(ClientStoreTest, verifiers_of_clients_are_known_after_a_restart) {
  KnownClient client = named("a", 0);
  client.verifier = state::Verifier{std::byte{1}, std::byte{2}, std::byte{}, std::byte{},
                                    std::byte{},  std::byte{},  std::byte{}, std::byte{255}};
  EXPECT_TRUE(record(*restart(), client, 1));
  const auto store = restart();
  ASSERT_EQ(store->known().size(), 1U);
  EXPECT_EQ(store->known()[0].verifier, client.verifier);
}

// As version 1 wrote them.
TEST_F(ClientStoreTest, records_without_a_verifier_are_read) {
  const auto write = [&](const std::string& name, FieldWriter& fields) {
    const base::Bytes content = fields.finish();
    std::ofstream(directory_ + "/" + name, std::ios::binary) << base::text_of(content);
  };
  std::filesystem::create_directory(directory_);
  FieldWriter epochs("BraidEp1"), old_record("BraidCl1");
  epochs.u32(7);
  epochs.u32(6);
  epochs.u64(1);
  epochs.u64(2);
  write("epochs", epochs);
  old_record.u32(7);
  old_record.u32(0);
  old_record.u64(99);
  old_record.bytes(base::bytes_of(std::string_view("a")));
  write("client-0123456789abcdef0123456789abcdef", old_record);
  const auto store = restart();
  EXPECT_EQ(store->epoch(), 8U);
  ASSERT_EQ(store->known().size(), 1U);
  EXPECT_EQ(store->known()[0], named("a", 0));
  EXPECT_FALSE(store->known()[0].verifier);
}

TEST_F(ClientStoreTest, epochs_and_the_servers_id_go_on) {
  std::uint32_t epoch;
  std::string id;
  {
    const auto store = restart();
    epoch = store->epoch();
    id = store->server_id();
    EXPECT_NE(epoch, 0U);
  }
  const auto store = restart();
  EXPECT_EQ(store->epoch(), epoch + 1);
  EXPECT_EQ(store->server_id(), id);
}

TEST_F(ClientStoreTest, one_server_at_a_time_uses_a_directory) {
  const auto store = restart();
  const auto second = ClientStore::open(directory_);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error(), base::errno_of(EBUSY));
}

TEST_F(ClientStoreTest, the_directory_is_private) {
  restart();
  struct stat status{};
  ASSERT_EQ(::stat(directory_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0700U);
}

TEST_F(ClientStoreTest, names_of_4_0_and_later_clients_do_not_mix) {
  {
    const auto store = restart();
    EXPECT_TRUE(record(*store, named("a", 0), 1));
    EXPECT_TRUE(record(*store, named("a", 1), 2));
    EXPECT_TRUE(forget(*store, named("a", 1), 2));
  }
  const auto store = restart();
  ASSERT_EQ(store->known().size(), 1U);
  EXPECT_EQ(store->known()[0], named("a", 0));
}

// RFC 8881 8.4.3, the second edge condition: a client that missed a grace period must not reclaim in the
// next.
TEST_F(ClientStoreTest, who_misses_a_grace_period_cannot_reclaim_in_the_next) {
  {
    const auto store = restart();
    EXPECT_TRUE(record(*store, named("comes back"), 1));
    EXPECT_TRUE(record(*store, named("stays away"), 2));
  }
  {
    const auto store = restart();
    EXPECT_EQ(names_of(*store), (Names{"comes back", "stays away"}));
    EXPECT_TRUE(record(*store, named("comes back"), 3));
    EXPECT_TRUE(store->end_grace());
    EXPECT_EQ(files().size(), 1U);
  }
  EXPECT_EQ(names_of(*restart()), (Names{"comes back"}));
}

TEST_F(ClientStoreTest, a_grace_period_that_was_cut_short_begins_again_for_all) {
  {
    const auto store = restart();
    EXPECT_TRUE(record(*store, named("a"), 1));
    EXPECT_TRUE(record(*store, named("b"), 2));
  }
  {
    const auto store = restart();
    EXPECT_TRUE(record(*store, named("a"), 3));
  }
  EXPECT_EQ(names_of(*restart()), (Names{"a", "b"}));
}

TEST_F(ClientStoreTest, without_clients_nothing_of_earlier_epochs_counts) {
  {
    const auto store = restart();
    EXPECT_TRUE(record(*store, named("a"), 1));
    EXPECT_TRUE(forget(*store, named("a"), 1));
  }
  restart();
  {
    const auto store = restart();
    EXPECT_TRUE(store->known().empty());
    EXPECT_TRUE(record(*store, named("b"), 1));
  }
  EXPECT_EQ(names_of(*restart()), (Names{"b"}));
}

TEST_F(ClientStoreTest, a_record_belongs_to_the_latest_instance) {
  {
    const auto store = restart();
    EXPECT_TRUE(record(*store, named("a"), 1));
    EXPECT_TRUE(record(*store, named("a"), 2));
    EXPECT_TRUE(forget(*store, named("a"), 1));
  }
  {
    const auto store = restart();
    EXPECT_EQ(names_of(*store), (Names{"a"}));
    // One of an earlier run that nobody has taken over goes with whoever it is that goes.
    EXPECT_TRUE(forget(*store, named("a"), 5));
    EXPECT_TRUE(forget(*store, named("a"), 5));
  }
  EXPECT_TRUE(restart()->known().empty());
}

TEST_F(ClientStoreTest, what_a_crash_left_half_written_is_removed) {
  restart();
  const std::string left = directory_ + "/client-00.new";
  std::ofstream(left) << "half";
  EXPECT_EQ(restart()->damaged(), 0U);
  EXPECT_FALSE(std::filesystem::exists(left));
}

TEST_F(ClientStoreTest, a_damaged_record_is_skipped) {
  {
    const auto store = restart();
    EXPECT_TRUE(record(*store, named("a"), 1));
  }
  const auto size = static_cast<std::streamoff>(std::filesystem::file_size(files().at(0)));
  for (std::streamoff at = 0; at < size; at += 5) {
    damage(files().at(0), at);
    {
      const auto store = restart();
      EXPECT_EQ(store->damaged(), 1U) << at;
      EXPECT_TRUE(store->known().empty()) << at;
    }
    damage(files().at(0), at);
    // The run without known clients has closed the books; this one opens them again.
    const auto store = restart();
    EXPECT_EQ(store->damaged(), 0U) << at;
    EXPECT_TRUE(record(*store, named("a"), 1));
  }
}

TEST_F(ClientStoreTest, damaged_epochs_stop_the_server) {
  restart();
  damage(directory_ + "/epochs", 9);
  const auto store = ClientStore::open(directory_);
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error(), base::errno_of(EBADMSG));
}

TEST_F(ClientStoreTest, the_next_run_knows_until_when_files_were_watched) {
  const auto noted = [&] {
    struct stat stat{};
    EXPECT_EQ(::stat((directory_ + "/lock").c_str(), &stat), 0);
    return vfs::Time{stat.st_mtim.tv_sec, static_cast<std::uint32_t>(stat.st_mtim.tv_nsec)};
  };
  restart();
  const timespec long_ago[2] = {{1000, 5}, {1000, 5}};
  ASSERT_EQ(::utimensat(AT_FDCWD, (directory_ + "/lock").c_str(), long_ago, 0), 0);
  {
    const auto store = restart();
    EXPECT_EQ(store->watched_until(), (vfs::Time{1000, 5}));
    EXPECT_EQ(noted(), (vfs::Time{1000, 5})) << "a run that watches nothing says nothing";
    EXPECT_TRUE(store->note_watching());
  }
  const vfs::Time last = noted();
  EXPECT_GT(last, (vfs::Time{1000, 5}));
  EXPECT_EQ(restart()->watched_until(), last);
}

TEST_F(ClientStoreTest, files_of_a_later_version_stop_the_server) {
  restart();
  damage(directory_ + "/epochs", 7);
  EXPECT_FALSE(ClientStore::open(directory_));
}

class GraceTest : public testing::Test {
 protected:
  static state::Introduction introduction(const KnownClient& name) {
    state::Introduction out;
    out.minor_version = name.minor_version;
    out.owner = name.owner;
    return out;
  }
  static state::Client client(std::string_view owner, std::uint32_t minor = 1) {
    return {1, introduction({.minor_version = minor, .owner = named(owner).owner}), {}};
  }
  static nfsstat4 status_of(const base::Result<void, nfsstat4>& result) {
    return result ? NFS4_OK : result.error();
  }

  const base::TimePoint start_{100s};
};

TEST_F(GraceTest, without_known_clients_there_is_none) {
  const state::Grace grace({}, start_, 90s);
  EXPECT_FALSE(grace.active());
  state::Client fresh = client("new");
  EXPECT_EQ(status_of(grace.admit_reclaim(fresh)), NFS4ERR_NO_GRACE);
  EXPECT_EQ(status_of(grace.admit_new(fresh)), NFS4ERR_GRACE);
  fresh.set_reclaim_complete();
  EXPECT_EQ(status_of(grace.admit_new(fresh)), NFS4_OK);
}

TEST_F(GraceTest, known_clients_reclaim_and_nobody_gets_anything_new) {
  const state::Grace grace({named("a"), named("b", 0)}, start_, 90s);
  EXPECT_EQ(status_of(grace.admit_reclaim(client("a", 2))), NFS4_OK);
  EXPECT_EQ(status_of(grace.admit_reclaim(client("b", 0))), NFS4_OK);
  EXPECT_EQ(status_of(grace.admit_reclaim(client("b", 1))), NFS4ERR_NO_GRACE);
  EXPECT_EQ(status_of(grace.admit_reclaim(client("stranger"))), NFS4ERR_NO_GRACE);
  for (const char* owner : {"a", "stranger"})
    EXPECT_EQ(status_of(grace.admit_new(client(owner))), NFS4ERR_GRACE);
  EXPECT_EQ(status_of(grace.admit_new(client("b", 0))), NFS4ERR_GRACE);
}

TEST_F(GraceTest, who_has_begun_anew_is_not_waited_for) {
  KnownClient recorded = named("b", 0);
  recorded.verifier = state::Verifier{std::byte{1}};
  state::Introduction again = introduction(recorded);
  again.verifier = *recorded.verifier;
  state::Grace grace({recorded}, start_, 90s);
  grace.came_back({1, again, {}});
  EXPECT_FALSE(grace.due(start_)) << "it is still the same";
  again.verifier = {std::byte{2}};
  again.owner = named("c").owner;
  grace.came_back({1, again, {}});
  EXPECT_FALSE(grace.due(start_)) << "it is another one";
  again.owner = recorded.owner;
  grace.came_back({1, again, {}});
  EXPECT_TRUE(grace.due(start_));
  state::Grace unknown({named("b", 0)}, start_, 90s);
  unknown.came_back({1, again, {}});
  EXPECT_FALSE(unknown.due(start_)) << "its record does not say who it was";
}

TEST_F(GraceTest, no_reclaim_after_reclaim_complete) {
  state::Grace grace({named("a"), named("b")}, start_, 90s);
  state::Client a = client("a");
  a.set_reclaim_complete();
  grace.completed(state::known_as(a));
  EXPECT_EQ(status_of(grace.admit_reclaim(a)), NFS4ERR_NO_GRACE);
  EXPECT_EQ(status_of(grace.admit_new(a)), NFS4ERR_GRACE);
}

TEST_F(GraceTest, it_ends_when_all_have_reclaimed_or_time_is_up) {
  state::Grace grace({named("a"), named("b")}, start_, 90s);
  EXPECT_FALSE(grace.due(start_ + 89s));
  EXPECT_TRUE(grace.due(start_ + 90s));
  grace.completed(named("a"));
  EXPECT_FALSE(grace.due(start_));
  grace.completed(named("stranger"));
  EXPECT_FALSE(grace.due(start_));
  grace.forget(client("b"));
  EXPECT_TRUE(grace.due(start_));
  grace.end();
  EXPECT_FALSE(grace.due(start_ + 1000s));
  EXPECT_EQ(status_of(grace.admit_reclaim(client("a"))), NFS4ERR_NO_GRACE);
  EXPECT_EQ(status_of(grace.admit_new(client("c", 0))), NFS4_OK);
}

TEST_F(GraceTest, it_goes_on_while_somebody_reclaims_but_not_for_ever) {
  state::Grace grace({named("a"), named("b")}, start_, 90s);
  grace.note_reclaim(client("a"), start_ + 10s);
  EXPECT_TRUE(grace.due(start_ + 90s)) << "who has paused for long is done";
  grace.note_reclaim(client("a"), start_ + 89s);
  EXPECT_FALSE(grace.due(start_ + 93s));
  EXPECT_TRUE(grace.due(start_ + 94s));
  for (base::TimePoint now = start_ + 93s; now < start_ + 180s; now += 1s) {
    EXPECT_FALSE(grace.due(now));
    grace.note_reclaim(client("a"), now);
  }
  EXPECT_TRUE(grace.due(start_ + 180s));
}

TEST_F(GraceTest, a_4_0_client_never_says_that_it_is_done) {
  state::Grace grace({named("a", 0)}, start_, 90s);
  grace.completed(named("a", 1));
  EXPECT_FALSE(grace.due(start_ + 89s));
  EXPECT_TRUE(grace.due(start_ + 90s));
}

TEST_F(GraceTest, a_client_that_was_evicted_does_not_come_back_to_reclaim) {
  state::Grace grace({named("a"), named("b")}, start_, 90s);
  grace.forget(client("a"));
  EXPECT_EQ(status_of(grace.admit_reclaim(client("a"))), NFS4ERR_NO_GRACE);
}

TEST_F(ClientStoreTest, changes_that_come_together_share_the_sync_of_the_directory) {
  const auto store = restart();
  std::vector<RecordChange> changes;
  for (int i = 0; i < 50; ++i)
    changes.push_back({RecordChange::What::record, named(std::to_string(i)), static_cast<std::uint64_t>(i)});
  file_syncs = 0;
  EXPECT_TRUE(store->apply(changes));
  EXPECT_EQ(file_syncs, 51) << "each file, and the directory";
  for (RecordChange& change : changes) change.what = RecordChange::What::forget;
  file_syncs = 0;
  EXPECT_TRUE(store->apply(changes));
  EXPECT_EQ(file_syncs, 1);
  EXPECT_TRUE(files().empty());
}

TEST_F(ClientStoreTest, more_changes_than_files_may_be_open_are_all_done) {
  const auto store = restart();
  std::vector<RecordChange> changes;
  for (int i = 0; i < 1000; ++i)
    changes.push_back({RecordChange::What::record, named(std::to_string(i)), static_cast<std::uint64_t>(i)});
  EXPECT_TRUE(store->apply(changes));
  EXPECT_EQ(files().size(), 1000U);
}

TEST_F(ClientStoreTest, of_changes_of_one_client_that_come_together_the_last_one_counts) {
  {
    const auto store = restart();
    using enum RecordChange::What;
    const std::array changes{RecordChange{record, named("a"), 1}, RecordChange{forget, named("a"), 1},
                             RecordChange{record, named("b"), 2}, RecordChange{record, named("b"), 3},
                             RecordChange{forget, named("b"), 2}};
    EXPECT_TRUE(store->apply(changes));
    EXPECT_EQ(files().size(), 1U);
  }
  EXPECT_EQ(names_of(*restart()), Names{"b"}) << "the record had been taken over by another instance";
}

}  // namespace
}  // namespace braid::nfs4::recovery
