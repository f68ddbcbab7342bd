// File systems to test on: mounted when first asked for, in a mount namespace of the test program's own.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace braid::vfs {

// tmpfs, and what Linux servers have on disks.
const std::vector<std::string>& file_system_kinds();

// A directory on a fresh file system of this kind; or, in words, why there is none (no root, no mkfs).
base::Result<std::string, std::string> mounted(std::string_view kind);

// Mounts a tmpfs with these options on a new directory; needs root.
base::Result<std::string, std::string> mount_tmpfs(const std::string& options);

// Runs `body` in a child process as this user, without privileges. Fails unless all its expectations held,
// and says how the child ended.
testing::AssertionResult holds_as_user(unsigned uid, unsigned gid, void (*body)(void*), void* argument);
template <class F>
testing::AssertionResult holds_as_user(unsigned uid, unsigned gid, F body) {
  return holds_as_user(uid, gid, [](void* argument) { (*static_cast<F*>(argument))(); }, &body);
}

}  // namespace braid::vfs
