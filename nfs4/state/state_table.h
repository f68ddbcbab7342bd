// Every state that a stateid can name, and the rules by which a stateid is taken or refused.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "nfs4/nfs4.x.h"
#include "nfs4/state/clients/client.h"
#include "nfs4/state/state_id.h"

namespace braid::nfs4::state {

// What all kinds of state have in common. The table owns it and fills in what identifies it. Whoever makes
// one has taken the client's share for it (Client::take_share); it goes back with the state.
struct State {
  State(StateKind its_kind, ClientRef its_client) : kind(its_kind), client(std::move(its_client)) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  virtual ~State() = default;

  // The value that clients see now.
  [[nodiscard]] stateid4 id() const { return {.seqid = seqid, .other = other}; }
  // The state changed: older values become OLD_STATEID.
  stateid4 bump() {
    seqid = next_seqid(seqid);
    return id();
  }

  const StateKind kind;
  const ClientRef client;
  std::uint32_t seqid = 1;
  std::uint32_t index = 0;
  // Taken back by the server; stays until the client frees it (RFC 8881 18.38).
  bool revoked = false;
  StateIdOther other{};
  base::TimePoint made{};
  State* next = nullptr;  // of the same client
  State* previous = nullptr;
};

// Not thread-safe.
class StateIdTable {
 public:
  // `epoch` differs between any two runs that a client may see; `states_max` at most
  // StateIdParts::index_max.
  StateIdTable(std::uint32_t epoch, std::uint32_t states_max);

  // Null when the table is full. The result lives until erase().
  template <class T>
  T* add(std::unique_ptr<T> state) {
    T* raw = state.get();
    return place(std::move(state)) ? raw : nullptr;
  }
  // Hands the state back, so that what it owns is released where the caller sees fit.
  std::unique_ptr<State> erase(State& state);

  // The state that `id` names; its seqid is not looked at. `id` is not a special one.
  // STALE_STATEID: of another run, in 4.0 (RFC 8881 15.1.16.5: moot with sessions). EXPIRED: of a client
  // whose lease ran out. BAD_STATEID: anything else.
  [[nodiscard]] base::Result<State*, nfsstat4> find(const stateid4& id, std::uint32_t minor_version) const;
  // OLD_STATEID or BAD_STATEID unless `seqid` is the state's. Zero stands for the current one in 4.1 and
  // later (RFC 8881 8.2.2), and is an old one in 4.0.
  [[nodiscard]] static base::Result<void, nfsstat4> check_seqid(const State& state, std::uint32_t seqid,
                                                                std::uint32_t minor_version);

  // From now on stateids of this client are answered EXPIRED in place of BAD_STATEID. The last
  // `remembered_clients` ones are known.
  void remember_expired(clientid4 client);

  [[nodiscard]] std::size_t size() const { return size_; }
  // add() would give null.
  [[nodiscard]] bool full() const;
  // Every state has a place below places(); null where there is none.
  [[nodiscard]] std::uint32_t places() const { return static_cast<std::uint32_t>(slots_.size()); }
  [[nodiscard]] const State* at(std::uint32_t place) const { return slots_[place].state.get(); }

  static constexpr std::size_t remembered_clients = 4096;

 private:
  struct Slot {
    std::unique_ptr<State> state;
    std::uint16_t generation = 0;
  };
  // So many places rest before one is used again: together with the generation a stateid comes back after
  // 2^26 others at the earliest.
  static constexpr std::size_t resting_min = 1024;

  bool place(std::unique_ptr<State> state);
  [[nodiscard]] std::optional<std::uint32_t> free_index();

  const std::uint32_t epoch_;
  const std::uint32_t states_max_;
  std::deque<Slot> slots_;  // which grows without moving
  std::deque<std::uint32_t> free_;
  std::size_t size_ = 0;
  std::deque<std::uint32_t> expired_order_;
  std::unordered_set<std::uint32_t> expired_;
};

}  // namespace braid::nfs4::state
