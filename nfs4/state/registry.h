// What all kinds of state share: the stateids, the files and clients that have state, the limits, the counts.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "nfs4/state/clients/peers.h"
#include "nfs4/state/deferred_work.h"
#include "nfs4/state/file_state.h"
#include "nfs4/state/kind.h"
#include "nfs4/state/limits.h"
#include "nfs4/state/state_table.h"
#include "nfs4/state/state_use.h"
#include "nfs4/state/steps.h"

namespace braid::nfs4::state {

struct FileHandleHash {
  std::size_t operator()(const vfs::FileHandle& handle) const {
    return std::hash<std::string_view>{}(base::text_of(handle.view()));
  }
};

// A handle that is looked for, hashed once.
struct HashedHandle {
  explicit HashedHandle(const vfs::FileHandle& it) : handle(it), hash(FileHandleHash{}(it)) {}
  const vfs::FileHandle& handle;
  const std::size_t hash;
};

// Files with state, by their handles: each has its own, and there are many.
struct FileStateHash {
  using is_transparent = void;
  std::size_t operator()(const HashedHandle& handle) const { return handle.hash; }
  std::size_t operator()(const std::unique_ptr<FileState>& file) const {
    return FileHandleHash{}(file->handle);
  }
};
struct SameFile {
  using is_transparent = void;
  static const vfs::FileHandle& handle_of(const HashedHandle& handle) { return handle.handle; }
  static const vfs::FileHandle& handle_of(const std::unique_ptr<FileState>& file) { return file->handle; }
  bool operator()(const auto& a, const auto& b) const { return handle_of(a) == handle_of(b); }
};

// Not thread-safe. In many parts, so that the one that grows is placed anew in a step that is short, however
// many files there are.
class FileTable {
 public:
  // Null: it is not there.
  [[nodiscard]] FileState* find(const vfs::FileHandle& handle) const;
  // One that is not there. Adds to `steps` what it looks at.
  FileState& add(const vfs::FileHandle& handle, StepCounter& steps);
  void erase(const FileState& file);
  // f(FileState&) of each.
  template <class F>
  void for_each(F&& f) const {
    for (const Part& part : parts_)
      for (const std::unique_ptr<FileState>& file : part) f(*file);
  }

 private:
  using Part = std::unordered_set<std::unique_ptr<FileState>, FileStateHash, SameFile>;
  static constexpr std::size_t parts = 1024;
  static std::size_t part_of(const HashedHandle& handle);

  std::array<Part, parts> parts_;
};

// Not thread-safe: behind the lock of States.
class StateRegistry {
 public:
  using Clients = std::unordered_map<clientid4, std::unique_ptr<ClientStates>>;

  StateRegistry(std::uint32_t epoch, const StateLimits& limits);
  ~StateRegistry();
  StateRegistry(const StateRegistry&) = delete;
  StateRegistry& operator=(const StateRegistry&) = delete;

  [[nodiscard]] const StateLimits& limits() const { return limits_; }
  [[nodiscard]] StateIdTable& ids() { return ids_; }
  [[nodiscard]] const StateIdTable& ids() const { return ids_; }

  // --- Kinds, in the order in which they were added.
  // `kind` outlives this; one of each StateKind.
  void add(Kind& kind);
  [[nodiscard]] std::span<Kind* const> kinds() const { return kinds_; }
  [[nodiscard]] Kind& kind_of(const State& state) const {
    return *by_number_[static_cast<std::size_t>(state.kind)];
  }

  // Of all calls of the state layer.
  [[nodiscard]] StepCounter& steps() const { return steps_; }

  // --- Files and clients.
  ClientStates& states_of(const ClientRef& client);
  [[nodiscard]] ClientStates* find_client(clientid4 client) const;
  FileState& file_of(const vfs::FileHandle& handle);
  [[nodiscard]] FileState* find_file(const vfs::FileHandle& handle) const;
  void forget_if_unused(const vfs::FileHandle& handle);
  void forget_if_unused(clientid4 client);
  [[nodiscard]] const FileTable& files() const { return files_; }
  [[nodiscard]] const Clients& clients() const { return clients_; }
  // Of the client's address. Null: nobody there has anything.
  [[nodiscard]] const PeerStates* find_peer(const Client& client) const;

