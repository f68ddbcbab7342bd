#include "rdma/work.h"

namespace braid::rdma {

std::string_view name_of(WorkStatus status) {
  switch (status) {
    case WorkStatus::success:
      return "success";
    case WorkStatus::flushed:
      return "flushed";
    case WorkStatus::local_error:
      return "local error";
    case WorkStatus::remote_access:
      return "remote access error";
    case WorkStatus::remote_invalid:
      return "remote invalid request";
    case WorkStatus::unanswered:
      return "no acknowledgement";
    case WorkStatus::not_received:
      return "receiver not ready";
    case WorkStatus::fatal:
      return "device error";
  }
  return "unknown";
}

void Work::finish(WorkStatus status, std::uint32_t bytes) {
  if (list_ != nullptr) list_->remove(*this);
  const WorkStatus first = failure_ == WorkStatus::success ? status : failure_;
  failure_ = WorkStatus::success;
  completed(first, bytes);
}

void WorkList::add(Work& work) {
  base::check(work.list_ == nullptr, "a work is posted once at a time");
  work.list_ = this;
  work.previous_ = last_;
  work.next_ = nullptr;
  (last_ != nullptr ? last_->next_ : first_) = &work;
  last_ = &work;
}

void WorkList::remove(Work& work) {
  (work.previous_ != nullptr ? work.previous_->next_ : first_) = work.next_;
  (work.next_ != nullptr ? work.next_->previous_ : last_) = work.previous_;
  work.list_ = nullptr;
}

void WorkList::finish_all(WorkStatus status) {
  while (first_ != nullptr) first_->finish(status, 0);
}

}  // namespace braid::rdma
