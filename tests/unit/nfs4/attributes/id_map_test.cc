#include "nfs4/idmap/id_map.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "io/ready_queue.h"

namespace braid::nfs4 {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

// Counts what it is asked; "broken" cannot be found out.
class FakeNames final : public NameService {
 public:
  base::Result<std::optional<std::uint32_t>> id_of(IdKind kind, const std::string& name) override {
    ++asked;
    if (name == "broken") return base::fail(EAGAIN);
    const auto found = ids.find({kind, name});
    return found == ids.end() ? std::nullopt : std::optional(found->second);
  }
  base::Result<std::optional<std::string>> name_of(IdKind kind, std::uint32_t id) override {
    ++asked;
    if (id == 666) return base::fail(EAGAIN);
    for (const auto& [who, number] : ids)
      if (who.first == kind && number == id) return std::optional(who.second);
    return std::optional<std::string>();
  }

  std::map<std::pair<IdKind, std::string>, std::uint32_t> ids{{{IdKind::user, "ann"}, 1000},
                                                              {{IdKind::group, "ann"}, 2000}};
  int asked = 0;
};

class Ids : public ::testing::Test {
 protected:
  Ids() { io::ReadyQueue::make_current(&queue_); }
  ~Ids() override { io::ReadyQueue::make_current(nullptr); }

  // Without a pool every look-up runs in place.
  IdMap make(IdMapOptions options) { return {std::move(options), names_, nullptr, base::SipKey{1, 2}}; }
  static IdMapOptions named() { return {.domain = "example.org", .send_names = true}; }

  std::optional<std::uint32_t> id(IdMap& map, IdKind kind, std::string_view owner) {
    auto op = map.id_of(kind, owner, now_);
    op.start({});
    EXPECT_TRUE(op.done());
    if (op.result()) return *op.result();
    error_ = op.result().error();
    return std::nullopt;
  }
  std::string text(IdMap& map, IdKind kind, std::uint32_t number) {
    auto op = map.text_of(kind, number, now_);
    op.start({});
    EXPECT_TRUE(op.done() && op.result());
    return std::string(op.result()->view());
  }

