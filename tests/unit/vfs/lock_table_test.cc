// Locks of several owners of one file: against a table of bytes, and how much is looked at.
#include "vfs/lock_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <random>
#include <utility>
#include <vector>

namespace braid::vfs {
namespace {

constexpr std::uint64_t offset_max = std::numeric_limits<std::uint64_t>::max();

// The file in the model: single bytes at its start and at the end of the offset space, and all between them
// as one. So every edge is met, those at 2^64 - 1 too.
constexpr std::size_t cells = 25;
ByteRange cell(std::size_t number) {
  constexpr std::size_t middle = cells / 2;
  if (number < middle) return {number, number};
  if (number > middle) return {offset_max - (cells - 1 - number), offset_max - (cells - 1 - number)};
  return {middle, offset_max - middle};
}

enum class Held : std::uint8_t { nothing, read, write };
using Model = std::array<Held, cells>;

struct Span {
  std::size_t first, last;
  [[nodiscard]] ByteRange bytes() const { return {cell(first).first, cell(last).last}; }
};

bool conflicts(const Model& model, const Span& span, LockType type) {
  for (std::size_t i = span.first; i <= span.last; ++i)
    if (model[i] == Held::write || (model[i] == Held::read && type == LockType::write)) return true;
  return false;
}

std::size_t runs(const Model& model) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < cells; ++i)
    if (model[i] != Held::nothing && (i == 0 || model[i - 1] != model[i])) ++count;
  return count;
}

class LockTableModelTest : public testing::TestWithParam<std::uint32_t> {
 protected:
  static constexpr std::size_t owners = 5;
  static LockOwnerId id(std::size_t owner) { return LockOwnerId{owner + 1}; }

  std::size_t below(std::size_t limit) { return engine_() % limit; }
  Span span() {
    const std::size_t a = below(cells), b = below(cells);
    return {std::min(a, b), std::max(a, b)};
  }
  LockType type() { return below(3) == 0 ? LockType::write : LockType::read; }
  [[nodiscard]] bool others_conflict(std::size_t owner, const Span& span, LockType type) const {
    for (std::size_t i = 0; i < owners; ++i)
      if (i != owner && conflicts(models_[i], span, type)) return true;
    return false;
  }
  [[nodiscard]] bool anybody_has(std::size_t at) const {
    return std::ranges::any_of(models_, [&](const Model& model) { return model[at] != Held::nothing; });
  }
  void lock(std::size_t owner, const Span& span, LockType type) {
    table_.lock(id(owner), span.bytes(), type);
    for (std::size_t i = span.first; i <= span.last; ++i)
      models_[owner][i] = type == LockType::write ? Held::write : Held::read;
  }
  // What is free afterwards is what the walk says, and the walk says nothing that somebody has.
  void unlock(std::size_t owner, const Span& span) {
    const Model before = models_[owner];
    LockTable::Freed freed(table_.unlock(id(owner), span.bytes()));
    for (std::size_t i = span.first; i <= span.last; ++i) models_[owner][i] = Held::nothing;
    std::array<bool, cells> said{};
    while (const auto part = table_.next_free(freed))
      for (std::size_t i = 0; i < cells; ++i) said[i] = said[i] || part->overlaps(cell(i));
    for (std::size_t i = 0; i < cells; ++i) {
      if (anybody_has(i)) {
        ASSERT_FALSE(said[i]) << i;
      } else if (span.first <= i && i <= span.last && before[i] != Held::nothing) {
        ASSERT_TRUE(said[i]) << i;
      }
    }
  }
  // As much of a span as has so many ranges: no more, and no less if there are more.
  void begin() {
    const std::size_t owner = below(owners), most = 1 + below(4);
    const ByteRange whole = span().bytes();
    const ByteRange part = table_.beginning(id(owner), whole, most);
    ASSERT_EQ(part.first, whole.first);
    ASSERT_LE(part.last, whole.last);
    const std::size_t all = table_.held(id(owner), whole).size();
    ASSERT_EQ(table_.held(id(owner), part).size(), std::min(all, most));
    ASSERT_EQ(part == whole, all <= most);
    if (all <= most) return;
    const auto next = table_.held(id(owner), ByteRange{part.last + 1, whole.last});
    ASSERT_EQ(next.front().range.first, part.last + 1) << "it ends where the next one begins";
  }
  void compare() {
    std::size_t ranges = 0;
    for (std::size_t owner = 0; owner < owners; ++owner) {
      ASSERT_EQ(table_.count(id(owner)), runs(models_[owner])) << "equal neighbours are one range";
      ranges += runs(models_[owner]);
      const Span probe = span();
      for (const LockType wanted : {LockType::read, LockType::write}) {
        const auto* const holder = table_.conflict(id(owner), probe.bytes(), wanted);
        ASSERT_EQ(holder != nullptr, others_conflict(owner, probe, wanted));
        if (holder == nullptr) continue;
        ASSERT_TRUE(holder->range.overlaps(probe.bytes()));
        ASSERT_TRUE(types_conflict(holder->type, wanted));
        ASSERT_NE(holder->owner, id(owner));
      }
    }
    ASSERT_EQ(table_.size(), ranges);
  }

