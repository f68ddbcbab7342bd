// One client as the server knows it (RFC 8881 2.4, RFC 7530 9.1): its record, its lease, its sessions.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/bytes.h"
#include "base/clock.h"
#include "nfs4/nfs4.x.h"
#include "nfs4/state/clients/byte_changes.h"
#include "nfs4/state/clients/ids.h"

namespace braid::nfs4::state {

// SP4_MACH_CRED (RFC 8881 2.10.8.3): operations that only the machine's principal may send, and ones that it
// may send for others. Bit n stands for operation n.
struct MachineOperations {
  static constexpr std::size_t words = 3;
  std::array<std::uint32_t, words> enforce{};
  std::array<std::uint32_t, words> allow{};
  static bool holds(const std::array<std::uint32_t, words>& set, std::uint32_t op) {
    return op / 32 < words && ((set[op / 32] >> (op % 32)) & 1) != 0;
  }
  friend bool operator==(const MachineOperations&, const MachineOperations&) = default;
};

// Where calls to a 4.0 client go (RFC 7530 16.33, cb_client4).
struct CallbackAddress {
  std::uint32_t program = 0;
  std::uint32_t ident = 0;
  std::string netid;
  std::string address;                  // universal address, "192.0.2.1.3.7"
  std::array<std::uint8_t, 16> from{};  // where the client itself is, as rpc::PeerAddress::bytes
  friend bool operator==(const CallbackAddress&, const CallbackAddress&) = default;
};

// What a client says of itself when it introduces itself.
struct Introduction {
  std::uint32_t minor_version = 0;
  base::Bytes owner;  // co_ownerid, or nfs_client_id4.id
  Verifier verifier{};
  Principal principal;
  PeerBytes address{};         // that it came from
  std::string peer;            // the same with the port, for people
  std::string implementation;  // eia_client_impl_id, for people
  std::optional<MachineOperations> machine;
};

// Where a client is in its life.
enum class Standing : std::uint8_t {
  unconfirmed,  // has introduced itself, nothing more; goes after a lease time
  confirmed,    // may hold state; a courteous one (lease run out, nobody minds) is this too
  gone,         // removed: its state is being or has been released, and its ids are worth nothing
};

// Shared by its table, its sessions and the state it holds. Every member may be used by any thread; what
// needs a lock (sessions, callbacks) is in ClientTable's record of it.
class Client {
 public:
  Client(clientid4 client_id, Introduction introduction, base::TimePoint now)
      : id(client_id),
        intro(std::move(introduction)),
        created(now),
        renewed_(now.time_since_epoch().count()) {}
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  const clientid4 id;
  const Introduction intro;
  const base::TimePoint created;

  [[nodiscard]] std::uint32_t minor_version() const { return intro.minor_version; }
  [[nodiscard]] Standing standing() const { return standing_.load(std::memory_order_acquire); }
  [[nodiscard]] bool gone() const { return standing() == Standing::gone; }

  // The lease. Whatever shows that the client lives renews it, also after it ran out, as long as the client
  // is not gone: nobody has minded meanwhile.
  void renew(base::TimePoint now) {
    renewed_.store(now.time_since_epoch().count(), std::memory_order_relaxed);
  }
  [[nodiscard]] base::TimePoint renewed() const {
    return base::TimePoint(base::Duration(renewed_.load(std::memory_order_relaxed)));
  }
  [[nodiscard]] bool lease_over(base::TimePoint now, base::Duration lease) const {
    return now - renewed() > lease;
  }

  // RFC 8881 18.51: said RECLAIM_COMPLETE for the whole server. A 4.0 client never does.
  [[nodiscard]] bool reclaim_complete() const { return reclaim_complete_.load(std::memory_order_acquire); }
  void set_reclaim_complete() { reclaim_complete_.store(true, std::memory_order_release); }
  // Its record is on stable storage, so it may reclaim after a restart of the server.
  [[nodiscard]] bool recorded() const { return recorded_.load(std::memory_order_acquire); }
  void set_recorded() {
    recorded_.store(true, std::memory_order_release);
    off_record_.store(false, std::memory_order_release);
  }
  void clear_recorded() { recorded_.store(false, std::memory_order_release); }
  // How often it was asked to be put on record; changes under the lock on what is asked of the records.
  [[nodiscard]] std::uint64_t record_wishes() const { return record_wishes_.load(); }
  void wish_record() { record_wishes_.fetch_add(1); }
  // It has reclaimed something in this run of the server.
  [[nodiscard]] bool reclaimed() const { return reclaimed_.load(std::memory_order_relaxed); }
  void set_reclaimed() { reclaimed_.store(true, std::memory_order_relaxed); }
  // RFC 7530 9.6.3.4: a 4.0 client that had reclaimed fell silent, and its record went. Until that is back,
  // an answer would promise state that the next run of the server knows nothing of.
  [[nodiscard]] bool off_record() const { return off_record_.load(std::memory_order_acquire); }
  // Renews the lease of a 4.0 client by an operation. False: it is off the record. Whoever takes the record
  // away looks at the lease afterwards, so one of the two sees the other (take_off_record()).
  [[nodiscard]] bool renew_40(base::TimePoint now) {
    renew(now);
    if (!reclaimed()) return true;
    std::atomic_thread_fence(std::memory_order_seq_cst);
    return !off_record();
  }
  // Before its record goes. False: the client was heard of meanwhile, and stays on record.
  [[nodiscard]] bool take_off_record(base::TimePoint now, base::Duration lease) {
    off_record_.store(true, std::memory_order_release);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (lease_over(now, lease)) return true;
    off_record_.store(false, std::memory_order_release);
    return false;
  }

  // Of files, in its name.
  [[nodiscard]] ByteChanges& changes() { return changes_; }

  // SEQ4_STATUS_* bits that SEQUENCE reports until they are lowered (RFC 8881 18.46.3): revoked state.
  void raise_status(std::uint32_t bits) { status_.fetch_or(bits, std::memory_order_relaxed); }
  void lower_status(std::uint32_t bits) { status_.fetch_and(~bits, std::memory_order_relaxed); }
  [[nodiscard]] std::uint32_t status() const { return status_.load(std::memory_order_relaxed); }

  // One of its sessions has, or once had, a connection to call it by.
  [[nodiscard]] bool had_back_channel() const { return had_back_channel_.load(std::memory_order_acquire); }
  void note_back_channel() { had_back_channel_.store(true, std::memory_order_release); }

  // RFC 8881 2.10.8.3: NFS4ERR_WRONG_CRED where this is false. `op` is an operation's number.
  [[nodiscard]] bool may_send(std::uint32_t op, const Principal& who) const {
    return !intro.machine || !MachineOperations::holds(intro.machine->enforce, op) || who == intro.principal;
  }

 private:
  friend class ClientTable;

  std::atomic<base::Duration::rep> renewed_;
  std::atomic<std::uint32_t> status_{0};
  std::atomic<Standing> standing_{Standing::unconfirmed};
  std::atomic<bool> reclaim_complete_{false};
  std::atomic<bool> recorded_{false};
  std::atomic<std::uint64_t> record_wishes_{0};
  std::atomic<bool> reclaimed_{false};
  std::atomic<bool> off_record_{false};
  std::atomic<bool> had_back_channel_{false};
  ByteChanges changes_;
};

using ClientRef = std::shared_ptr<Client>;

}  // namespace braid::nfs4::state
