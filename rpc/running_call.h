// One call on its way through the server.
#pragma once

#include <cstdint>
#include <optional>

#include "base/clock.h"
#include "io/op.h"
#include "rpc/call.h"
#include "rpc/call_header.h"
#include "rpc/dispatch_table.h"
#include "rpc/program.h"
#include "rpc/replay_cache.h"
#include "rpc/session.h"

namespace braid::rpc {

// Owned by itself, from start() until its reply has been handed to the connection. Lives in the memory of
// coroutine frames, and a call that does not wait takes no other: so a steady stream of calls allocates
// nothing.
class RunningCall final : private Reply, private ReplayWaiter {
 public:
  static void start(Session& session, io::Payload message, base::TimePoint arrived, CallTag tag);

  static void* operator new(std::size_t bytes) { return io::allocate_frame(bytes); }
  static void operator delete(void* memory, std::size_t bytes) noexcept { io::free_frame(memory, bytes); }

 private:
  RunningCall(Session& session, io::Payload message, base::TimePoint arrived, CallTag tag);
  ~RunningCall() override;

  void run();
  void route();
  // False when the call is not to be executed (now): it has been answered, or waits for one like it.
  bool look_up_replay();
  void execute();
  // Counts what it arrived in and the most that it may answer, from now until its end: it is about to wait.
  void reserve();
  void handler_ended();
  xdr::Encoder& begin() override;
  void finish(Answer answer);
  void refuse_auth(auth_stat why);
  void refuse(const DispatchTable::Found& found);
  void fail(accept_stat stat);
  void repeat(const KeptReply& kept);
  // For repetitions of this call, if it has an entry and its reply can be kept.
  void keep_reply(const io::Payload& message, base::TimePoint now);
  void wake_waiters(ReplayWaiter* waiters, const KeptReply& reply);
  void resume_waiting();
  // Nothing of this call is to be repeated; who waits for it tries for itself.
  void abandon_entry();
  // Sends what the encoder holds, and ends this call. False, and nothing happened, if there was no memory to
  // encode it.
  bool send_and_end();
  void end();
  xdr::Encoder& fresh_encoder();
  [[nodiscard]] RefusalMetrics& refusals();

  Session& session_;
  Call call_;
  const CallTag tag_;
  const Route* route_ = nullptr;  // null until the procedure is known to exist
  std::size_t reserved_ = 0;      // bytes of the budgets held by this call; 0: it has not waited
  bool has_entry_ = false;        // of the duplicate-request cache
  std::uint32_t entry_ = 0;
  ReplayKey key_;   // of a call that is to be cached
  KeptReply kept_;  // what this waiting call was woken with
  std::optional<xdr::Encoder> encoder_;
  io::Op<Answer> op_;
};

}  // namespace braid::rpc