  LockTable table_;
  std::array<Model, owners> models_{};

 private:
  std::mt19937 engine_{GetParam()};
};

TEST_P(LockTableModelTest, each_owner_holds_what_a_table_of_bytes_says) {
  for (int step = 0; step < 3000; ++step) {
    const std::size_t owner = below(owners);
    const Span range = span();
    const LockType wanted = type();
    if (below(5) < 2)
      ASSERT_NO_FATAL_FAILURE(unlock(owner, range)) << "step " << step;
    else if (!others_conflict(owner, range, wanted))
      lock(owner, range, wanted);
    ASSERT_NO_FATAL_FAILURE(compare()) << "step " << step;
    ASSERT_NO_FATAL_FAILURE(begin()) << "step " << step;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, LockTableModelTest, testing::Range(1U, 9U));

// --- How much is looked at.

class ManyLocksTest : public testing::Test {
 protected:
  static constexpr std::uint64_t count = 20'000;
  // Of a tree with so many entries, which is balanced: 1.44 times the logarithm, and something more.
  static constexpr std::uint64_t few = 48;

  std::uint64_t steps_of(auto&& call) {
    const std::uint64_t before = table_.steps();
    call();
    return table_.steps() - before;
  }
  LockTable table_;
};

TEST_F(ManyLocksTest, of_many_owners_few_are_looked_at) {
  for (std::uint64_t i = 0; i < count; ++i)
    ASSERT_LE(steps_of([&] { table_.lock(LockOwnerId{i + 1}, {4 * i, 4 * i + 1}, LockType::write); }), few);
  for (std::uint64_t i = 0; i < count; i += 97) {
    const LockTable::Entry* holder = nullptr;
    const auto ask = [&](std::uint64_t last, LockType type) {
      holder = table_.conflict(LockOwnerId{i + 1}, {4 * i, last}, type);
    };
    EXPECT_LE(steps_of([&] { ask(offset_max, LockType::read); }), few);
    ASSERT_EQ(holder == nullptr, i + 1 == count);
    EXPECT_LE(steps_of([&] { ask(4 * i + 3, LockType::write); }), few);
    EXPECT_EQ(holder, nullptr);
  }
  for (std::uint64_t i = 0; i < count; ++i)
    ASSERT_LE(steps_of([&] { (void)table_.unlock(LockOwnerId{i + 1}, whole_file); }), few);
  EXPECT_TRUE(table_.empty());
}

// What an owner has itself, and read locks where a read lock is wanted, are not in the way, however many.
TEST_F(ManyLocksTest, what_is_in_nobodys_way_is_passed_over) {
  for (std::uint64_t i = 0; i < count; ++i) table_.lock(LockOwnerId{1}, {4 * i, 4 * i + 1}, LockType::write);
  const LockTable::Entry* holder = nullptr;
  EXPECT_LE(steps_of([&] { holder = table_.conflict(LockOwnerId{1}, whole_file, LockType::write); }), few);
  EXPECT_EQ(holder, nullptr);
  table_.lock(LockOwnerId{2}, {4 * count, 4 * count}, LockType::write);
  EXPECT_LE(steps_of([&] { holder = table_.conflict(LockOwnerId{1}, whole_file, LockType::write); }), few);
  ASSERT_NE(holder, nullptr);
  EXPECT_EQ(holder->owner, LockOwnerId{2});

  LockTable readers;
  for (std::uint64_t i = 0; i < count; ++i) readers.lock(LockOwnerId{i + 1}, whole_file, LockType::read);
  const std::uint64_t before = readers.steps();
  EXPECT_EQ(readers.conflict(LockOwnerId{count + 1}, whole_file, LockType::read), nullptr);
  EXPECT_NE(readers.conflict(LockOwnerId{count + 1}, whole_file, LockType::write), nullptr);
  EXPECT_LE(readers.steps() - before, 2 * few);
}

// An owner among others leaves no more work than it had ranges.
TEST_F(ManyLocksTest, what_is_free_is_found_without_looking_at_what_others_have_elsewhere) {
  for (std::uint64_t i = 0; i < count; ++i)
    table_.lock(LockOwnerId{i + 1}, {4 * i, 4 * i + 1}, LockType::write);
  std::size_t parts = 0;
  EXPECT_LE(steps_of([&] {
              LockTable::Freed freed(table_.unlock(LockOwnerId{count / 2}, whole_file));
              while (table_.next_free(freed)) ++parts;
            }),
            2 * few);
  EXPECT_EQ(parts, 1U);
}

}  // namespace
}  // namespace braid::vfs
