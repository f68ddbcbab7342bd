// States as people see them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "nfs4/nfs4.x.h"
#include "nfs4/state/locks/ranges.h"
#include "nfs4/state/opens/share.h"
#include "nfs4/state/state_id.h"
#include "vfs/open_file.h"
#include "vfs/types.h"

namespace braid::nfs4::state {

// A line of `braid opens`, `braid locks`, `braid delegations` and `braid layouts`.
struct StateLine {
  static constexpr std::size_t ranges_max = 16;
  clientid4 client = 0;
  std::string peer;  // its address and port
  std::uint32_t minor_version = 0;
  StateKind kind = StateKind::open;
  stateid4 id;
  base::TimePoint made{};
  std::string owner;
  vfs::FileHandle file;
  Share share;                    // of opens
  ShareHistory history;           // the same
  std::vector<HeldRange> ranges;  // of locks; the first ones
  std::size_t range_count = 0;
  bool write = false;      // of delegations and layouts
  bool directory = false;  // the same
  bool recalled = false;   // the same
  vfs::OpenFileRef open;   // of the file, if there is one
  vfs::FileRef held;       // the directory of a delegation
};

// A part of all states, so that nobody waits long for the lock.
struct StateQuery {
  std::optional<StateKind> kind;    // none: every kind
  std::optional<clientid4> client;  // none: of all clients
  std::uint32_t from = 0;           // StatePage::next of the page before
  std::size_t lines_max = 256;
};
struct StatePage {
  std::vector<StateLine> lines;
  std::optional<std::uint32_t> next;  // none: that was all
};

}  // namespace braid::nfs4::state
