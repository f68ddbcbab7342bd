#include "tests/unit/hashing/property.h"

#include <gtest/gtest.h>

#include "hashing/host/host_card.h"

namespace braid::hashing {
namespace {

TEST(Property, chunks_do_not_depend_on_splits_instruction_sets_threads_or_cards) {
  for (const bool with_card : {false, true}) {
    test::PropertyOptions options{.seed = 20'26, .bytes = 24 << 20, .stream_bytes_max = 6 << 20};
    if (with_card) options.cards.push_back(std::make_unique<HostCard>());
    test::PropertyCounts counts;
    EXPECT_EQ(test::find_difference(std::move(options), counts), std::nullopt);
    EXPECT_GE(counts.bytes, 24U << 20);
    EXPECT_GT(counts.parts_worker + counts.parts_card, counts.streams);
  }
}

}  // namespace
}  // namespace braid::hashing
