#include "base/background_thread.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace braid::base {

// Whatever fails: it works on as it did.
void give_way_to_others() {
  // A process that was started with less keeps it. -1 is a value, too.
  if (::getpriority(PRIO_PROCESS, 0) < background_nice) (void)::setpriority(PRIO_PROCESS, 0, background_nice);
  // ioprio_set(2), which has no wrapper: the last one of the class "best effort", unless it is "idle"
  // already.
  constexpr int who_process = 1, best_effort = 2, idle = 3, class_shift = 13, last = 7;
  if (::syscall(SYS_ioprio_get, who_process, 0) >> class_shift == idle) return;
  (void)::syscall(SYS_ioprio_set, who_process, 0, best_effort << class_shift | last);
}

}  // namespace braid::base
