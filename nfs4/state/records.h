// What the parts of FileStates share.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "nfs4/state/file_states.h"

namespace braid::nfs4::state {

// A limit is reached. 4.1 has no NFS4ERR_RESOURCE: the client comes back, and may have closed something.
inline nfsstat4 limit_status(std::uint32_t minor_version) {
  return minor_version == 0 ? nfsstat4::NFS4ERR_RESOURCE : nfsstat4::NFS4ERR_DELAY;
}

// Whether a client with `owned` owners of a kind may have one more, while there are `all` of all clients.
inline bool room_for_owner(std::size_t owned, std::size_t all, const StateLimits& limits) {
  return owned < limits.owners_per_client && all < limits.owners_max;
}

inline base::Failure<Refusal> refused(nfsstat4 status) { return base::Failure<Refusal>{{status, {}}}; }

// Nothing for kinds of others.
std::optional<StateLine> line_of(const State& state);

// An owner of a client with sessions is gone with its last lock. Those of 4.0 stay a while, for their
// sequence: sweep() ends them.
void drop_if_unused(ClientStates& states, const LockOwner& owner);

template <class T, class... Args>
T* FileStates::make(ClientStates& states, Args&&... args) {
  if (states.count >= limits_.states_per_client) return nullptr;
  T* made = table_.add(std::make_unique<T>(states.client, std::forward<Args>(args)...));
  if (made == nullptr) return nullptr;
  made->next = states.states;
  if (made->next != nullptr) made->next->previous = made;
  states.states = made;
  ++states.count;
  for (StateCounts* counts : {&states.counts, &counts_})
    if (std::uint32_t* kind = counts->of(made->kind); kind != nullptr) ++*kind;
  return made;
}

template <class F>
void FileStates::tidy_queues(F&& f, Aftermath& after) {
  for (FileState* file : std::vector<FileState*>(queued_.begin(), queued_.end())) {
    f(file->queue);
    tell_waiters(*file, whole_file, after);
    if (file->queue.empty()) queued_.erase(file);
    const vfs::FileHandle handle = file->handle;
    forget_if_unused(handle);
  }
}

}  // namespace braid::nfs4::state
