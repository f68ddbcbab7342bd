// What a data server knows from its metadata server, and for how long that is good.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <shared_mutex>

#include "base/clock.h"
#include "pnfs/control.x.h"
#include "pnfs/data_handle.h"
#include "pnfs/keys.h"

namespace braid::pnfs_ds {

// Thread-safe. Nobody is in contact at first. The metadata server takes back what it has granted when it has
// not heard from this server for long enough, so contact counts from when a heartbeat was SENT that has been
// answered: then this server has stopped before the other one acts on that.
class Contact {
 public:
  // More keys than that at a time are no answer of a metadata server.
  static constexpr std::uint32_t keys_max = 64;

  // No heartbeat is good for longer than that.
  static constexpr base::Duration patience_max = std::chrono::hours(1);

  // The secret and the clock outlive this.
  Contact(const base::Clock& clock, const pnfs::ClusterSecret& secret, const pnfs::ServerId& server)
      : clock_(clock), secret_(secret), server_(server) {}

  // A heartbeat that was sent at that time has been answered. False: the answer makes no sense.
  bool answered(base::TimePoint sent, const pnfs::ClusterId& cluster, const pnfs::HEARTBEATres& answer);

  [[nodiscard]] bool there() const {
    return clock_.now().time_since_epoch().count() < until_.load(std::memory_order_acquire);
  }
  // Null: no handles are signed with it (any more), or no metadata server has said so yet.
  [[nodiscard]] std::shared_ptr<const pnfs::DataHandleCodec> codec(pnfs::KeyNumber number) const;
  // Zeros before the first contact.
  [[nodiscard]] pnfs::ClusterId cluster() const;

 private:
  const base::Clock& clock_;
  const pnfs::ClusterSecret& secret_;
  const pnfs::ServerId server_;
  std::atomic<base::Duration::rep> until_{0};
  mutable std::shared_mutex mutex_;
  pnfs::ClusterId cluster_{};
  std::map<pnfs::KeyNumber, std::shared_ptr<const pnfs::DataHandleCodec>> codecs_;
};

}  // namespace braid::pnfs_ds
