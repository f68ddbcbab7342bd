// Whose doing a line of the log is.
#pragma once

#include <cstdint>

#include "base/strong.h"

namespace braid::base {

struct LogSourceTag;
// A peer; 0: nobody, or not one alone.
using LogSource = Strong<LogSourceTag, std::uint64_t>;

}  // namespace braid::base
