// Who waits for byte ranges of a file (READW_LT, WRITEW_LT), in the order in which they asked. Nobody blocks
// in the server: who was refused asks again, and for a moment after the range has become free the queue keeps
// others from taking it (RFC 7530 9.4, RFC 8881 9.6).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "nfs4/nfs4.x.h"
#include "nfs4/state/locks/ranges.h"

namespace braid::nfs4::state {

struct LockWaiter {
  clientid4 client = 0;
  base::Bytes owner;
  HeldRange wanted;
  base::TimePoint until{};  // forgotten then, unless it asks again
  bool polls = false;       // nobody can tell it that its turn has come: it finds out when it asks again
  enum class Hope : std::uint8_t {
    turn,      // that somebody unlocks, and that it comes next
    answered,  // its turn has come, and it was told so (CB_NOTIFY_LOCK) unless it polls
    // Somebody local holds the range, who tells nobody when that ends: others may take what they can get.
    local,
  } hope = Hope::turn;
  // When its turn is over; known once somebody has looked at it.
  std::optional<base::TimePoint> turn_until{};

  [[nodiscard]] bool is(clientid4 its_client, base::BytesView its_owner) const {
    return client == its_client && base::equal(owner, its_owner);
  }
};

// Not thread-safe. Holds at most waiters_max; who comes then just asks again without a place in the queue.
// What leaves it is handed out: others may have their turn now.
class LockQueue {
 public:
  static constexpr std::size_t waiters_max = 128;
  using Left = std::vector<LockWaiter>;

  // An owner waits for one range at a time: a new wish at a new place replaces the former one at the end of
  // the queue. `room`: for one more; without it a wish that is not there yet gets no place.
  [[nodiscard]] Left wait(LockWaiter fresh, bool room);
  // One that waited for somebody local waits for its turn now. False: there is none.
  bool local_gone(clientid4 client, base::BytesView owner, const HeldRange& wanted);
  // It has locked `range`, and waits for it no more.
  [[nodiscard]] Left forget(clientid4 client, base::BytesView owner, const ByteRange& range);
  [[nodiscard]] Left forget_client(clientid4 client);
  // Ends turns that nobody has used within `turn_max`, and forgets who has not asked for too long.
  [[nodiscard]] Left expire(base::TimePoint now, base::Duration turn_max);
  // When expire() has something to do; of a turn that nobody has looked at: as soon as possible. Not of an
  // empty queue.
  [[nodiscard]] base::TimePoint due() const;

  // Whose client unlocked last.
  void note_release(clientid4 client) { released_by_ = client; }
  [[nodiscard]] clientid4 released_by() const { return released_by_; }
  [[nodiscard]] bool empty() const { return waiters_.empty(); }
  [[nodiscard]] bool has(clientid4 client) const;
  [[nodiscard]] std::vector<LockWaiter>& waiters() { return waiters_; }
  [[nodiscard]] const std::vector<LockWaiter>& waiters() const { return waiters_; }

 private:
  template <class Goes>
  Left take_if(Goes goes);

  std::vector<LockWaiter> waiters_;
  clientid4 released_by_ = 0;
};

}  // namespace braid::nfs4::state
