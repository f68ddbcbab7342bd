// A session of a model client with one server, from its connection up to the repetition of calls.
#pragma once

#include <array>
#include <chrono>
#include <coroutine>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "io/gate.h"
#include "io/op.h"
#include "tests/sim/cluster/world.h"
#include "tests/sim/message.h"
#include "tests/sim/network.h"
#include "tests/sim/random.h"

namespace braid::sim::cluster {

// Why a call brought nothing. It may have been executed, and may be still.
enum class Fault : std::uint8_t {
  crashed,  // the client has
  silent,   // the server said nothing for so long that the client does not wait any more
  gone,     // the session ended meanwhile
};
template <class T = void>
using SessionOp = io::Op<T, Fault>;

struct Answer {
  explicit Answer(Response its_response) : response(std::move(its_response)) {}
  Response response;         // stands behind SEQUENCE
  base::TimePoint sent{};    // first
  std::uint32_t life = 0;    // of the server
  std::uint32_t client = 0;  // counts the clientids that the server has given
  bool once = true;          // it was sent one time
};

// The status of the operation behind so many that bring nothing but OK; its body may follow.
nfsstat4 status_behind(Answer& answer, int before);

struct SessionTraits {
  std::uint32_t client = 0;  // the number that it has on the network
  std::string owner{};       // co_ownerid
  verifier4 verifier{};      // of this boot
  std::uint32_t flags = 0;   // EXCHGID4_FLAG_USE_PNFS_*
  std::uint32_t minor_version = 2;
  std::uint32_t first_xid = 0;
  base::Duration patience{};  // with a server that says nothing
  bool state = false;         // has a back channel, and says RECLAIM_COMPLETE
};

// When the server had no way to call the client.
class BackPath {
 public:
  // As often as it likes to, both.
  void lost(base::TimePoint now);
  void back(base::TimePoint now);
  // Something came from the server: until now there was a way.
  void heard(base::TimePoint now) { heard_ = now; }
  // Of a call that comes now: it may have been for this long that the server had it to say.
  [[nodiscard]] base::TimePoint untold_since(base::TimePoint now) const;

 private:
  // A server that had no way tries again soon after there is one.
  static constexpr base::Duration soon = std::chrono::seconds(5);

  base::TimePoint heard_{};
  std::optional<base::TimePoint> lost_;  // nothing: there is a way
  base::TimePoint lost_before_{};        // when it was lost the last time
  std::optional<base::TimePoint> back_;  // and when it was back
};

// As long as its client. crash() once; destroyed when ended().
class Session final : private WireUser {
 public:
  Session(World& world, Network& network, SessionTraits traits, const Random& random)
      : world_(world),
        network_(network),
        traits_(std::move(traits)),
        random_(random),
        last_xid_(traits_.first_xid) {}
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // One COMPOUND, in a session that is made first if there is none.
  SessionOp<Answer> call(Request body);
  // Keeps up the session and its back channel.
  SessionOp<> renew();
  void crash();
  [[nodiscard]] bool ended() const { return gate_.count() == 0; }
  // When what renewed the lease was sent last; of this clientid.
  [[nodiscard]] base::TimePoint renewed() const { return renewed_; }
  // Counts the clientids; with another one the state of the one before is gone.
  [[nodiscard]] std::uint32_t instance() const { return instance_; }
  // How often the lease may have run out.
  [[nodiscard]] std::uint32_t lapses() const { return lapses_; }
  // Counts the server's processes: that of the session.
  [[nodiscard]] std::uint32_t life() const { return session_life_; }
  [[nodiscard]] const BackPath& back_path() const { return back_path_; }
  // What a recall of layouts is answered. Null: OK.
  RecallAnswer on_recall;

 private:
  struct Call {
    base::Bytes message;
    std::optional<base::Bytes> reply;
    std::uint32_t life = 0;
    std::uint32_t times = 0;
    bool over = false;  // nobody waits for the reply any more
    std::coroutine_handle<> waiter;
  };
  struct Turn;
  struct Exchanged {
    base::Bytes reply;
    std::uint32_t life = 0;
    bool once = true;
  };
  struct Slot {
    std::uint32_t sequence = 1;
    bool busy = false;
  };

  void on_message(const WireRef& wire, base::Bytes message) override;
  void on_closed(const WireRef& wire) override;
  void connect_again();
  void send(Call& call);
  // Repeats the call now and then, over another connection, as long as nobody has answered it; and gives it
  // up then.
  void watch(std::uint32_t xid, base::TimePoint deadline);
  void finish(Call& call);
  SessionOp<> pause(base::Duration wait);
  SessionOp<Exchanged> exchange(Request request);
  SessionOp<> be_in_session();
  SessionOp<> set_up();
  SessionOp<bool> exchange_id();
  SessionOp<bool> create_session();
  SessionOp<> complete_reclaim();
  SessionOp<Answer> run(Request body);
  // Every call of it ends with `gone`.
  void drop_session();

  World& world_;
  Network& network_;
  const SessionTraits traits_;
  Random random_;
  bool crashed_ = false;
  WireRef wire_;
  BackPath back_path_;
  bool connecting_ = false;
  std::uint32_t last_xid_;
  std::map<std::uint32_t, Call*> calls_;

  bool setting_up_ = false;
  bool there_ = false;
  std::uint64_t sessions_ = 0;
  clientid4 id_ = 0;
  clientid4 known_id_ = 0;
  std::uint32_t instance_ = 0;
  std::uint32_t completed_ = 0;  // the instance that has said RECLAIM_COMPLETE
  std::uint32_t session_sequence_ = 0;
  sessionid4 session_{};
  std::uint32_t session_life_ = 0;
  std::array<Slot, 4> slots_{};
  bool back_channel_down_ = false;
  base::TimePoint renewed_{};
  std::uint32_t lapses_ = 0;
  io::Gate gate_;
};

}  // namespace braid::sim::cluster
