#include "store/registry.h"

#include <array>
#include <thread>

#include "store/gone_file.h"
#include "tests/unit/store/failing_medium.h"
#include "tests/unit/store/scratch.h"

namespace braid::store::test {
namespace {

class RegistryTest : public ScratchTest {
 protected:
  std::unique_ptr<Registry> opened(OpenFor what = OpenFor::writing) const {
    auto out = Registry::open(*medium_, id_, what);
    return out ? std::move(*out) : nullptr;
  }
  static RegistryEntry entry(std::uint64_t number) { return {RegistryKind::sealed, 1, number, {}}; }
  static void add(Registry& registry, std::uint64_t number) {
    const RegistryEntry one = entry(number);
    EXPECT_TRUE(registry.append(std::span(&one, 1)));
  }
  static std::vector<RegistryEntry> all(Registry& registry, std::uint64_t damaged = 0) {
    std::vector<RegistryEntry> out;
    EXPECT_EQ(registry.walk([&](const RegistryEntry& one) { out.push_back(one); }), damaged);
    return out;
  }
};

TEST_F(RegistryTest, has_what_was_added) {
  {
    const auto registry = opened(OpenFor::creating);
    add(*registry, 1);
    add(*registry, 2);
  }
  const auto registry = opened();
  add(*registry, 3);
  EXPECT_EQ(all(*registry), (std::vector{entry(1), entry(2), entry(3)}));
}

TEST_F(RegistryTest, what_a_crash_left_of_a_rewrite_goes) {
  add(*opened(OpenFor::creating), 1);
  put("registry.new", "left");
  EXPECT_EQ(all(*opened(OpenFor::reading)), std::vector{entry(1)});
  EXPECT_EQ(content("registry.new"), "left") << "who reads changes nothing";
  EXPECT_EQ(all(*opened()), std::vector{entry(1)});
  EXPECT_FALSE(std::filesystem::exists(path_ / "registry.new"));
}

TEST_F(RegistryTest, what_a_crash_cut_short_is_noted) {
  {
    const auto registry = opened(OpenFor::creating);
    add(*registry, 1);
    add(*registry, 2);
  }
  const std::string whole = content("registry");
  for (std::size_t size = 2 * RegistryEntry::bytes + 1; size < whole.size(); ++size) {
    put("registry", whole.substr(0, size));
    const auto registry = opened();
    add(*registry, 3);
    EXPECT_EQ(all(*registry), (std::vector{entry(1), {RegistryKind::cut, 0, 0, {}}, entry(3)})) << size;
  }
}

TEST_F(RegistryTest, on_a_full_medium_there_may_be_room_later) {
  FailingMedium medium(*medium_);
  opened(OpenFor::creating).reset();
  {
    const auto registry = std::move(*Registry::open(medium, id_, OpenFor::writing));
    add(*registry, 1);
    const std::vector<RegistryEntry> more{entry(2), entry(3), entry(4)};
    for (const int full : {ENOSPC, EDQUOT}) {
      medium.write_errno = full;
      EXPECT_EQ(registry->append(more).error(), base::errno_of(full));
    }
    medium.write_errno = 0;
    EXPECT_EQ(all(*opened(OpenFor::reading)), (std::vector{entry(1)})) << "no part of them is there";
    add(*registry, 5);
  }
  EXPECT_EQ(all(*opened()), (std::vector{entry(1), entry(5)}));
}

TEST_F(RegistryTest, after_another_error_nothing_is_added) {
  FailingMedium medium(*medium_);
  opened(OpenFor::creating).reset();
  const auto registry = std::move(*Registry::open(medium, id_, OpenFor::writing));
  medium.write_errno = EIO;
  const RegistryEntry one = entry(1);
  EXPECT_FALSE(registry->append(std::span(&one, 1)));
  medium.write_errno = 0;
  EXPECT_EQ(registry->append(std::span(&one, 1)).error(), base::errno_of(EIO));
}

TEST_F(RegistryTest, damage_is_counted) {
  {
    const auto registry = opened(OpenFor::creating);
    for (std::uint64_t i = 1; i <= 3; ++i) add(*registry, i);
  }
  std::string bytes = content("registry");
  bytes[RegistryEntry::bytes + 10] ^= 1;
  put("registry", bytes);
  EXPECT_EQ(all(*opened(), 1), (std::vector{entry(2), entry(3)}));
  bytes[3] ^= 1;
  put("registry", bytes);
  EXPECT_EQ(opened(), nullptr) << "the head is damaged";
}

TEST_F(RegistryTest, written_anew_it_has_what_is_kept_and_what_came_since) {
  {
    const auto registry = opened(OpenFor::creating);
    for (std::uint64_t i = 1; i <= 4; ++i) add(*registry, i);
    const Registry::Place end = registry->end();
    add(*registry, 5);
    const auto keep_even = [&](Registry::Place at, const RegistryEntry& one) {
      EXPECT_EQ(at, one.logical * RegistryEntry::bytes);
      if (one.logical == 3) add(*registry, 6);  // meanwhile
      return one.logical % 2 == 0;
    };
    ASSERT_TRUE(registry->rewrite(end, keep_even));
    EXPECT_EQ(all(*registry), (std::vector{entry(2), entry(4), entry(5), entry(6)}));
    add(*registry, 7);
  }
  EXPECT_EQ(all(*opened()), (std::vector{entry(2), entry(4), entry(5), entry(6), entry(7)}));
  EXPECT_FALSE(std::filesystem::exists(path_ / "registry.new"));
}

TEST_F(RegistryTest, many_add_while_it_is_written_anew) {
  const auto registry = opened(OpenFor::creating);
  std::vector<std::jthread> threads;
  for (std::uint64_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (std::uint64_t i = 0; i < 50; ++i) add(*registry, t * 100 + i);
    });
  for (int i = 0; i < 20; ++i)
    EXPECT_TRUE(
        registry->rewrite(registry->end(), [](Registry::Place, const RegistryEntry&) { return true; }));
  threads.clear();
  EXPECT_EQ(all(*registry).size(), 200U);
  EXPECT_EQ(all(*opened()).size(), 200U);
}

TEST_F(RegistryTest, what_cannot_be_written_anew_stays) {
  FailingMedium medium(*medium_);
  opened(OpenFor::creating).reset();
  const auto registry = std::move(*Registry::open(medium, id_, OpenFor::writing));
  add(*registry, 1);
  const auto none = [](Registry::Place, const RegistryEntry&) { return false; };
  medium.write_errno = ENOSPC;
  EXPECT_EQ(registry->rewrite(registry->end(), none).error(), base::errno_of(ENOSPC));
  medium.write_errno = 0;
  medium.sync_errno = EIO;
  EXPECT_EQ(registry->rewrite(registry->end(), none).error(), base::errno_of(EIO));
  medium.sync_errno = 0;
  EXPECT_FALSE(std::filesystem::exists(path_ / "registry.new"));
  add(*registry, 2);
  EXPECT_EQ(all(*registry), (std::vector{entry(1), entry(2)}));
  std::string bytes = content("registry");
  bytes[RegistryEntry::bytes + 10] ^= 1;
  put("registry", bytes);
  EXPECT_EQ(registry->rewrite(registry->end(), none).error(), base::errno_of(EBADMSG));
  EXPECT_EQ(content("registry"), bytes);
}

TEST_F(RegistryTest, what_somebody_has_cut_off_is_damage) {
  const auto registry = opened(OpenFor::creating);
  for (std::uint64_t i = 1; i <= 3; ++i) add(*registry, i);
  std::filesystem::resize_file(path_ / "registry", 3 * RegistryEntry::bytes);
  EXPECT_EQ(all(*registry, 1), (std::vector{entry(1), entry(2)}));
  const auto each = [](Registry::Place, const RegistryEntry&) { return true; };
  EXPECT_EQ(registry->rewrite(registry->end(), each).error(), base::errno_of(EBADMSG));
}

// Nobody knows which of the two the medium has then.
TEST_F(RegistryTest, when_its_name_cannot_be_synced_nothing_is_added) {
  FailingMedium medium(*medium_);
  opened(OpenFor::creating).reset();
  const auto registry = std::move(*Registry::open(medium, id_, OpenFor::writing));
  add(*registry, 1);
  medium.directory_errno = EIO;
  const auto each = [](Registry::Place, const RegistryEntry&) { return true; };
  EXPECT_EQ(registry->rewrite(registry->end(), each).error(), base::errno_of(EIO));
  medium.directory_errno = 0;
  const RegistryEntry one = entry(2);
  EXPECT_EQ(registry->append(std::span(&one, 1)).error(), base::errno_of(EIO));
  EXPECT_EQ(all(*registry), (std::vector{entry(1)}));
}

TEST_F(RegistryTest, entries_are_settled_when_whoever_added_them_has_ended) {
  opened(OpenFor::creating).reset();
  {
    const auto before = opened();
    add(*before, 1);
  }
  const auto registry = opened();
  const Registry::Place first = registry->end();
  add(*registry, 2);  // by use 5
  const Registry::Place second = registry->end();
  EXPECT_EQ(registry->settle(5, [] { return 7; }), first) << "of the process before";
  add(*registry, 3);  // by use 8
  EXPECT_EQ(registry->settle(5, [] { return 9; }), first) << "use 5 goes on";
  EXPECT_EQ(registry->settle(10, [] { return 10; }), second + RegistryEntry::bytes);
  ASSERT_TRUE(registry->rewrite(registry->end(), [](Registry::Place, const RegistryEntry&) { return true; }));
  EXPECT_EQ(registry->settle(10, [] { return 12; }), second + RegistryEntry::bytes);
  add(*registry, 4);
  // Places are others without the first two.
  const auto keep = [&](Registry::Place at, const RegistryEntry&) { return at > first; };
  ASSERT_TRUE(registry->rewrite(second, keep));
  EXPECT_EQ(registry->settle(10, [] { return 15; }), RegistryEntry::bytes)
      << "behind the header is the third";
  EXPECT_EQ(registry->settle(16, [] { return 16; }), registry->end());
}

TEST_F(RegistryTest, with_another_one_in_its_place_nothing_is_known_of_files_that_are_gone) {
  opened(OpenFor::creating).reset();
  put(GoneFile::name, "anything");
  ASSERT_TRUE(Registry::replace(*medium_, id_, [](const Registry::Add& to) { return to(entry(1)); }));
  EXPECT_FALSE(std::filesystem::exists(path_ / GoneFile::name));
  EXPECT_EQ(all(*opened()), (std::vector{entry(1)}));
}

TEST_F(RegistryTest, many_add_at_once) {
  const auto registry = opened(OpenFor::creating);
  std::vector<std::jthread> threads;
  for (std::uint64_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (std::uint64_t i = 0; i < 50; ++i) add(*registry, t * 100 + i);
    });
  threads.clear();
  EXPECT_EQ(all(*registry).size(), 200U);
}

}  // namespace
}  // namespace braid::store::test
