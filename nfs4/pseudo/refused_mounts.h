// Names of the pseudo file system that clients asked for and did not get, for the log: as a rule somebody
// tries to mount one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/guarded.h"
#include "nfs4/nfs4.x.h"

namespace braid::nfs4 {

// Thread-safe.
class RefusedMounts {
 public:
  // A line for each client and path once a minute, and for so many of them in a minute.
  static constexpr std::size_t lines_max = 64;

  // `client`: an address. True: there is a line.
  bool tell(const std::string& client, const std::string& path, std::uint32_t minor_version, nfsstat4 status,
            base::TimePoint now);

 private:
  using Told = std::map<std::pair<std::string, std::string>, base::TimePoint>;
  base::Guarded<Told> told_;
};

}  // namespace braid::nfs4
