// What is left of a striped file after a crash between any two steps.
#include <gmock/gmock.h>
#include <sys/resource.h>

#include <csignal>

#include "pnfs_mds/settler.h"
#include "tests/unit/pnfs_mds/striped_fixture.h"

namespace braid::pnfs_mds::test {
namespace {

using namespace std::chrono_literals;
using vfs::Error;

// No file of this process grows: whatever is added to a log fails.
class FullDisk {
 public:
  FullDisk() {
    previous_ = std::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &limit_);
    const rlimit none{0, limit_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &none);
  }
  ~FullDisk() {
    ::setrlimit(RLIMIT_FSIZE, &limit_);
    std::signal(SIGXFSZ, previous_);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  rlimit limit_{};
  void (*previous_)(int) = nullptr;
};

class StripedCrash : public StripedTest {
 protected:
  StripedCrash() {
    add("f");
    EXPECT_TRUE(now(fs_->place(file("f"), cluster_->source(), {})));
  }
  // A power cut of the metadata server's host; servers say that they are alive.
  void crash(bool beats = true) {
    objects_.set_hook({});
    storage_.lose_unsynced();
    start();
    if (beats) beat_all();
  }
  // As the server does now and then.
  void work() {
    Settler settler(
        *cluster_, [this](vfs::FileHandle handle) { return reach(handle); }, [] { return false; });
    EXPECT_TRUE(now(settler.work()));
  }
  vfs::VfsOp<Settler::Reached> reach(vfs::FileHandle handle) {
    vfs::FileRef file = co_await fs_->resolve(handle.view());
    co_return Settler::Reached{fs_, std::move(file)};
  }
  // The size of the object that has the byte at `offset`.
  std::uint64_t object_size(std::uint64_t offset) {
    const auto [server, key] = place_of("f", offset);
    return objects_.bytes(server, key)->size();
  }
  // The server that has the byte at `offset` has had no contact for long.
  std::uint32_t leave(std::uint64_t offset) {
    const std::uint32_t away = place_of("f", offset).first.value();
    hand_clock_.advance(1min);
    for (std::uint32_t number = 1; number <= 3; ++number)
      if (number != away) beat(number);
    objects_.set_silent(pnfs::ServerNumber(away), true);
    return away;
  }
  // Its heartbeat, as the control protocol brings it.
  bool comes_back(std::uint32_t number) {
    pnfs::ServerId id{};
    id[0] = static_cast<std::byte>(number);
    objects_.set_silent(pnfs::ServerNumber(number), false);
    return now(cluster_->admission().heard(
                   id, {.room = {}, .load = 0, .verifier = objects_.verifier(pnfs::ServerNumber(number))}))
        .has_value();
  }
  [[nodiscard]] bool in_contact(std::uint32_t number) const {
    return cluster_->servers().standing(pnfs::ServerNumber(number))->in_contact;
  }
};

TEST_F(StripedCrash, what_a_server_has_announced_is_not_lost) {
  write_elsewhere("f", 2 * unit, "bytes");
  EXPECT_EQ(attributes("f")->size, 2 * unit + 5);
  crash();
  EXPECT_EQ(node("f").attributes.size, 0U) << "the stub was not on the medium";
  EXPECT_EQ(attributes("f")->size, 2 * unit + 5);
  work();
  objects_.forget_calls();
  crash();
  EXPECT_EQ(attributes("f")->size, 2 * unit + 5);
  EXPECT_EQ(objects_.calls(), 0U) << "it is clean";
}

TEST_F(StripedCrash, nobody_looks_and_it_is_settled_all_the_same) {
  write_elsewhere("f", 10, "bytes");
  crash();
  work();
  EXPECT_EQ(node("f").attributes.size, 15U);
  EXPECT_EQ(cluster_->dirty().size(), 0U);
}

TEST_F(StripedCrash, a_file_with_a_layout_for_writing_stays_dirty) {
  const vfs::ContentRef held = now(fs_->content(file("f"))).value();
  cluster_->source().of(held)->begin_writing();
  write_elsewhere("f", 10, "bytes");
  EXPECT_TRUE(attributes("f"));
  work();
  EXPECT_EQ(cluster_->dirty().size(), 1U);
  cluster_->source().of(held)->end_writing();
  work();
  EXPECT_EQ(cluster_->dirty().size(), 0U);
}

TEST_F(StripedCrash, a_file_that_is_written_to_again_and_again_costs_no_sync_until_it_rests) {
  const auto log_bytes = [&] { return std::filesystem::file_size(path_ / "pnfs" / "dirty"); };
  EXPECT_TRUE(now(write("f", 0, "bytes", vfs::Stability::file_sync)));
  const auto before = log_bytes();
  for (std::uint64_t i = 1; i < 5; ++i) {
    work();
    EXPECT_TRUE(now(write("f", 10 * i, "bytes", vfs::Stability::file_sync)));
  }
  EXPECT_EQ(log_bytes(), before);
  work();
  EXPECT_EQ(cluster_->dirty().size(), 1U);
  work();
  EXPECT_EQ(cluster_->dirty().size(), 0U);
  crash();
  EXPECT_EQ(node("f").attributes.size, 45U) << "the stub is on the medium";
}

TEST_F(StripedCrash, who_writes_while_a_file_is_settled_is_not_at_rest) {
  write_elsewhere("f", 10, "bytes");
  work();
  write_elsewhere("f", 20, "bytes");
  work();
  EXPECT_EQ(cluster_->dirty().size(), 1U);
  EXPECT_EQ(node("f").attributes.size, 25U) << "it is settled all the same";
  work();
  EXPECT_EQ(cluster_->dirty().size(), 0U);
}

TEST_F(StripedCrash, a_file_that_is_gone_is_not_settled) {
  write_elsewhere("f", 10, "bytes");
  crash();
  storage_.erase(top, "f");
  add("g");
  EXPECT_TRUE(now(fs_->place(file("g"), cluster_->source(), {})));
  write_elsewhere("g", 10, "bytes");
  work();
  EXPECT_EQ(node("g").attributes.size, 15U);
}

TEST_F(StripedCrash, a_stable_write_through_the_metadata_server_has_its_size) {
  EXPECT_TRUE(now(write("f", 100, "bytes", vfs::Stability::file_sync)));
  crash();
  EXPECT_EQ(attributes("f")->size, 105U);
  EXPECT_TRUE(now(write("f", 200, "bytes")));
  EXPECT_TRUE(now(commit("f")));
  crash();
  EXPECT_EQ(attributes("f")->size, 205U);
}

// A server may have done what this process did not live to hear.
TEST_F(StripedCrash, what_makes_a_file_longer_is_asked_for_after_a_crash) {
  const pnfs::ServerNumber server = place_of("f", 0).first;
  objects_.set_error(server, Error::delay);
  EXPECT_FALSE(now(write("f", 100, "bytes")));
  objects_.set_error(server, std::nullopt);
  crash();
  EXPECT_TRUE(content("f")->unsettled());
  EXPECT_TRUE(attributes("f"));
  work();
  objects_.forget_calls();
  const FullDisk full;
  EXPECT_FALSE(now(write("f", 200, "bytes")));
  EXPECT_EQ(objects_.calls("write"), 0U) << "nobody would ask for it";
}

TEST_F(StripedCrash, an_answer_that_cannot_be_kept_is_none) {
  const FullDisk full;
  EXPECT_FALSE(now(cluster_->written({content("f")->object()})));
  EXPECT_FALSE(now(write("f", 100, "bytes", vfs::Stability::file_sync)));
}

TEST_F(StripedCrash, objects_that_nobody_has_are_not_dirty) {
  const auto told = now(cluster_->written({content("f")->object(), pnfs::ObjectId(1'000'000)}));
  EXPECT_TRUE((*told)[0]);
  EXPECT_EQ((*told)[1].error(), Error::stale);
}

// Of a truncation, after each of its steps.
TEST_F(StripedCrash, a_truncation_is_not_begun_or_it_is_finished) {
  EXPECT_TRUE(now(write("f", 0, pattern(0, 3 * unit), vfs::Stability::file_sync)));
  {
    const FullDisk full;
    EXPECT_FALSE(now(resize("f", 10)));
  }
  crash();
  EXPECT_EQ(attributes("f")->size, 3 * unit) << "the intent is nowhere";
  EXPECT_EQ(now(read("f", 0, 3 * unit))->text, pattern(0, 3 * unit));

  for (std::uint64_t done = 0; done <= 2; ++done) {
    EXPECT_TRUE(now(write("f", 0, pattern(0, 3 * unit), vfs::Stability::file_sync)));
    for (std::uint64_t i = 0; i < 3; ++i)
      if (i >= done) objects_.set_error(place_of("f", i * unit).first, Error::delay);
    EXPECT_EQ(now(resize("f", 10 + done)).error(), Error::delay);
    EXPECT_EQ(attributes("f").error(), Error::delay) << "it is neither long nor short";
    EXPECT_EQ(now(read("f", 0, 10)).error(), Error::delay);
    EXPECT_TRUE(content("f")->truncating());
    for (std::uint32_t i = 1; i <= 3; ++i) objects_.set_error(pnfs::ServerNumber(i), std::nullopt);
    crash();
    EXPECT_EQ(attributes("f")->size, 10 + done);
    EXPECT_EQ(now(read("f", 0, 3 * unit))->text, pattern(0, 10 + done));
    EXPECT_LE(object_size(unit), unit);
  }

  EXPECT_TRUE(now(write("f", 0, pattern(0, 3 * unit), vfs::Stability::file_sync)));
  std::unique_ptr<FullDisk> full;
  objects_.set_hook([&](std::string_view operation, pnfs::ServerNumber /*server*/) {
    if (operation == "truncate" && !full) full = std::make_unique<FullDisk>();
  });
  EXPECT_FALSE(now(resize("f", 5))) << "the answer is nowhere";
  full.reset();
  crash();
  EXPECT_EQ(attributes("f")->size, 5U);
  EXPECT_EQ(now(read("f", 0, 3 * unit))->text, pattern(0, 5));
}

TEST_F(StripedCrash, a_truncation_that_was_answered_is_not_done_again) {
  EXPECT_TRUE(now(write("f", 0, pattern(0, 3 * unit))));
  EXPECT_TRUE(now(resize("f", 10)));
  EXPECT_TRUE(now(write("f", 0, pattern(0, 2 * unit), vfs::Stability::file_sync)));
  objects_.forget_calls();
  crash();
  EXPECT_EQ(attributes("f")->size, 2 * unit);
  EXPECT_EQ(objects_.calls("truncate"), 0U);
  EXPECT_EQ(now(read("f", 0, 3 * unit))->text, pattern(0, 2 * unit));
}

TEST_F(StripedCrash, a_truncation_waits_for_who_may_serve_still) {
  EXPECT_TRUE(now(write("f", 0, pattern(0, 3 * unit), vfs::Stability::file_sync)));
  objects_.set_silent(place_of("f", unit).first, true);
  EXPECT_EQ(now(resize("f", 10)).error(), Error::delay) << "it has contact";
  objects_.set_silent(place_of("f", unit).first, false);
  crash(false);
  EXPECT_EQ(attributes("f").error(), Error::delay) << "it may have that of the run before";
  beat_all();
  EXPECT_EQ(attributes("f")->size, 10U);
}

TEST_F(StripedCrash, a_truncation_does_without_who_has_barred_itself) {
  EXPECT_TRUE(now(write("f", 0, pattern(0, 3 * unit), vfs::Stability::file_sync)));
  const std::uint32_t away = leave(unit);
  EXPECT_TRUE(now(resize("f", 10)));
  EXPECT_EQ(attributes("f")->size, 10U);
  EXPECT_EQ(object_size(unit), 2 * unit) << "it has not heard of it";
  announce("f");
  EXPECT_EQ(attributes("f")->size, 10U) << "what it has there does not count";
  EXPECT_TRUE(now(resize("f", 2 * unit)));
  EXPECT_EQ(attributes("f")->size, 2 * unit);
  crash();
  // It has contact by the fixture, and has not been told: its bytes are nobody's.
  objects_.set_silent(pnfs::ServerNumber(away), false);
  EXPECT_EQ(now(read("f", unit, 10)).error(), Error::delay);
  EXPECT_TRUE(comes_back(away));
  EXPECT_EQ(now(read("f", 0, 3 * unit))->text, pattern(0, 10) + std::string(2 * unit - 10, '\0'));
  EXPECT_TRUE(now(write("f", unit, "bytes", vfs::Stability::file_sync)));
  crash(false);
  for (std::uint32_t number = 1; number <= 3; ++number) EXPECT_TRUE(comes_back(number));
  EXPECT_EQ(now(read("f", unit, 5))->text, "bytes") << "it is told once";
}

TEST_F(StripedCrash, a_server_that_was_left_out_is_told_before_it_has_contact) {
  EXPECT_TRUE(now(write("f", 0, pattern(0, 3 * unit), vfs::Stability::file_sync)));
  give_handles("f", vfs::LeaseHolder(1));
  const auto [server, key] = place_of("f", unit);
  const std::uint32_t away = leave(unit);
  EXPECT_TRUE(now(resize("f", 10)));
  crash(false);
  objects_.set_error(server, Error::delay);
  EXPECT_FALSE(comes_back(away));
  EXPECT_FALSE(in_contact(away));
  objects_.set_error(server, std::nullopt);
  bool had_contact = true;
  objects_.set_hook([&](std::string_view operation, pnfs::ServerNumber /*server*/) {
    if (operation == "truncate") had_contact = in_contact(away);
  });
  EXPECT_TRUE(comes_back(away));
  EXPECT_FALSE(had_contact);
  EXPECT_TRUE(in_contact(away));
  EXPECT_EQ(object_size(unit), 10U);
  EXPECT_EQ(objects_.epoch(server, key), pnfs::Epoch(2));
  objects_.forget_calls();
  EXPECT_TRUE(comes_back(away));
  EXPECT_EQ(objects_.calls("truncate"), 0U);
}

TEST_F(StripedCrash, a_heartbeat_is_not_answered_when_that_is_not_kept) {
  EXPECT_TRUE(now(write("f", 0, pattern(0, 3 * unit), vfs::Stability::file_sync)));
  const std::uint32_t away = leave(unit);
  EXPECT_TRUE(now(resize("f", 10)));
  {
    const FullDisk full;
    EXPECT_FALSE(comes_back(away));
  }
  EXPECT_FALSE(in_contact(away));
  EXPECT_TRUE(comes_back(away));
}

}  // namespace
}  // namespace braid::pnfs_mds::test
