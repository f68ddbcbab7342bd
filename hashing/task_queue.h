// Tasks that wait, the urgent ones first.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <optional>

#include "hashing/task.h"

namespace braid::hashing {

// Of equal priority, first in, first out. Not synchronised.
class TaskQueue {
 public:
  void push(Task* task) {
    lanes_[index_of(task->job.priority)].push_back(task);
    bytes_ += task->bytes;
  }
  // The task that is next, or null.
  [[nodiscard]] Task* front() const {
    for (const auto& lane : lanes_)
      if (!lane.empty()) return lane.front();
    return nullptr;
  }
  Task* pop() {
    for (auto& lane : lanes_) {
      if (lane.empty()) continue;
      Task* task = lane.front();
      lane.pop_front();
      bytes_ -= task->bytes;
      return task;
    }
    return nullptr;
  }
  [[nodiscard]] bool empty() const { return front() == nullptr; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  // When the first task is due that has waited `patience` (half of that for urgent ones).
  [[nodiscard]] std::optional<base::TimePoint> due(base::Duration patience) const {
    std::optional<base::TimePoint> out;
    for (const auto& lane : lanes_) {
      if (lane.empty()) continue;
      const base::Duration wait = &lane == &lanes_.front() ? patience / 2 : patience;
      const base::TimePoint at = lane.front()->submitted + wait;
      out = out ? std::min(*out, at) : at;
    }
    return out;
  }

 private:
  static constexpr std::size_t priorities = 3;
  static std::size_t index_of(Priority priority) {
    return priorities - 1 - static_cast<std::size_t>(priority);
  }

  std::array<std::deque<Task*>, priorities> lanes_;  // urgent, normal, background
  std::uint64_t bytes_ = 0;
};

}  // namespace braid::hashing
