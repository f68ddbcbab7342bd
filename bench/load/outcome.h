// How calls end.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "io/op.h"

namespace braid::load {

// Why a call failed: the name of an NFS, MOUNT or RPC status, or what else was wrong. Static text.
struct Fault {
  std::string_view status;
  // The server asks to be called again later: NFS3ERR_JUKEBOX (RFC 1813 2.6), NFS4ERR_DELAY, NFS4ERR_GRACE.
  bool later = false;
};

constexpr auto later = std::chrono::milliseconds(20);
// Of one call, then its Fault stands: two minutes, longer than grace periods are.
constexpr unsigned repeats_max = 6000;

template <class T = void>
using LoadOp = io::Op<T, Fault>;

// What a call that succeeded moved.
struct Done {
  std::uint32_t bytes = 0;    // of file data
  std::uint32_t entries = 0;  // of a directory
};

}  // namespace braid::load
