// Permissions that the kernel granted a moment ago, so that a stream of requests is not checked one by one.
#pragma once

#include <array>
#include <cstdint>

#include "base/clock.h"
#include "vfs/types.h"

namespace braid::vfs::posix {

// R_OK, W_OK and X_OK of access(2), or-ed.
using Rights = unsigned;

// Of one file. Only grants are remembered, never refusals. A grant holds while mode and owners are what they
// were and either the ctime is too (an ACL change would have moved it) or the grant is younger than `trust`:
// a file that is being written changes its ctime all the time. Not thread-safe.
class Grants {
 public:
  static constexpr base::Duration trust = std::chrono::milliseconds(100);
  // A ctime younger than this at the check may hide a change within the same tick of the file system's clock.
  static constexpr base::Duration tick = std::chrono::milliseconds(20);

  // Those of these rights that are granted. `who` is a keyed hash of credentials; `now` is what the
  // attributes say in this call.
  [[nodiscard]] Rights held(std::uint64_t who, Rights rights, const Attributes& now,
                            base::TimePoint time) const;
  void remember(std::uint64_t who, Rights rights, const Attributes& now, base::TimePoint time,
                base::WallTime wall);

 private:
  struct Grant {
    std::uint64_t who = 0;
    Time ctime;
    std::uint32_t mode = 0, uid = 0, gid = 0;
    Rights rights = 0;  // 0: unused
    base::TimePoint checked{};
    bool settled = false;  // the ctime was old enough to tell changes
  };
  [[nodiscard]] static bool fits(const Grant& grant, const Attributes& now, base::TimePoint time);

  std::array<Grant, 4> grants_{};
  std::uint8_t next_ = 0;
};

}  // namespace braid::vfs::posix
