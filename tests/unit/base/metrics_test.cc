#include "base/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace braid::base {
namespace {

using std::chrono::microseconds;
using std::chrono::seconds;
using testing::HasSubstr;

TEST(Counter, additions_of_many_threads_are_all_counted) {
  constexpr int threads = 12, rounds = 5'000;
  Counter counter;
  {
    std::vector<std::jthread> workers;
    for (int t = 0; t < threads; ++t)
      workers.emplace_back([&] {
        for (int i = 0; i < rounds; ++i) counter.add(3);
      });
  }
  EXPECT_EQ(counter.value(), 3u * threads * rounds);
}

TEST(LatencyHistogram, a_duration_falls_into_the_bucket_of_its_power_of_two) {
  LatencyHistogram histogram;
  histogram.add(Duration(999));    // below 1 us
  histogram.add(microseconds(1));  // below 2 us
  histogram.add(microseconds(3));  // below 4 us
  histogram.add(seconds(3600));    // the last one
  const LatencyHistogram::Snapshot snapshot = histogram.snapshot();
  EXPECT_EQ(snapshot.counts[0], 1u);
  EXPECT_EQ(snapshot.counts[1], 1u);
  EXPECT_EQ(snapshot.counts[2], 1u);
  EXPECT_EQ(snapshot.counts[LatencyHistogram::buckets - 1], 1u);
  EXPECT_EQ(snapshot.nanoseconds, 999u + 1'000u + 3'000u + 3'600'000'000'000u);
}

TEST(LatencyHistogram, a_clock_that_went_back_counts_as_no_time) {
  LatencyHistogram histogram;
  histogram.add(microseconds(-5));
  EXPECT_EQ(histogram.snapshot().counts[0], 1u);
  EXPECT_EQ(histogram.snapshot().nanoseconds, 0u);
}

TEST(MetricRegistry, series_of_one_name_stand_together_under_one_header) {
  MetricRegistry registry;
  registry.counter("braid_calls_total", "Calls.", "proc=\"READ\"").add(7);
  registry.gauge("braid_connections", "Open connections.", {}, [] { return 2.5; });
  registry.counter("braid_calls_total", "Calls.", "proc=\"WRITE\"").add();
  EXPECT_EQ(registry.prometheus(),
            "# HELP braid_calls_total Calls.\n"
            "# TYPE braid_calls_total counter\n"
            "braid_calls_total{proc=\"READ\"} 7\n"
            "braid_calls_total{proc=\"WRITE\"} 1\n"
            "# HELP braid_connections Open connections.\n"
            "# TYPE braid_connections gauge\n"
            "braid_connections 2.5\n");
}

TEST(MetricRegistry, buckets_of_a_histogram_are_cumulative_and_end_with_infinity) {
  MetricRegistry registry;
  LatencyHistogram& histogram = registry.histogram("braid_latency_seconds", "Latency.", "proc=\"READ\"");
  histogram.add(Duration(500));
  histogram.add(microseconds(3));
  histogram.add(seconds(100));
  const std::string text = registry.prometheus();
  EXPECT_THAT(text, HasSubstr("# TYPE braid_latency_seconds histogram\n"));
  EXPECT_THAT(text, HasSubstr("braid_latency_seconds_bucket{proc=\"READ\",le=\"1e-06\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("braid_latency_seconds_bucket{proc=\"READ\",le=\"2e-06\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("braid_latency_seconds_bucket{proc=\"READ\",le=\"4e-06\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("braid_latency_seconds_bucket{proc=\"READ\",le=\"4.194304\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("braid_latency_seconds_bucket{proc=\"READ\",le=\"+Inf\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("braid_latency_seconds_sum{proc=\"READ\"} 100.0000035\n"));
  EXPECT_THAT(text, HasSubstr("braid_latency_seconds_count{proc=\"READ\"} 3\n"));
}

TEST(MetricRegistry, functions_are_asked_each_time) {
  MetricRegistry registry;
  double value = 1;
  registry.counter_function("braid_turns_total", "Turns.", "reactor=\"0\"", [&] { return value; });
  EXPECT_THAT(registry.prometheus(),
              HasSubstr("# TYPE braid_turns_total counter\nbraid_turns_total{reactor=\"0\"} 1\n"));
  value = 12345678;
  EXPECT_THAT(registry.prometheus(), HasSubstr("braid_turns_total{reactor=\"0\"} 12345678\n"));
}

TEST(MetricRegistry, series_of_a_part_are_in_the_whole_with_the_labels_of_the_part) {
  MetricRegistry whole;
  MetricRegistry first(whole, ""), second(whole, R"(role="second")");
  for (MetricRegistry* part : {&first, &second}) {
    part->counter("braid_calls_total", "Calls.", "proc=\"READ\"").add();
    part->gauge("braid_connections", "Open connections.", "", [] { return 2.0; });
  }
  EXPECT_EQ(whole.prometheus(),
            "# HELP braid_calls_total Calls.\n"
            "# TYPE braid_calls_total counter\n"
            "braid_calls_total{proc=\"READ\"} 1\n"
            "braid_calls_total{role=\"second\",proc=\"READ\"} 1\n"
            "# HELP braid_connections Open connections.\n"
            "# TYPE braid_connections gauge\n"
            "braid_connections 2\n"
            "braid_connections{role=\"second\"} 2\n");
}

TEST(MetricRegistry, series_of_a_family_come_and_go) {
  MetricRegistry whole;
  MetricRegistry part(whole, R"(role="second")");
  std::vector<MetricRegistry::Sample> samples{{R"(export="/a")", 1}, {R"(export="/b")", 2}};
  part.counter_family("braid_reads_total", "Reads.", [&] { return samples; });
  EXPECT_EQ(whole.prometheus(),
            "# HELP braid_reads_total Reads.\n"
            "# TYPE braid_reads_total counter\n"
            "braid_reads_total{role=\"second\",export=\"/a\"} 1\n"
            "braid_reads_total{role=\"second\",export=\"/b\"} 2\n");
  samples.pop_back();
  EXPECT_THAT(whole.prometheus(), Not(HasSubstr("/b")));
}

TEST(MetricRegistry, a_label_stays_between_its_quotes) {
  EXPECT_EQ(escaped_label("a\"b\\c\nd"), "a\\\"b\\\\c\\nd");
}

TEST(MetricRegistry, help_stays_on_its_line) {
  MetricRegistry registry;
  registry.counter("braid_x_total", "one\ntwo \\ three");
  EXPECT_THAT(registry.prometheus(), HasSubstr("# HELP braid_x_total one\\ntwo \\\\ three\n# TYPE"));
}

}  // namespace
}  // namespace braid::base
