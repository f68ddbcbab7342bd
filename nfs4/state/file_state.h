// What FileStates keeps: opens, locks and delegations, the owners that clients name, and the files they are
// on.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "nfs4/state/client.h"
#include "nfs4/state/lock_queue.h"
#include "nfs4/state/owner_sequence.h"
#include "nfs4/state/range_set.h"
#include "nfs4/state/share.h"
#include "nfs4/state/state_table.h"
#include "vfs/open_file.h"
#include "vfs/types.h"

namespace braid::nfs4::state {

struct FileState;
struct LockState;
struct OpenState;

// The opens of one file that serve a state, one for each way it was opened.
class Descriptors {
 public:
  // One that allows `access`, or null.
  [[nodiscard]] vfs::OpenFileRef get(std::uint8_t access) const;
  [[nodiscard]] vfs::OpenFileRef any() const;
  // What is there already, or no longer needed, goes to `unused`.
  void add(vfs::OpenFileRef open, std::vector<vfs::OpenFileRef>& unused);
  void keep_only(std::uint8_t access, std::vector<vfs::OpenFileRef>& unused);

 private:
  std::vector<vfs::OpenFileRef> opens_;
};

// One in a count, from birth to death.
class Counted {
 public:
  explicit Counted(std::size_t& count) : count_(count) { ++count_; }
  ~Counted() { --count_; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

 private:
  std::size_t& count_;
};

// open_owner4 (RFC 8881 9.1.3). In 4.0 it stays a while after its last CLOSE, for repetitions.
struct OpenOwner {
  explicit OpenOwner(std::size_t& owners) : counted(owners) {}
  const Counted counted;
  std::string name;
  OwnerSequence sequence;  // 4.0
  bool confirmed = false;  // always true after 4.0
  std::uint32_t opens = 0;
  OpenState* latest = nullptr;  // 4.0: the open of an owner to be confirmed, or the one closed last
  base::TimePoint used{};
};

// lock_owner4
struct LockOwner {
  explicit LockOwner(std::size_t& owners) : counted(owners) {}
  const Counted counted;
  std::string name;
  vfs::LockOwnerId id;
  OwnerSequence sequence;  // 4.0
  std::vector<LockState*> locks;
  base::TimePoint used{};
};

// The caller that opened a file, as the export sees it.
struct Opener {
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  friend bool operator==(const Opener&, const Opener&) = default;
};

// Everything of one open owner on one file.
struct OpenState final : State {
  OpenState(ClientRef whose, FileState& of, OpenOwner& by)
      : State(StateKind::open, std::move(whose)), file(&of), owner(&by) {}
  FileState* file;   // null once closed or revoked
  OpenOwner* owner;  // null once revoked
  Share share;
  ShareHistory history;
  Opener opener;        // the first one
  bool closed = false;  // 4.0: only here so that CLOSE can be repeated
  Descriptors descriptors;
  std::vector<LockState*> locks;
};

// The byte-range locks of one lock owner on one file. Ends with the open that it came from.
struct LockState final : State {
  LockState(ClientRef whose, FileState& of, LockOwner& by, OpenState& from)
      : State(StateKind::lock, std::move(whose)), file(&of), owner(&by), open(&from) {}
  FileState* file;  // this and the next two are null once revoked
  LockOwner* owner;
  OpenState* open;
  RangeSet ranges;
};

enum class DelegationPhase : std::uint8_t {
  granted,   // nobody minds
  recalled,  // somebody does: the client has been asked, or is about to be
};

struct DelegationState final : State {
  DelegationState(ClientRef whose, FileState& of, bool writes)
      : State(StateKind::delegation, std::move(whose)), file(&of), write(writes) {}
  FileState* file;  // null once revoked
  const bool write;
  bool directory = false;    // of its entries and attributes (RFC 8881 10.9); not to write
  bool timestamps = false;   // the client keeps the times
  std::uint64_t change = 0;  // of the file, as it was given
  DelegationPhase phase = DelegationPhase::granted;
  base::TimePoint recalled{};
  Opener opener;
  vfs::OpenFileRef descriptor;
  vfs::LeaseRef lease;  // against others than NFSv4; null where the file system has none
};

// A file that somebody has state on.
struct FileState {
  vfs::FileHandle handle;
  std::vector<OpenState*> opens;  // closed ones are not in it
  std::vector<LockState*> locks;
  std::vector<DelegationState*> delegations;  // revoked ones are not in it
  LockQueue queue;

  [[nodiscard]] bool unused() const {
    return opens.empty() && locks.empty() && delegations.empty() && queue.empty();
  }
};

// How many states there are of each kind, revoked ones too.
struct StateCounts {
  std::uint32_t opens = 0;
  std::uint32_t locks = 0;  // pairs of a lock owner and a file
  std::uint32_t delegations = 0;

  // The one of this kind; null for kinds of others.
  [[nodiscard]] std::uint32_t* of(StateKind kind) {
    switch (kind) {
      case StateKind::open:
        return &opens;
      case StateKind::lock:
        return &locks;
      case StateKind::delegation:
        return &delegations;
      case StateKind::layout:
      case StateKind::copy:
        break;
    }
    return nullptr;
  }
};

// A client's states and owners. Names are chosen by the client, hence ordered maps: no hash to attack.
struct ClientStates {
  explicit ClientStates(ClientRef whose) : client(std::move(whose)) {}
  const ClientRef client;
  std::map<std::string, std::unique_ptr<OpenOwner>, std::less<>> open_owners;
  std::map<std::string, std::unique_ptr<LockOwner>, std::less<>> lock_owners;
  State* states = nullptr;  // doubly linked
  std::uint32_t count = 0;  // of states
  StateCounts counts;
  std::uint32_t delegations = 0;
  std::uint32_t revoked = 0;        // delegations that the client has not freed yet
  std::uint32_t admin_revoked = 0;  // opens and locks, the same
  std::size_t lock_ranges = 0;
};

}  // namespace braid::nfs4::state
