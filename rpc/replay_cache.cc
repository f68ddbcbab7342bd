#include "rpc/replay_cache.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "base/assert.h"
#include "rpc/bulk_receiver.h"

namespace braid::rpc {
namespace {

constexpr std::size_t hashed_args_max = base::KiB;
// Of a call with more than that, which has data in it: as much as Linux's server takes of any call.
constexpr std::size_t hashed_args_of_data = 256;
// Of a call so long that bulk data in it may have stayed in a pipe. Repeated it may be in memory, so what is
// hashed must lie before it: an NFSv4 WRITE has no less.
constexpr std::size_t hashed_args_of_bulk = 56;

// The caller as far as it decides about the effect of a call.
struct CallerWords {
  std::uint32_t flavor = 0;
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::uint32_t args_bytes = 0;
};

}  // namespace

ReplayKey replay_key_of(const Call& call, const base::SipKey& key) {
  // The header is left out: a client that encodes a call anew to repeat it may choose another stamp.
  const std::size_t args_bytes = call.args.remaining();
  const bool bulk = args_bytes >= BulkReceiver::bytes_min;
  const io::InMemory front = call.message.front_in_memory();
  const std::size_t start = call.args.position();
  const std::size_t in_memory = front.size() - std::min(front.size(), start);
  const std::size_t wanted = bulk                           ? hashed_args_of_bulk
                             : args_bytes > hashed_args_max ? hashed_args_of_data
                                                            : args_bytes;
  const std::size_t hashed = std::min(in_memory, wanted);
  CallerWords caller;
  caller.flavor = static_cast<std::uint32_t>(call.auth.index());
  caller.args_bytes = static_cast<std::uint32_t>(args_bytes);
  if (const auto* sys = std::get_if<AuthSys>(&call.auth)) {
    caller.uid = sys->uid;
    caller.gid = sys->gid;
  }
  std::array<std::byte, sizeof(CallerWords) + hashed_args_max> text;
  std::memcpy(text.data(), &caller, sizeof caller);
  if (hashed > 0) front.copy_to(start, base::MutableBytes(text).subspan(sizeof caller, hashed));
  return {call.peer.bytes, call.xid,
          call.program,    call.version,
          call.procedure,  base::siphash24(key, base::BytesView(text).first(sizeof caller + hashed))};
}

KeptReply copy_reply(const io::Payload& message, std::size_t headroom) {
  base::check(message.size() >= headroom, "a reply contains its headroom");
  const auto memory = message.in_memory();
  if (!memory) return {};
  const std::size_t length = memory->size() - headroom;
  auto data = std::make_shared_for_overwrite<std::byte[]>(length);
  memory->copy_to(headroom, {data.get(), length});
  return {std::move(data), static_cast<std::uint32_t>(length)};
}

ReplayShard::ReplayShard(const ReplayLimits& limits)
    : limits_(limits), buckets_(std::bit_ceil(std::max<std::size_t>(limits.entries_max, 1)), none) {}

std::uint32_t& ReplayShard::bucket_of(const ReplayKey& key) {
  // The checksum is keyed: a client cannot choose its bucket. Its upper bits choose the shard.
  return buckets_[(key.checksum ^ key.xid) & (buckets_.size() - 1)];
}

std::uint32_t ReplayShard::find(const ReplayKey& key) {
  std::uint32_t index = bucket_of(key);
  while (index != none && entries_[index].key != key) index = entries_[index].chain;
  return index;
}

void ReplayShard::link_newest(std::uint32_t index) {
  Entry& entry = entries_[index];
  entry.older = newest_;
  entry.newer = none;
  if (newest_ != none) entries_[newest_].newer = index;
  newest_ = index;
  if (oldest_ == none) oldest_ = index;
  Peer& peer = *entry.peer;
  entry.older_of_peer = peer.newest;
  entry.newer_of_peer = none;
  if (peer.newest != none) entries_[peer.newest].newer_of_peer = index;
  peer.newest = index;
  if (peer.oldest == none) peer.oldest = index;
}

void ReplayShard::unlink(std::uint32_t index) {
  Entry& entry = entries_[index];
  (entry.older == none ? oldest_ : entries_[entry.older].newer) = entry.newer;
  (entry.newer == none ? newest_ : entries_[entry.newer].older) = entry.older;
  entry.older = entry.newer = none;
  Peer& peer = *entry.peer;
  (entry.older_of_peer == none ? peer.oldest : entries_[entry.older_of_peer].newer_of_peer) =
      entry.newer_of_peer;
  (entry.newer_of_peer == none ? peer.newest : entries_[entry.newer_of_peer].older_of_peer) =
      entry.older_of_peer;
  entry.older_of_peer = entry.newer_of_peer = none;
}

void ReplayShard::charge(Peer& peer, std::size_t bytes) {
  stats_.bytes += bytes;
  peer.bytes += bytes;
  if (most_ == nullptr || peer.bytes > most_->bytes) most_ = &peer;
}

void ReplayShard::remove(std::uint32_t index) {
  Entry& entry = entries_[index];
  std::uint32_t* at = &bucket_of(entry.key);
  while (*at != index) at = &entries_[*at].chain;
  *at = entry.chain;
  const std::size_t bytes = sizeof(Entry) + entry.reply.length;
  stats_.bytes -= bytes;
  --stats_.entries;
  Peer& peer = *entry.peer;
  peer.bytes -= bytes;
  if (--peer.entries == 0) set_empty(peer);
  entry = {};
  entry.chain = free_;
  free_ = index;
}

// The last one stays: its next call is often the next one of all.
void ReplayShard::set_empty(Peer& peer) {
  if (most_ == &peer) most_ = nullptr;
  Peer* const before = std::exchange(empty_, &peer);
  if (before != nullptr && before != &peer && before->entries == 0) peers_.erase(PeerKey(before->key));
}

void ReplayShard::evict(std::uint32_t index) {
  unlink(index);
  remove(index);
  ++stats_.evictions;
}

// There is a finished one.
void ReplayShard::evict_for(const PeerKey& from) {
  const auto found = peers_.find(from);
  const Peer* const peer = found == peers_.end() ? nullptr : &found->second;
  const bool other =
      most_ != nullptr && most_->oldest != none && (peer == nullptr || most_->bytes > peer->bytes);
  if (other) return evict(most_->oldest);
  evict(peer != nullptr && peer->oldest != none ? peer->oldest : oldest_);
}

bool ReplayShard::make_room(const PeerKey& from, base::TimePoint now) {
  while (oldest_ != none && now - entries_[oldest_].used > limits_.age_max) evict(oldest_);
  while (oldest_ != none &&
         (stats_.entries >= limits_.entries_max || stats_.bytes + sizeof(Entry) > limits_.bytes_max))
    evict_for(from);
  return stats_.entries < limits_.entries_max && stats_.bytes + sizeof(Entry) <= limits_.bytes_max;
}

ReplayLookup ReplayShard::look_up(const ReplayKey& key, ReplayWaiter* waiter, base::TimePoint now) {
  std::uint32_t index = find(key);
  if (index != none && !entries_[index].running && now - entries_[index].used > limits_.age_max) {
    // Older than any repetition can be: a client that started anew has come upon the same xid.
    unlink(index);
    remove(index);
    ++stats_.evictions;
    index = none;
  }
  if (index != none && entries_[index].running) {
    ++stats_.running_hits;
    waiter->next = std::exchange(entries_[index].waiters, waiter);
    return {ReplayState::running, 0, {}};
  }
  if (index != none) {
    ++stats_.hits;
    unlink(index);
    link_newest(index);
    entries_[index].used = now;
    return {ReplayState::done, 0, entries_[index].reply};
  }
  ++stats_.misses;
  const PeerKey from = peer_key({.bytes = key.client});
  if (!make_room(from, now)) {
    ++stats_.uncached;
    return {ReplayState::uncached, 0, {}};
  }
  if (free_ == none) {
    entries_.emplace_back();
    index = static_cast<std::uint32_t>(entries_.size() - 1);
  } else {
    index = std::exchange(free_, entries_[free_].chain);
  }
  Entry& entry = entries_[index];
  entry.key = key;
  entry.running = true;
  entry.chain = std::exchange(bucket_of(key), index);
  entry.peer = &peers_[from];
  entry.peer->key = from;
  ++entry.peer->entries;
  ++stats_.entries;
  charge(*entry.peer, sizeof(Entry));
  return {ReplayState::execute, index, {}};
}

ReplayWaiter* ReplayShard::finish(std::uint32_t index, KeptReply reply, base::TimePoint now) {
  Entry& entry = entries_[index];
  base::check(entry.running, "an entry is finished once");
  entry.running = false;
  entry.used = now;
  entry.reply = std::move(reply);
  charge(*entry.peer, entry.reply.length);
  ReplayWaiter* waiters = std::exchange(entry.waiters, nullptr);
  link_newest(index);
  const PeerKey from = entry.peer->key;
  while (stats_.bytes > limits_.bytes_max && oldest_ != none) evict_for(from);
  return waiters;
}

ReplayWaiter* ReplayShard::abandon(std::uint32_t index) {
  base::check(entries_[index].running, "an entry is ended once");
  ReplayWaiter* waiters = std::exchange(entries_[index].waiters, nullptr);
  remove(index);
  return waiters;
}

ReplayCache::ReplayCache(const ReplayCacheOptions& options, const base::SipKey& key) : key_(key) {
  const ReplayLimits limits{std::max<std::size_t>(1, options.entries_max / shards),
                            options.bytes_max / shards, options.age_max};
  for (auto& shard : shards_) shard = std::make_unique<Shard>(limits);
}

ReplayLookup ReplayCache::look_up(const ReplayKey& key, ReplayWaiter* waiter, base::TimePoint now) {
  return shard_of(key).guarded.with([&](ReplayShard& shard) { return shard.look_up(key, waiter, now); });
}

ReplayWaiter* ReplayCache::finish(const ReplayKey& key, std::uint32_t entry, KeptReply reply,
                                  base::TimePoint now) {
  return shard_of(key).guarded.with(
      [&](ReplayShard& shard) { return shard.finish(entry, std::move(reply), now); });
}

ReplayWaiter* ReplayCache::abandon(const ReplayKey& key, std::uint32_t entry) {
  return shard_of(key).guarded.with([&](ReplayShard& shard) { return shard.abandon(entry); });
}

ReplayStats ReplayCache::stats() const {
  ReplayStats sum;
  for (const auto& part : shards_) {
    const ReplayStats one = part->guarded.with([](const ReplayShard& shard) { return shard.stats(); });
    sum.misses += one.misses;
    sum.hits += one.hits;
    sum.running_hits += one.running_hits;
    sum.uncached += one.uncached;
    sum.evictions += one.evictions;
    sum.entries += one.entries;
    sum.bytes += one.bytes;
  }
  return sum;
}

void ReplayCache::register_metrics(base::MetricRegistry& registry) const {
  const auto add = [&](std::string_view name, std::string_view help, std::string_view labels,
                       std::uint64_t ReplayStats::* field) {
    registry.counter_function(name, help, labels,
                              [this, field] { return static_cast<double>(stats().*field); });
  };
  constexpr std::string_view lookups = "braid_replay_cache_lookups_total";
  constexpr std::string_view help = "Lookups in the duplicate-request cache";
  add(lookups, help, R"(result="miss")", &ReplayStats::misses);
  add(lookups, help, R"(result="hit")", &ReplayStats::hits);
  add(lookups, help, R"(result="hit_running")", &ReplayStats::running_hits);
  add("braid_replay_cache_uncached_total", "Calls executed without an entry because the cache was full", {},
      &ReplayStats::uncached);
  add("braid_replay_cache_evictions_total", "Entries given up for lack of room or for age", {},
      &ReplayStats::evictions);
  registry.gauge("braid_replay_cache_bytes", "Memory of the duplicate-request cache", {},
                 [this] { return static_cast<double>(stats().bytes); });
  registry.gauge("braid_replay_cache_entries", "Entries of the duplicate-request cache", {},
                 [this] { return static_cast<double>(stats().entries); });
}

}  // namespace braid::rpc
