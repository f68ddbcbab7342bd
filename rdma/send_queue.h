// What goes out: RDMA Writes and the Send behind them as one chain. A Send is executed after the Writes
// before it, so its completion says that all of them are done, and frees everything.
//
// A short message without Writes frees everything when it is posted, for the device copies it, and of its
// completion nothing is heard: to be woken for it would cost as much as to be woken for the next call. What
// it used of the device's queue comes back with the completion of a later chain.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "rdma/chain.h"
#include "rdma/post_queue.h"
#include "rdma/verbs.h"

namespace braid::rdma {

class SendQueue;

// One chain, from the time when it is built until it has completed.
struct Transmission final : Work {
  void completed(WorkStatus status, std::uint32_t bytes) override;
  SendQueue* queue = nullptr;
  Chain chain;
  std::size_t message_bytes = 0;  // of the RPC message that it carries
  bool answers = false;           // a call of the peer, by a reply or by RDMA_ERROR
  bool silent = false;
  std::uint32_t behind = 0;  // silent ones that have been executed when this one has
  base::TimePoint posted_at;
};

class SendUser {
 public:
  virtual ~SendUser() = default;
  // It is over, whether it arrived or not, or the device alone has still to do with it; it holds no memory
  // any more.
  virtual void on_transmitted(const Transmission& transmission) = 0;
  virtual void on_transmission_failed(WorkStatus status) = 0;
};

// In order. A chain waits while the device's queue has no room for all of it.
class SendQueue {
 public:
  SendQueue(const base::Clock& clock, SendUser& user) : clock_(clock), user_(user) {}
  SendQueue(const SendQueue&) = delete;
  SendQueue& operator=(const SendQueue&) = delete;

  // Requests of the device's queue that are for silent messages.
  static constexpr std::uint32_t silent_room = 16;

  // `room`: further requests that may be posted at once. `copied_max`: bytes of a silent message, at most
  // Endpoint::copied_max(); 0: there are none, and no room for them.
  void set_up(PostQueue& posts, std::uint32_t room, std::uint32_t copied_max);
  // An empty one, to be filled and then given to submit() or discard().
  Transmission& begin();
  void submit(Transmission& transmission);
  void discard(Transmission& transmission);
  // Drops what has not been posted.
  void abandon();

  // From now on everything is heard of.
  void listen() { copied_max_ = 0; }

  [[nodiscard]] bool idle() const { return running_ == 0; }
  [[nodiscard]] bool empty() const { return running_ == 0 && waiting_.empty(); }
  // Whether something was sent of which it is not known that the peer has it, and will not be until more is
  // sent.
  [[nodiscard]] bool unheard() const { return empty() && silent_ > 0; }
  // When the oldest of what the peer has to acknowledge was posted.
  [[nodiscard]] std::optional<base::TimePoint> oldest() const;

 private:
  friend struct Transmission;
  void run();
  [[nodiscard]] bool may_be_silent(const Chain& chain) const;
  void ended(Transmission& transmission, WorkStatus status);

  const base::Clock& clock_;
  SendUser& user_;
  PostQueue* posts_ = nullptr;
  std::uint32_t room_ = 0;
  std::uint32_t room_max_ = 0;
  std::size_t copied_max_ = 0;
  std::uint32_t silent_ = 0;       // posted, and not known to have been executed
  std::uint32_t silent_last_ = 0;  // of these, behind the last one that is heard of
  std::size_t running_ = 0;
  std::deque<Transmission*> waiting_;
  std::deque<Transmission*> posted_;
  std::vector<std::unique_ptr<Transmission>> all_;
  std::vector<Transmission*> free_;
};

}  // namespace braid::rdma
