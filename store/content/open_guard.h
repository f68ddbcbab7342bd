// Refuses that other processes of this machine open sealed files, where they would read zeros.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/guarded.h"
#include "base/result.h"
#include "base/unique_fd.h"

struct fanotify_event_metadata;

namespace braid::store {

// By fanotify(7): on a file system that is watched the kernel asks about each regular file that is opened,
// and who opens it waits for the answer; this process does, too, and may. Others get EPERM for a file with a
// record, unless their program has the same name. When the guard ends, whoever waits is let through.
//
// A thread of its own answers. It takes no lock that who opens a file may have, opens no file of a file
// system that may be watched, and does not log. Thread-safe.
class OpenGuard {
 public:
  // EPERM: that takes CAP_SYS_ADMIN; ENOSYS, EINVAL: the kernel cannot do it.
  static base::Result<std::unique_ptr<OpenGuard>> start();
  ~OpenGuard();
  OpenGuard(const OpenGuard&) = delete;
  OpenGuard& operator=(const OpenGuard&) = delete;

  // The file system that the directory is on, from now on.
  base::Result<void> watch(const std::string& directory);

  struct Counts {
    std::uint64_t asked = 0;    // opens
    std::uint64_t refused = 0;  // of them
  };
  [[nodiscard]] Counts counts() const { return {.asked = asked_, .refused = refused_}; }
  struct Refusal {
    pid_t process = 0;  // 0: it is in another PID namespace
    std::string program{};
    std::uint64_t fileid = 0;
  };
  // Those that there were since it was asked last; after the first `refusals_max` of them no more are kept.
  static constexpr std::size_t refusals_max = 16;
  std::vector<Refusal> take_refusals();

 private:
  OpenGuard(base::UniqueFd events, base::UniqueFd stop);
  void answer_all();
  void answer_some();
  bool may_open(const fanotify_event_metadata& event);
  void note(pid_t process, int fd);

  const base::UniqueFd events_, stop_;
  const pid_t self_;
  const std::string program_;
  std::atomic<std::uint64_t> asked_{0}, refused_{0};
  base::Guarded<std::vector<Refusal>> refusals_;
  std::thread thread_;
};

}  // namespace braid::store
