#include "base/metrics.h"

#include <fmt/format.h>

#include <iterator>
#include <utility>
#include <vector>

namespace braid::base {
namespace {

// `name{labels}` or `name`; `more` is one further label, for the buckets of a histogram.
std::string series(std::string_view name, std::string_view labels, std::string_view more = {}) {
  if (labels.empty() && more.empty()) return std::string(name);
  const std::string_view comma = labels.empty() || more.empty() ? "" : ",";
  return fmt::format("{}{{{}{}{}}}", name, labels, comma, more);
}

void append_histogram(std::string& out, std::string_view name, std::string_view labels,
                      const LatencyHistogram::Snapshot& snapshot) {
  std::uint64_t cumulative = 0;
  for (std::size_t i = 0; i < LatencyHistogram::buckets; ++i) {
    cumulative += snapshot.counts[i];
    const std::string bound =
        i + 1 == LatencyHistogram::buckets
            ? "le=\"+Inf\""
            : fmt::format("le=\"{}\"", static_cast<double>(std::uint64_t{1} << i) / 1e6);
    fmt::format_to(std::back_inserter(out), "{} {}\n", series(fmt::format("{}_bucket", name), labels, bound),
                   cumulative);
  }
  fmt::format_to(std::back_inserter(out), "{} {}\n{} {}\n", series(fmt::format("{}_sum", name), labels),
                 static_cast<double>(snapshot.nanoseconds) / 1e9,
                 series(fmt::format("{}_count", name), labels), cumulative);
}

// Help text is one line; a backslash and a line feed are escaped (exposition format 0.0.4).
std::string escaped_help(std::string_view help) {
  std::string out;
  for (char c : help) {
    if (c == '\\')
      out += "\\\\";
    else if (c == '\n')
      out += "\\n";
    else
      out += c;
  }
  return out;
}

}  // namespace

std::size_t metric_shard() {
  static std::atomic<std::size_t> threads{0};
  thread_local const std::size_t shard = threads.fetch_add(1, std::memory_order_relaxed) % metric_shards;
  return shard;
}

std::string escaped_label(std::string_view value) {
  std::string out;
  for (const char c : value) {
    if (c == '\\' || c == '"') out += '\\';
    if (c == '\n')
      out += "\\n";
    else
      out += c;
  }
  return out;
}

LatencyHistogram::Snapshot LatencyHistogram::snapshot() const {
  Snapshot sum;
  for (const Shard& shard : shards_) {
    for (std::size_t i = 0; i < buckets; ++i)
      sum.counts[i] += shard.counts[i].load(std::memory_order_relaxed);
    sum.nanoseconds += shard.nanoseconds.load(std::memory_order_relaxed);
  }
  return sum;
}

std::string MetricRegistry::in_whole(std::string_view labels) const {
  const std::string_view comma = labels_.empty() || labels.empty() ? "" : ",";
  return fmt::format("{}{}{}", labels_, comma, labels);
}

Counter& MetricRegistry::counter(std::string_view name, std::string_view help, std::string_view labels) {
  if (whole_ != nullptr) return whole_->counter(name, help, in_whole(labels));
  std::scoped_lock lock(mutex_);
  Counter& counter = counters_.emplace_back();
  entries_.push_back(
      {Kind::counter, std::string(name), std::string(help), std::string(labels), &counter, nullptr, {}});
  return counter;
}

LatencyHistogram& MetricRegistry::histogram(std::string_view name, std::string_view help,
                                            std::string_view labels) {
  if (whole_ != nullptr) return whole_->histogram(name, help, in_whole(labels));
  std::scoped_lock lock(mutex_);
  LatencyHistogram& histogram = histograms_.emplace_back();
  entries_.push_back(
      {Kind::histogram, std::string(name), std::string(help), std::string(labels), nullptr, &histogram, {}});
  return histogram;
}

void MetricRegistry::gauge(std::string_view name, std::string_view help, std::string_view labels,
                           std::function<double()> read) {
  if (whole_ != nullptr) return whole_->gauge(name, help, in_whole(labels), std::move(read));
  std::scoped_lock lock(mutex_);
  entries_.push_back({Kind::gauge, std::string(name), std::string(help), std::string(labels), nullptr,
                      nullptr, std::move(read)});
}

void MetricRegistry::counter_function(std::string_view name, std::string_view help, std::string_view labels,
                                      std::function<double()> read) {
  if (whole_ != nullptr) return whole_->counter_function(name, help, in_whole(labels), std::move(read));
  std::scoped_lock lock(mutex_);
  entries_.push_back({Kind::counter_function, std::string(name), std::string(help), std::string(labels),
                      nullptr, nullptr, std::move(read)});
}

void MetricRegistry::counter_family(std::string_view name, std::string_view help,
                                    std::function<std::vector<Sample>()> read) {
  if (whole_ != nullptr)
    return whole_->counter_family(name, help, [this, read = std::move(read)] {
      std::vector<Sample> samples = read();
      for (Sample& sample : samples) sample.labels = in_whole(sample.labels);
      return samples;
    });
  std::scoped_lock lock(mutex_);
  entries_.push_back(
      {Kind::family, std::string(name), std::string(help), {}, nullptr, nullptr, {}, std::move(read)});
}

std::string MetricRegistry::prometheus() const {
  if (whole_ != nullptr) return whole_->prometheus();
  std::scoped_lock lock(mutex_);
  // The format wants the series of one name side by side; they are registered in any order.
  std::vector<std::pair<std::string_view, std::vector<const Entry*>>> families;
  for (const Entry& entry : entries_) {
    auto family = std::ranges::find(families, entry.name, [](const auto& f) { return f.first; });
    if (family == families.end()) family = families.insert(families.end(), {entry.name, {}});
    family->second.push_back(&entry);
  }
  std::string out;
  for (const auto& [name, family] : families) {
    const Kind kind = family.front()->kind;
    const std::string_view type = kind == Kind::histogram ? "histogram"
                                  : kind == Kind::gauge   ? "gauge"
                                                          : "counter";
    fmt::format_to(std::back_inserter(out), "# HELP {} {}\n# TYPE {} {}\n", name,
                   escaped_help(family.front()->help), name, type);
    for (const Entry* entry : family) {
      switch (entry->kind) {
        case Kind::counter:
          fmt::format_to(std::back_inserter(out), "{} {}\n", series(name, entry->labels),
                         entry->counter->value());
          break;
        case Kind::histogram:
          append_histogram(out, name, entry->labels, entry->histogram->snapshot());
          break;
        case Kind::gauge:
        case Kind::counter_function:
          fmt::format_to(std::back_inserter(out), "{} {}\n", series(name, entry->labels), entry->read());
          break;
        case Kind::family:
          for (const Sample& sample : entry->samples())
            fmt::format_to(std::back_inserter(out), "{} {}\n", series(name, sample.labels), sample.value);
          break;
      }
    }
  }
  return out;
}

}  // namespace braid::base
