#include "store/registry.h"

#include <array>
#include <thread>

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