  // --- Owners, of opens and of locks.
  // They count themselves here.
  [[nodiscard]] std::size_t& owners() { return owners_; }
  // Whether a client with `owned` owners of a kind, at this address, may have one more.
  [[nodiscard]] bool room_for_owner(const PeerStates* peer, std::size_t owned) const;

  // --- Byte ranges that are locked.
  // Whether this client may have so many more.
  [[nodiscard]] bool room_for_ranges(const ClientStates& states, std::size_t more) const;
  // A lock of this client that had `before` has `now`.
  void note_ranges(ClientStates& states, std::size_t before, std::size_t now);

  // Whether the client has more states of this kind than it could if all had as many, one more client among
  // them.
  [[nodiscard]] bool more_than_its_share(clientid4 client, StateKind kind) const;

  // --- States.
  // Whether a client with so many states, at this address, may have one more.
  [[nodiscard]] bool room_for_state(const PeerStates* peer, std::size_t count) const;
  // States and owners that were not made for want of room.
  void note_refused() { ++refused_; }
  [[nodiscard]] std::uint64_t refused() const { return refused_; }
  // Null when a limit is reached.
  template <class T, class... Args>
  T* make(ClientStates& states, Args&&... args) {
    if (room_for_state(&states.peer, states.count))
      return make_over_share<T>(states, std::forward<Args>(args)...);
    note_refused();
    return nullptr;
  }
  // The same whatever the client and its address have. Null when all clients together have what they may.
  template <class T, class... Args>
  T* make_over_share(ClientStates& states, Args&&... args) {
    T* const made = ids_.add(std::make_unique<T>(states.client, std::forward<Args>(args)...));
    if (made != nullptr)
      note_made(states, *made);
    else
      note_refused();
    return made;
  }
  // Hands it to `work`, where it dies.
  void erase(State& state, DeferredWork& work);
  // The state that `use` names. BAD_STATEID, OLD_STATEID, STALE_STATEID, EXPIRED, and what its kind says of
  // revoked ones.
  [[nodiscard]] base::Result<State*, nfsstat4> find(const StateUse& use) const;
  // The same of one kind (T::of_kind), on the file of `use`.
  template <class T>
  [[nodiscard]] base::Result<T*, nfsstat4> find(const StateUse& use) const {
    const auto found = find(use);
    if (!found) return base::fail(found.error());
    if ((*found)->kind != T::of_kind) return base::fail(nfsstat4::NFS4ERR_BAD_STATEID);
    auto* state = static_cast<T*>(*found);
    if (state->file == nullptr || state->file->handle != use.file)
      return base::fail(nfsstat4::NFS4ERR_BAD_STATEID);
    return state;
  }
  // One that was doomed is spared, or has been taken back.
  void release(State& state);
  // Its kind has revoked it, or ends one that was revoked: the client is told by SEQUENCE until it has freed
  // the last one.
  void note_revoked(State& state);
  void note_freed(const State& state);

  [[nodiscard]] std::size_t size() const { return ids_.size(); }
  [[nodiscard]] const StateCounts& counts() const { return counts_; }
  // All of a client is gone but what it has in clients().
  void erase_client(clientid4 client);

 private:
  void note_made(ClientStates& states, State& state);
  static void link(StateLists& lists, State& state);
  static void unlink(ClientStates& states, State& state);
  // Of the revoked states whose clients see this flag.
  static std::uint32_t& revoked_of(ClientStates& states, std::uint32_t sequence_flag);

  const StateLimits limits_;
  StateIdTable ids_;
  std::vector<Kind*> kinds_;
  std::array<Kind*, state_kinds> by_number_{};
  FileTable files_;
  std::size_t owners_ = 0;
  std::size_t lock_ranges_ = 0;
  std::uint64_t refused_ = 0;
  std::map<rpc::PeerKey, PeerStates> peers_;  // that have clients
  Clients clients_;
  StateCounts counts_;
  mutable StepCounter steps_;
};

}  // namespace braid::nfs4::state
