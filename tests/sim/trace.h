// What happened, line by line.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>

#include "base/clock.h"

namespace braid::sim {

class Trace {
 public:
  struct Line {
    base::TimePoint when;
    std::optional<std::uint32_t> client;  // none: of the server or the network
    std::optional<std::uint32_t> file;
    std::string text;
  };

  // Lines are made only when somebody will read them.
  explicit Trace(bool on, const base::Clock& clock) : on_(on), clock_(clock) {}

  template <class... Args>
  void add(std::optional<std::uint32_t> client, std::optional<std::uint32_t> file,
           fmt::format_string<Args...> format, Args&&... args) {
    if (on_) lines_.push_back({clock_.now(), client, file, fmt::format(format, std::forward<Args>(args)...)});
  }
  [[nodiscard]] const std::deque<Line>& lines() const { return lines_; }

 private:
  const bool on_;
  const base::Clock& clock_;
  std::deque<Line> lines_;
};

}  // namespace braid::sim
