#include "base/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

namespace braid::base {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

std::string logged(const LogOptions& options, const std::function<void()>& action) {
  configure_log(options);
  testing::internal::CaptureStderr();
  action();
  std::string out = testing::internal::GetCapturedStderr();
  configure_log({});
  return out;
}

TEST(Log, an_event_is_one_line_with_its_level_and_name) {
  const std::string out =
      logged({}, [] { log_event(Level::warning, "client_refused", "client={} port={}", "10.0.0.9", 1023); });
  EXPECT_THAT(out, EndsWith(" warning client_refused client=10.0.0.9 port=1023\n"));
}

TEST(Log, control_characters_of_a_peer_cannot_forge_a_line) {
  const std::string out =
      logged({}, [] { log_event(Level::info, "mount", "path={}", "/a\nfake line\r\x1b[31m"); });
  EXPECT_THAT(out, EndsWith("path=/a\\x0afake line\\x0d\\x1b[31m\n"));
  EXPECT_EQ(std::ranges::count(out, '\n'), 1);
}

TEST(Log, bytes_above_ascii_are_kept) {
  EXPECT_THAT(logged({}, [] { log_event(Level::info, "name", "{}", "k\xc3\xa4se"); }),
              HasSubstr("k\xc3\xa4se"));
}

TEST(Log, lines_below_the_level_are_not_written) {
  const LogOptions options{.level = Level::error};
  EXPECT_THAT(logged(options, [] { log_event(Level::warning, "event", "text"); }), IsEmpty());
  EXPECT_THAT(logged(options, [] { log_event(Level::error, "event", "text"); }), HasSubstr("event text"));
}

TEST(Log, an_event_that_happens_all_the_time_leaves_lines_out) {
  const std::string out = logged({}, [] {
    for (int line = 0; line < 10'000; ++line) log_event(Level::info, "flood", "line={}", line);
    log_event(Level::info, "rare", "text");
  });
  EXPECT_LT(std::ranges::count(out, '\n'), 5'000);
  EXPECT_THAT(out, HasSubstr("rare text"));
}

TEST(Log, journal_lines_begin_with_the_priority_and_have_no_time) {
  const LogOptions options{.level = Level::debug, .journal = true};
  EXPECT_THAT(logged(options, [] { log_event(Level::error, "event", "text"); }), StartsWith("<3>event text"));
  EXPECT_THAT(logged(options, [] { log_event(Level::warning, "event", "text"); }),
              StartsWith("<4>event text"));
  EXPECT_THAT(logged(options, [] { log_event(Level::info, "event", "text"); }), StartsWith("<6>event text"));
  EXPECT_THAT(logged(options, [] { log_event(Level::debug, "event", "text"); }), StartsWith("<7>event text"));
}

}  // namespace
}  // namespace braid::base
