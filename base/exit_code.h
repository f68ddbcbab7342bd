// Exit codes of the braid program.
#pragma once

namespace braid::base {

constexpr int exit_failed = 1;  // the environment did not allow it
constexpr int exit_usage = 2;   // the command line or the configuration is wrong

}  // namespace braid::base
