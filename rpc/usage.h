// What is done for whom: operations by kind, bytes and errors, by client and by what they are about (for NFS,
// the export).
//
// Each connection counts for itself, in a ledger that only its thread writes to, without locks. Whoever wants
// to know adds the ledgers up. By name there are the busiest clients only, so that there are few series
// whatever comes; the rest is one sum. Both only grow: what a client does is added where it stands at that
// time, and stays there.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <forward_list>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/guarded.h"
#include "rpc/call.h"

namespace braid::rpc {

// Kinds of operations.
enum class Work : std::uint8_t {
  look,    // at names and attributes
  change,  // of names and attributes
  read,
  write,  // and what else changes the bytes of files, or makes them durable
  state,  // opens, locks, delegations, layouts
  none,   // what only leads to others: it is not counted
};
constexpr std::size_t works = 5;  // without none
std::string_view name_of(Work work);

struct UsageCounts {
  std::array<std::uint64_t, works> operations{};
  std::uint64_t errors = 0;
  std::uint64_t read_bytes = 0;
  std::uint64_t written_bytes = 0;

  UsageCounts& operator+=(const UsageCounts& other);
  UsageCounts& operator-=(const UsageCounts& other);
  [[nodiscard]] std::uint64_t all_operations() const;
  friend bool operator==(const UsageCounts&, const UsageCounts&) = default;
};

// Counts by number of an export; 0: of none.
using UsageByExport = std::map<std::uint32_t, UsageCounts>;

// Of one connection. Its thread counts; any thread may look.
class UsageLedger {
 public:
  UsageLedger() = default;
  UsageLedger(const UsageLedger&) = delete;
  UsageLedger& operator=(const UsageLedger&) = delete;

  void count(std::uint32_t from, Work work, bool failed) {
    // Such as the SEQUENCE of each COMPOUND, which is of no export, between two operations that are.
    if (work == Work::none && !failed) return;
    Entry& entry = of(from);
    if (work != Work::none) bump(entry.operations[static_cast<std::size_t>(work)], 1);
    if (failed) bump(entry.errors, 1);
  }
  void read(std::uint32_t from, std::uint64_t bytes) { bump(of(from).read_bytes, bytes); }
  void wrote(std::uint32_t from, std::uint64_t bytes) { bump(of(from).written_bytes, bytes); }

  [[nodiscard]] UsageByExport by_export() const;
  [[nodiscard]] UsageCounts sum() const;

 private:
  using Number = std::atomic<std::uint64_t>;
  // What a call that went well counts takes one line of the processor's cache.
  struct alignas(64) Entry {
    std::uint32_t from = 0;
    std::array<Number, works> operations{};
    Number read_bytes{0}, written_bytes{0}, errors{0};
    [[nodiscard]] UsageCounts counts() const;
  };
  // Nobody else writes.
  static void bump(Number& number, std::uint64_t by) {
    number.store(number.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
  }
  Entry& of(std::uint32_t from) { return last_ != nullptr && last_->from == from ? *last_ : find(from); }
  Entry& find(std::uint32_t from);

  Entry* last_ = nullptr;     // the thread's own
  mutable std::mutex mutex_;  // of the list, when it grows and when others walk it
  std::forward_list<Entry> entries_;
};

// Of all connections of a server. Thread-safe.
class Usage {
 public:
  static constexpr std::size_t named_max = 20;

  Usage() = default;
  Usage(const Usage&) = delete;
  Usage& operator=(const Usage&) = delete;

  // For a connection of this peer, until end().
  [[nodiscard]] std::shared_ptr<UsageLedger> begin(const PeerAddress& peer);
  void end(const PeerAddress& peer, const std::shared_ptr<UsageLedger>& ledger);
  // Says anew who the busiest are, by the operations of the last minute or so; once a second.
  void rank();

  [[nodiscard]] UsageByExport by_export() const;
  struct Named {
    std::string client;  // "192.0.2.1"
    UsageCounts counts;
  };
  struct ByClient {
    std::vector<Named> named;
    UsageCounts other;
  };
  [[nodiscard]] ByClient by_client() const;

 private:
  using Host = std::array<std::uint8_t, 16>;
  struct Client {
    std::set<std::shared_ptr<UsageLedger>> ledgers;  // of its connections
    UsageCounts ended;                               // of those that have ended
    bool named = false;
    UsageCounts elsewhere;     // what was counted as others' if it is named, by its name if it is not
    std::uint64_t ranked = 0;  // operations, at the last ranking
    std::uint64_t busy = 0;    // operations, earlier ones counting less
    [[nodiscard]] UsageCounts sum() const;
    // What counts where the client stands now.
    [[nodiscard]] UsageCounts here() const;
    void set_named(bool is_named);
  };
  struct State {
    std::map<Host, Client> clients;  // that have a connection, or a name
    UsageByExport ended;
    UsageCounts gone;  // others', of clients that are not there any more
  };

  base::Guarded<State> state_;
};

}  // namespace braid::rpc
