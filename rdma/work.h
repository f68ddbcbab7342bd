// Work requests that have been posted, until they have completed.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/assert.h"

namespace braid::rdma {

// How a work request ended.
enum class WorkStatus : std::uint8_t {
  success,
  flushed,         // the connection had ended, or a request before it had failed
  local_error,     // our memory or its key: a mistake of ours, or a message that is longer than its buffer
  remote_access,   // the peer's memory: key unknown, out of bounds, or without the right
  remote_invalid,  // the peer could not take the request
  unanswered,      // the peer did not acknowledge
  not_received,    // the peer had posted no receive, however often we asked (RNR)
  fatal,           // anything else: the device
};
std::string_view name_of(WorkStatus status);

class WorkList;

// A posted request, or a posted chain of them: whoever posts it keeps it and the memory that it names until
// completed() has been called, which happens once, whatever becomes of the connection.
class Work {
 public:
  Work() = default;
  virtual ~Work() { base::check(list_ == nullptr, "a work is kept until it has completed"); }
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;

  // `bytes`: that were received. Of a chain, the status is that of the first that failed.
  virtual void completed(WorkStatus status, std::uint32_t bytes) = 0;
  // For providers: a request of a chain failed whose end is still to come.
  void failed(WorkStatus status) {
    if (failure_ == WorkStatus::success) failure_ = status;
  }
  // For providers: takes it from the list that it is in.
  void finish(WorkStatus status, std::uint32_t bytes);

 private:
  friend class WorkList;
  WorkStatus failure_ = WorkStatus::success;
  WorkList* list_ = nullptr;
  Work* previous_ = nullptr;
  Work* next_ = nullptr;
};

// For providers: what a device has not given back, in the order in which it was posted. Belongs to one
// thread; empty when it ends.
class WorkList {
 public:
  WorkList() = default;
  ~WorkList() { base::check(first_ == nullptr, "a list of works ends when they have completed"); }
  WorkList(const WorkList&) = delete;
  WorkList& operator=(const WorkList&) = delete;

  void add(Work& work);
  // Completes all of them; not to be called, and the list not to be destroyed, while one completes.
  void finish_all(WorkStatus status);

 private:
  friend class Work;
  void remove(Work& work);
  Work* first_ = nullptr;
  Work* last_ = nullptr;
};

}  // namespace braid::rdma
