// Tables of figures: each row is a member of a struct of counts, and makes a member of a report and a metric.
#pragma once

#include <concepts>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "base/metrics.h"

namespace braid::server::roles::stores {

enum class FigureKind : std::uint8_t {
  counter,  // only grows
  gauge,
};

template <class Counts>
struct Figure {
  std::uint64_t Counts::* value = nullptr;
  const char* member = nullptr;  // its name in the report
  const char* metric = nullptr;  // null: it is none
  const char* help = nullptr;
  FigureKind kind = FigureKind::counter;
};

template <class Counts>
void add_figures(nlohmann::json& members, std::span<const Figure<Counts>> figures, const Counts& counts) {
  for (const Figure<Counts>& figure : figures) members[figure.member] = counts.*figure.value;
}

// `read` returns the counts, whenever somebody looks.
template <class Counts, std::invocable Read>
void register_figures(base::MetricRegistry& metrics, const std::string& label,
                      std::span<const Figure<Counts>> figures, const Read& read) {
  for (const Figure<Counts>& figure : figures) {
    const auto value = [read, member = figure.value] { return static_cast<double>(read().*member); };
    if (figure.metric == nullptr) continue;
    if (figure.kind == FigureKind::counter)
      metrics.counter_function(figure.metric, figure.help, label, value);
    else
      metrics.gauge(figure.metric, figure.help, label, value);
  }
}

}  // namespace braid::server::roles::stores
