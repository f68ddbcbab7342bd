// File systems that are mounted below the directory of an export: clients see empty directories there.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace braid::server {

// The mount points below each of `directories`, in order. Only those that nothing else in the list covers:
// not a directory of the list or what is below it, and no mount within one that is named. Paths are absolute,
// without links. `mountinfo` is /proc/self/mountinfo (proc_pid_mountinfo(5)).
std::vector<std::vector<std::string>> mounts_below(const std::vector<std::string>& directories,
                                                   std::string_view mountinfo);
// The same for what is mounted now, and for directories that links lead to. What cannot be read has none.
std::vector<std::vector<std::string>> mounts_below(const std::vector<std::string>& directories);

}  // namespace braid::server
