// Tasks that wait, the urgent ones first.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <memory_resource>
#include <set>

#include "hashing/task.h"

namespace braid::hashing {

// Of equal priority, first in, first out. Not synchronised.
class TaskQueue {
 public:
  // A task is due when it has waited `patience` (half of that if it is urgent), or at its deadline.
  explicit TaskQueue(base::Duration patience = {}) : patience_(patience) {}

  void push(Task* task) {
    lanes_[index_of(task->job.priority)].push_back(task);
    bytes_ += task->bytes;
    dues_.insert(due_of(*task));
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
      dues_.erase(dues_.find(due_of(*task)));
      return task;
    }
    return nullptr;
  }
  [[nodiscard]] bool empty() const { return front() == nullptr; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  // When the first task is due; the queue is not empty.
  [[nodiscard]] base::TimePoint due() const { return *dues_.begin(); }

 private:
  static constexpr std::size_t priorities = 3;
  static std::size_t index_of(Priority priority) {
    return priorities - 1 - static_cast<std::size_t>(priority);
  }

  [[nodiscard]] base::TimePoint due_of(const Task& task) const {
    const base::Duration wait = task.job.priority == Priority::urgent ? patience_ / 2 : patience_;
    return std::min(task.submitted + wait, task.job.deadline);
  }

  const base::Duration patience_;
  // What a task needs here is used again for later ones.
  std::pmr::unsynchronized_pool_resource memory_;
  std::pmr::multiset<base::TimePoint> dues_{&memory_};
  std::array<std::deque<Task*>, priorities> lanes_;  // urgent, normal, background
  std::uint64_t bytes_ = 0;
};

}  // namespace braid::hashing
