// Opens and the owners that clients name for them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "nfs4/state/file_state.h"
#include "nfs4/state/opens/owner_sequence.h"
#include "nfs4/state/opens/share.h"
#include "nfs4/state/state_table.h"
#include "nfs4/state/state_use.h"
#include "vfs/open_file.h"

namespace braid::nfs4::state {

// The opens of one file that serve a state, one for each way it was opened: usually a single one.
class Descriptors {
 public:
  // One that allows `access`, or null.
  [[nodiscard]] vfs::OpenFileRef get(std::uint8_t access) const;
  [[nodiscard]] vfs::OpenFileRef any() const;
  // What is there already, or no longer needed, goes to `unused`.
  void add(vfs::OpenFileRef open, std::vector<vfs::OpenFileRef>& unused);
  void keep_only(std::uint8_t access, std::vector<vfs::OpenFileRef>& unused);

 private:
  vfs::OpenFileRef first_;
  std::unique_ptr<Descriptors> others_;  // null, without a first one
};

// One in two counts, of all and of a peer, from birth to death.
class Counted {
 public:
  Counted(std::size_t& all, std::size_t& of_peer) : all_(all), of_peer_(of_peer) {
    ++all_;
    ++of_peer_;
  }
  ~Counted() {
    --all_;
    --of_peer_;
  }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

 private:
  std::size_t& all_;
  std::size_t& of_peer_;
};

// open_owner4 (RFC 8881 9.1.3). In 4.0 it stays a while after its last CLOSE, for repetitions.
struct OpenOwner {
  OpenOwner(std::size_t& owners, std::size_t& of_peer) : counted(owners, of_peer) {}
  const Counted counted;
  std::string name;
  OwnerSequence sequence;  // 4.0
  bool confirmed = false;  // always true after 4.0
  std::uint32_t opens = 0;
  OpenState* latest = nullptr;  // 4.0: the open of an owner to be confirmed, or the one closed last
  base::TimePoint used{};
};

// Everything of one open owner on one file.
struct OpenState final : State {
  static constexpr StateKind of_kind = StateKind::open;
  OpenState(ClientRef whose, FileState& of, OpenOwner& by)
      : State(of_kind, std::move(whose)), file(&of), owner(&by) {}
  FileState* file;   // null once closed or revoked
  OpenOwner* owner;  // null once revoked
  Share share;
  ShareHistory history;
  Opener opener;        // the first one
  bool closed = false;  // 4.0: only here so that CLOSE can be repeated
  Descriptors descriptors;
  std::vector<LockState*> locks;  // in no order
  std::size_t at_file = 0;        // its place in FileState::opens
};

}  // namespace braid::nfs4::state
