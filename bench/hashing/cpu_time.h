// CPU time of this process, as the kernel counts it.
#pragma once

#include <sys/resource.h>

namespace braid::bench {

// Of all threads, and of the one that asks. In microseconds.
struct CpuTime {
  double all_us = 0;
  double own_us = 0;

  static CpuTime now() { return {of(RUSAGE_SELF), of(RUSAGE_THREAD)}; }

 private:
  static double of(int whose) {
    rusage usage{};
    ::getrusage(whose, &usage);
    const auto us = [](const timeval& t) {
      return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_usec);
    };
    return us(usage.ru_utime) + us(usage.ru_stime);
  }
};

}  // namespace braid::bench