  io::ReadyQueue queue_;
  FakeNames names_;
  base::TimePoint now_{seconds(1000)};
  IdError error_ = IdError::later;
};

TEST_F(Ids, numbers_are_taken_as_they_are) {
  IdMap map = make({});
  EXPECT_EQ(id(map, IdKind::user, "0"), 0U);
  EXPECT_EQ(id(map, IdKind::user, "1000"), 1000U);
  EXPECT_EQ(id(map, IdKind::group, "4294967294"), 4294967294U);
  EXPECT_EQ(names_.asked, 0);
}

TEST_F(Ids, what_only_looks_like_a_number_is_a_bad_owner) {
  IdMap map = make(named());
  for (const std::string_view owner : {"", "007", "+1", "-1", " 1", "1 ", "0x10", "4294967295", "4294967296",
                                       "99999999999999999999", "1@"}) {
    EXPECT_EQ(id(map, IdKind::user, owner), std::nullopt) << owner;
    EXPECT_EQ(error_, IdError::unknown) << owner;
  }
  EXPECT_EQ(names_.asked, 0);
}

TEST_F(Ids, numbers_are_sent_unless_names_are_asked_for) {
  IdMap quiet = make({.domain = "example.org"});
  EXPECT_EQ(text(quiet, IdKind::user, 1000), "1000");
  EXPECT_EQ(text(quiet, IdKind::group, 4294967295), "4294967295");
  IdMap homeless = make({.send_names = true});
  EXPECT_EQ(text(homeless, IdKind::user, 1000), "1000") << "a name without a domain would be no owner";
  EXPECT_EQ(names_.asked, 0);
}

TEST_F(Ids, names_of_the_domain_are_looked_up_and_remembered) {
  IdMap map = make(named());
  EXPECT_EQ(id(map, IdKind::user, "ann@example.org"), 1000U);
  EXPECT_EQ(id(map, IdKind::user, "ann@EXAMPLE.org"), 1000U);
  EXPECT_EQ(names_.asked, 1);
  EXPECT_EQ(id(map, IdKind::group, "ann@example.org"), 2000U) << "users and groups are apart";
  EXPECT_EQ(text(map, IdKind::user, 1000), "ann@example.org");
  EXPECT_EQ(text(map, IdKind::user, 1000), "ann@example.org");
  EXPECT_EQ(names_.asked, 3);
}

TEST_F(Ids, names_of_other_domains_and_of_none_are_bad_owners) {
  IdMap map = make(named());
  for (const std::string_view owner :
       {"ann", "ann@example.com", "@example.org", "ann@", "ann@example.org@"}) {
    EXPECT_EQ(id(map, IdKind::user, owner), std::nullopt) << owner;
    EXPECT_EQ(error_, IdError::unknown) << owner;
  }
  EXPECT_EQ(id(map, IdKind::user, std::string_view("ann\0@example.org", 16)), std::nullopt);
  EXPECT_EQ(id(map, IdKind::user, std::string(500, 'a') + "@example.org"), std::nullopt);
  IdMap homeless = make({});
  EXPECT_EQ(id(homeless, IdKind::user, "ann@example.org"), std::nullopt);
  EXPECT_EQ(names_.asked, 0);
}

TEST_F(Ids, absence_is_remembered_for_a_shorter_time) {
  IdMap map = make(named());
  EXPECT_EQ(id(map, IdKind::user, "bob@example.org"), std::nullopt);
  EXPECT_EQ(text(map, IdKind::user, 1001), "1001");
  names_.ids[{IdKind::user, "bob"}] = 1001;
  now_ += seconds(59);
  EXPECT_EQ(id(map, IdKind::user, "bob@example.org"), std::nullopt);
  EXPECT_EQ(text(map, IdKind::user, 1001), "1001");
  EXPECT_EQ(names_.asked, 2);
  now_ += seconds(1);
  EXPECT_EQ(id(map, IdKind::user, "bob@example.org"), 1001U);
  EXPECT_EQ(text(map, IdKind::user, 1001), "bob@example.org");
  names_.ids.clear();
  now_ += minutes(10) - seconds(1);
  EXPECT_EQ(id(map, IdKind::user, "bob@example.org"), 1001U);
  now_ += seconds(1);
  EXPECT_EQ(id(map, IdKind::user, "bob@example.org"), std::nullopt);
}

TEST_F(Ids, a_name_service_that_cannot_tell_now_is_asked_again) {
  IdMap map = make(named());
  EXPECT_EQ(id(map, IdKind::user, "broken@example.org"), std::nullopt);
  EXPECT_EQ(error_, IdError::later);
  EXPECT_EQ(id(map, IdKind::user, "broken@example.org"), std::nullopt);
  EXPECT_EQ(names_.asked, 2);
  EXPECT_EQ(text(map, IdKind::user, 666), "666") << "an owner can always be said";
}

TEST_F(Ids, the_cache_is_bounded_and_the_oldest_goes) {
  IdMapOptions options = named();
  options.entries_max = 3;
  IdMap map = make(options);
  for (std::uint32_t number = 0; number < 5; ++number) (void)text(map, IdKind::user, number);
  EXPECT_FALSE(map.text_now(IdKind::user, 1, now_));
  for (std::uint32_t number = 2; number < 5; ++number)
    EXPECT_TRUE(map.text_now(IdKind::user, number, now_)) << number;
}

TEST_F(Ids, a_name_too_long_for_an_owner_is_sent_as_its_number) {
  names_.ids[{IdKind::user, std::string(200, 'x')}] = 1002;
  IdMap map = make(named());
  EXPECT_EQ(text(map, IdKind::user, 1002), "1002");
}

TEST_F(Ids, the_machine_knows_root) {
  SystemNames names;
  EXPECT_EQ(names.id_of(IdKind::user, "root").value(), 0U);
  EXPECT_EQ(names.id_of(IdKind::group, "root").value(), 0U);
  EXPECT_EQ(names.name_of(IdKind::user, 0).value(), "root");
  EXPECT_EQ(names.name_of(IdKind::group, 0).value(), "root");
  EXPECT_EQ(names.id_of(IdKind::user, "no such user here").value(), std::nullopt);
}

}  // namespace
}  // namespace braid::nfs4
