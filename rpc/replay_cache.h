// The duplicate-request cache: a call that must not be executed twice, and is repeated because its reply got
// lost, gets the first reply again.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/guarded.h"
#include "base/metrics.h"
#include "base/siphash.h"
#include "rpc/call.h"
#include "rpc/peer_account.h"

namespace braid::rpc {

// What makes two calls the same one. The port of the client is not part of it: after a reconnection it is
// another.
struct ReplayKey {
  std::array<std::uint8_t, 16> client{};
  std::uint32_t xid = 0;
  std::uint32_t program = 0;
  std::uint32_t version = 0;
  std::uint32_t procedure = 0;
  std::uint64_t checksum = 0;  // keyed hash of the caller's identity and the arguments
  friend bool operator==(const ReplayKey&, const ReplayKey&) = default;
};

// The key of a call whose header has been decoded. All arguments count, or if there is more than a KiB, as
// with data, their beginning and length.
ReplayKey replay_key_of(const Call& call, const base::SipKey& key);

// An encoded reply without headroom; a copy of its own, so that the cache pins no slab. Null when there is
// none.
struct KeptReply {
  std::shared_ptr<const std::byte[]> data;
  std::uint32_t length = 0;
  [[nodiscard]] base::BytesView view() const { return {data.get(), length}; }
};
// Null if some of the reply is in pipes: that can be sent once only.
KeptReply copy_reply(const io::Payload& message, std::size_t headroom);

// A repeated call that waits for the first one; in a list of the entry it waits for. The owner knows how to
// go on.
struct ReplayWaiter {
  ReplayWaiter* next = nullptr;
};

enum class ReplayState : std::uint8_t {
  execute,   // the first of its kind: execute it, then finish() or abandon() its entry
  uncached,  // same, but the cache is full of running calls: there is no entry to end
  running,   // the first one is being executed: the waiter is told when it ends
  done,      // the first reply is there
};

struct ReplayLookup {
  ReplayState state = ReplayState::uncached;
  std::uint32_t entry = 0;  // with `execute`
  KeptReply reply;          // with `done`
};

struct ReplayLimits {
  std::size_t entries_max = 0;
  std::size_t bytes_max = 0;  // entries and replies
  base::Duration age_max{};   // since the last use
};

struct ReplayStats {
  std::uint64_t misses = 0;
  std::uint64_t hits = 0;
  std::uint64_t running_hits = 0;
  std::uint64_t uncached = 0;
  std::uint64_t evictions = 0;  // entries given up for lack of room or for age
  std::size_t entries = 0;
  std::size_t bytes = 0;
};

// One part of the cache. Entries of running calls are never given up; finished ones go, the least recently
// used first, when their age is reached, or when there is no room: those of the address that has the most, so
// that an address with many calls does not cost others their replies. Not thread-safe.
class ReplayShard {
 public:
  explicit ReplayShard(const ReplayLimits& limits);
  // `waiter` is kept when the state is `running`, until finish() or abandon() returns it.
  ReplayLookup look_up(const ReplayKey& key, ReplayWaiter* waiter, base::TimePoint now);
  // The call of `entry` has ended with this reply. Returns the list of those who wait for it.
  ReplayWaiter* finish(std::uint32_t entry, KeptReply reply, base::TimePoint now);
  // The call of `entry` brought nothing that may be repeated; the next one like it is executed.
  ReplayWaiter* abandon(std::uint32_t entry);
  [[nodiscard]] const ReplayStats& stats() const { return stats_; }

 private:
  static constexpr std::uint32_t none = 0xffff'ffff;
  // What an address has (peer_key()).
  struct Peer {
    PeerKey key{};
    std::size_t entries = 0;
    std::size_t bytes = 0;
    std::uint32_t oldest = none;  // of those that are finished
    std::uint32_t newest = none;
  };
  // What giving one up looks at, of it and of those beside it, comes first, and takes a line of the
  // processor's cache.
  struct alignas(64) Entry {
    std::uint32_t chain = none;  // next entry of the same bucket, or next free one
    std::uint32_t older = none;  // finished entries by their last use
    std::uint32_t newer = none;
    std::uint32_t older_of_peer = none;
    std::uint32_t newer_of_peer = none;
    bool running = false;
    base::TimePoint used{};
    Peer* peer = nullptr;
    KeptReply reply;
    ReplayKey key;
    ReplayWaiter* waiters = nullptr;
  };

  [[nodiscard]] std::uint32_t& bucket_of(const ReplayKey& key);
  [[nodiscard]] std::uint32_t find(const ReplayKey& key);
  // For a call of this address.
  [[nodiscard]] bool make_room(const PeerKey& from, base::TimePoint now);
  void evict_for(const PeerKey& from);
  void evict(std::uint32_t index);
  void charge(Peer& peer, std::size_t bytes);
  void remove(std::uint32_t index);
  void set_empty(Peer& peer);
  void link_newest(std::uint32_t index);
  void unlink(std::uint32_t index);

  const ReplayLimits limits_;
  std::vector<std::uint32_t> buckets_;
  std::vector<Entry> entries_;  // grows up to entries_max, then entries are used anew
  std::uint32_t free_ = none;
  std::uint32_t oldest_ = none;
  std::uint32_t newest_ = none;
  std::map<PeerKey, Peer> peers_;  // that have entries, and `empty_`
  Peer* empty_ = nullptr;          // the last one that had none any more; it may have some again
  Peer* most_ = nullptr;           // the one that had the most when somebody got more
  ReplayStats stats_;
};

struct ReplayCacheOptions {
  std::size_t entries_max = 16384;
  std::size_t bytes_max = 8 * base::MiB;
  base::Duration age_max = std::chrono::minutes(5);
};

// The whole cache; thread-safe. Calls fall into shards by their checksum, so reactors rarely meet.
class ReplayCache {
 public:
  ReplayCache(const ReplayCacheOptions& options, const base::SipKey& key);
  [[nodiscard]] const base::SipKey& key() const { return key_; }
  ReplayLookup look_up(const ReplayKey& key, ReplayWaiter* waiter, base::TimePoint now);
  ReplayWaiter* finish(const ReplayKey& key, std::uint32_t entry, KeptReply reply, base::TimePoint now);
  ReplayWaiter* abandon(const ReplayKey& key, std::uint32_t entry);
  [[nodiscard]] ReplayStats stats() const;
  // Registers what stats() says; the cache must outlive the registry's use.
  void register_metrics(base::MetricRegistry& registry) const;

 private:
  static constexpr std::size_t shards = 16;
  struct alignas(64) Shard {
    explicit Shard(const ReplayLimits& limits) : guarded(std::in_place, limits) {}
    base::Guarded<ReplayShard> guarded;
  };
  [[nodiscard]] Shard& shard_of(const ReplayKey& key) { return *shards_[key.checksum >> 60]; }

  const base::SipKey key_;
  std::array<std::unique_ptr<Shard>, shards> shards_;
};

}  // namespace braid::rpc
