#include "base/result.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace braid::base {
namespace {

TEST(Result, a_system_call_that_fails_gives_its_errno) {
  const Result<int> closed = checked_call(::close(-1));
  ASSERT_FALSE(closed.has_value());
  EXPECT_EQ(number_of(closed.error()), EBADF);
}

TEST(Result, a_system_call_that_succeeds_gives_what_it_returned) {
  const Result<int> copy = checked_call(::dup(0));
  ASSERT_TRUE(copy.has_value());
  EXPECT_EQ(checked_call(::close(*copy)), 0);
}

TEST(Result, fail_takes_an_error_number_or_an_error_of_a_layer) {
  enum class LayerError { lost };
  const Result<int> by_number = fail(ENOSPC);
  EXPECT_EQ(by_number.error(), errno_of(ENOSPC));
  const Result<int, LayerError> by_layer = fail(LayerError::lost);
  EXPECT_EQ(by_layer.error(), LayerError::lost);
}

TEST(Result, an_errno_has_a_text_for_people) {
  EXPECT_EQ(message_of(errno_of(ENOSPC)), "No space left on device");
}

}  // namespace
}  // namespace braid::base
