// A session (RFC 8881 2.10): its two channels, the slots of each, and the connections it uses.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/clock.h"
#include "base/guarded.h"
#include "base/result.h"
#include "nfs4/nfs4.x.h"
#include "nfs4/state/clients/client.h"
#include "nfs4/state/clients/ids.h"
#include "nfs4/state/clients/slots.h"
#include "rpc/back_channel.h"

namespace braid::nfs4::state {

// channel_attrs4 as agreed: what one side may send the other (RFC 8881 18.36.3).
struct ChannelAttributes {
  std::uint32_t request_bytes_max = 0;   // ca_maxrequestsize, RPC header included
  std::uint32_t response_bytes_max = 0;  // ca_maxresponsesize, the same
  std::uint32_t cached_bytes_max = 0;    // ca_maxresponsesize_cached
  std::uint32_t operations_max = 0;
  std::uint32_t slots = 0;  // ca_maxrequests
  friend bool operator==(const ChannelAttributes&, const ChannelAttributes&) = default;
};

// How the server calls the client back (csa_cb_program, csa_sec_parms).
struct CallbackParameters {
  std::uint32_t program = 0;
  rpc::Auth auth;  // of our calls: AUTH_NONE or AUTH_SYS without machine name
};

struct SessionOptions {
  ChannelAttributes fore;
  std::uint32_t fore_slots_max = 0;  // that the fore channel may grow to
  ChannelAttributes back;
  CallbackParameters callback;
  bool persistent = false;
  std::shared_ptr<ReplyBudget> budget{};  // which has granted the fore channel's slots
  base::TimePoint created{};
};

// One of the session's connections that we may call the client by.
struct BackConnection {
  ConnectionId id = 0;
  rpc::BackChannelRef channel;
};

// Thread-safe; shared by its client's record and the requests that run in it. Its client stays as long.
class Session {
 public:
  Session(const SessionId& session_id, ClientRef owner, const SessionOptions& options)
      : id(session_id),
        client(std::move(owner)),
        created(options.created),
        fore(options.fore),
        back(options.back),
        slots_(std::in_place, SlotOptions{.slots = options.fore.slots,
                                          .slots_max = std::max(options.fore.slots, options.fore_slots_max),
                                          .reply_bytes_max = options.fore.cached_bytes_max,
                                          .budget = options.budget}),
        back_(std::in_place, options.back.slots, options.callback) {}
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  const SessionId id;
  const ClientRef client;
  const base::TimePoint created;
  const ChannelAttributes fore;  // from the client to us; the number of slots is that of the beginning
  const ChannelAttributes back;  // from us to the client

  // SEQUENCE (RFC 8881 18.46): see SlotTable::start(). DEADSESSION when the session has been destroyed.
  base::Result<SlotStart, nfsstat4> start(const SlotRequest& request, SlotWaiter* waiter) {
    return slots_.with([&](SlotTable& slots) { return slots.start(request, waiter); });
  }
  // The request on this slot has ended, and this is its reply: see SlotTable::finish(). The caller wakes who
  // is returned.
  [[nodiscard]] SlotWaiter* finish(std::uint32_t slot, rpc::KeptReply reply) {
    return slots_.with([&](SlotTable& slots) { return slots.finish(slot, std::move(reply)); });
  }
  // See SlotTable::is_last().
  [[nodiscard]] bool is_last(std::uint32_t slot, std::uint32_t sequence) const {
    return slots_.with([&](const SlotTable& slots) { return slots.is_last(slot, sequence); });
  }
  // How many slots the client should use (sr_target_highest_slotid + 1): at least 1, at most what was agreed.
  void set_target(std::uint32_t slots) {
    slots_.with([&](SlotTable& table) { table.set_target(slots); });
  }
  // No request starts any more. False, and nothing happens, if more than `running_max` requests run.
  [[nodiscard]] bool retire(std::uint32_t running_max) {
    return slots_.with([&](SlotTable& slots) { return slots.retire(running_max); });
  }
  [[nodiscard]] SlotStats slot_stats() const {
    return slots_.with([](const SlotTable& slots) { return slots.stats(); });
  }

  // The back channel. A connection that is bound twice counts once; ended ones are forgotten.
  void bind_back(const BackConnection& connection);
  void unbind_back(ConnectionId id);
  [[nodiscard]] bool has_back_channel() const;
  [[nodiscard]] std::size_t back_connections() const;
  // The one that was bound last of those that live.
  [[nodiscard]] std::optional<rpc::BackChannelRef> back_connection() const;
  void set_callback(const CallbackParameters& parameters);
  [[nodiscard]] CallbackParameters callback() const;
  // A slot for a call to the client, with its sequence id; nothing when all are in use.
  struct BackSlot {
    std::uint32_t slot = 0;
    std::uint32_t sequence = 0;
    std::uint32_t highest = 0;  // in use
  };
  [[nodiscard]] std::optional<BackSlot> take_back_slot();
  // What the slot's next call brings as its sequence id.
  enum class Next : std::uint8_t {
    following,  // the client has seen this one
    same,       // it has not
    first,      // it counts from one again
  };
  // `target`: the client's csr_target_highest_slotid, when it answered.
  void give_back_slot(const BackSlot& slot, Next next, std::optional<std::uint32_t> target);
  // The client broke the rules of CB_SEQUENCE: the back channel is not used until it binds a connection anew.
  void set_back_fault();
  // Whether the client has answered the last call, whatever it said.
  void set_back_answered(bool answered);
  enum class Answers : std::uint8_t {
    yes,      // it answered the last call, or there was none
    unknown,  // it did not, and has since then bound a connection or said anew how to call it
    no,       // it did not
  };
  struct BackHealth {
    bool wanted = false;  // it once had a connection
    bool alive = false;   // it has one now
    bool fault = false;   // SEQ4_STATUS_BACKCHANNEL_FAULT
    Answers answers = Answers::yes;
    // SEQ4_STATUS_CB_PATH_DOWN_SESSION, until the client does something about it (RFC 8881 18.46.3)
    [[nodiscard]] bool down() const { return wanted && (!alive || answers == Answers::no); }
    // There is a way for calls, which may well not be answered.
    [[nodiscard]] bool usable() const { return alive && !fault; }
    [[nodiscard]] bool works() const { return usable() && answers == Answers::yes; }
  };
  [[nodiscard]] BackHealth back_health() const;

 private:
  struct Back {
    Back(std::uint32_t slot_count, const CallbackParameters& parameters)
        : callback(parameters), slots(slot_count) {}
    struct Slot {
      std::uint32_t sequence = 0;
      bool busy = false;
    };
    CallbackParameters callback;
    std::vector<Slot> slots;
    std::uint32_t usable = UINT32_MAX;  // as the client wishes
    std::vector<BackConnection> connections;
    bool wanted = false;  // a connection was bound once
    bool fault = false;
    Answers answers = Answers::yes;
    // The client has done what RFC 8881 18.46.3 wants of it.
    void restored() {
      fault = false;
      if (answers == Answers::no) answers = Answers::unknown;
    }
  };

  base::Guarded<SlotTable> slots_;
  base::Guarded<Back> back_;
};

using SessionRef = std::shared_ptr<Session>;

}  // namespace braid::nfs4::state
