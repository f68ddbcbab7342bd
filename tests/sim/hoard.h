// Two clients that hold very much and are never heard of again: what goes with them, goes in portions.
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "nfs4/nfs4.x.h"
#include "nfs4/server_state.h"
#include "nfs4/state/steps.h"
#include "vfs/open_file.h"
#include "vfs/types.h"

namespace braid::sim {

// How many ranges the one locks.
constexpr std::uint64_t hoarded_ranges = 2000;
// How many entries of its tables a call of the state layer may look at, whatever clients hold.
constexpr std::uint64_t entries_max = 3 * nfs4::state::StepCounter::portion;
// How many calls of the file system there may be in one turn of the reactor: whoever makes many makes 32.
constexpr std::uint64_t turn_calls_max = 512;

enum class Hoard : std::uint8_t {
  many_owners,  // each range is another owner's
  one_owner,    // all are of one, which has begun to lock all of the file
  whole_close,  // all are of one, and its open is closed with them, which is one step
};

// They come without a network. One locks many ranges of `file`, which nobody else uses; the other one waits
// for all of the file. `number`: of their coming; `open`: of the file, by which the file system is told of
// what they unlock. The first one, or 0: they could not come.
nfs4::clientid4 hoard_locks(const nfs4::ServerState& server, const vfs::FileHandle& file,
                            const vfs::OpenFileRef& open, std::uint64_t number, Hoard what,
                            base::TimePoint now);

}  // namespace braid::sim
