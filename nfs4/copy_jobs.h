// Copies that go on after their COPY was answered (RFC 7862 section 4.8): known to the client by a stateid,
// asked about with OFFLOAD_STATUS, ended with OFFLOAD_CANCEL, reported with CB_OFFLOAD.
#pragma once

#include <atomic>
#include <coroutine>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/guarded.h"
#include "io/gate.h"
#include "io/peer_id.h"
#include "io/reactor.h"
#include "nfs4/nfs4.x.h"
#include "nfs4/op4.h"
#include "nfs4/state/clients/client.h"
#include "vfs/file_system.h"

namespace braid::nfs4 {

namespace callback {
class Callbacks;
}

// One copy between files, of one export or of two.
struct CopyWork {
  state::ClientRef client;
  vfs::Credentials who;
  vfs::OpenFileRef from, to;
  std::uint64_t from_offset = 0, to_offset = 0;
  std::uint64_t length = 0;
  io::PeerId peer{};  // for whom
};

struct CopyJobLimits {
  std::uint32_t per_client = 16;
  std::uint32_t together = 256;
};

// How clients hear of copies that ended.
struct CopyCallbacks {
  // Whether there is a way to call this client.
  std::function<bool(clientid4 client)> reachable;
  // CB_OFFLOAD; true once the client has answered. Runs on the reactor of the copies; the views in `args` are
  // read before it suspends.
  std::function<io::Op<bool>(clientid4 client, CB_OFFLOAD4args args)> tell;
};
CopyCallbacks copy_callbacks(callback::Callbacks& callbacks);

// What has become of a copy.
struct CopyStatus {
  std::uint64_t copied = 0;
  std::optional<nfsstat4> ended;  // none: it runs
};

// Thread-safe unless noted. A copy runs on one reactor, where each of its slices goes to the file system's
// pool. One that ended is remembered until its client has answered the CB_OFFLOAD, or until its place is
// needed.
class CopyJobs {
 public:
  // The reactor outlives this. `epoch`: of this run of the server, part of the stateids.
  CopyJobs(io::Reactor& reactor, CopyCallbacks callbacks, std::uint32_t epoch, CopyJobLimits limits);
  CopyJobs(const CopyJobs&) = delete;
  CopyJobs& operator=(const CopyJobs&) = delete;

  // Nothing when the client, or all together, have as many as they may, when it has no way to be called back,
  // or is gone: the copy is then to be done before it is answered.
  std::optional<stateid4> start(CopyWork work);
  // Nothing: no such copy of this client.
  [[nodiscard]] std::optional<CopyStatus> status(clientid4 client, const stateid4& id) const;
  // On a reactor's thread. False: no such copy of this client. Nothing is written any more when it ends: the
  // slice that was on its way is waited for.
  io::Op<bool> cancel(clientid4 client, stateid4 id);
  // The client is gone, or has lost its state: its copies are to end, and nobody hears of them.
  void cancel_all(clientid4 client);
  // Whether one that was cancelled still writes; waits, on a reactor's thread, until none does.
  [[nodiscard]] bool stopping(clientid4 client) const { return next_stopping(client) != nullptr; }
  io::Op<> stopped(clientid4 client);
  // How many have begun.
  [[nodiscard]] std::uint64_t begun() const {
    return jobs_.with([](const Jobs& jobs) { return jobs.last; });
  }

  // On the reactor: ends all copies and waits for them.
  io::Op<> close();

 private:
  struct Waiter {
    io::Reactor* reactor = nullptr;
    std::coroutine_handle<> handle;
  };
  struct Job {
    std::uint64_t number = 0;
    stateid4 id;
    CopyWork work;
    std::atomic<std::uint64_t> copied{0};
    std::atomic<bool> cancelled{false};
    std::atomic<std::uint32_t> ended{running};  // an nfsstat4
    static constexpr std::uint32_t running = ~0U;
    // Under the lock of jobs_.
    bool quiet = false;  // it copies no more
    std::vector<Waiter> waiting;
  };
  using JobRef = std::shared_ptr<Job>;
  class Quiet;
  struct Jobs {
    std::map<std::uint64_t, JobRef> by_number;  // in the order in which they began; those that clients know
    std::vector<JobRef> cancelled;              // not quiet yet
    std::uint64_t last = 0;
    std::uint32_t posted = 0;  // begun, and not yet on the reactor
    bool closed = false;
  };

  [[nodiscard]] stateid4 id_of(clientid4 client, std::uint64_t number) const;
  [[nodiscard]] JobRef find(clientid4 client, const stateid4& id) const;
  // For one more of this client and its address.
  static bool make_room(Jobs& jobs, const CopyWork& work, const CopyJobLimits& limits);
  template <class Mine, class Full>
  static bool make_room(Jobs& jobs, Mine mine, Full full);
  io::Op<> run(JobRef job);
  static Op4<> copy_all(Job& job);
  io::Op<> report(JobRef job, vfs::FileHandle target, vfs::Verifier verifier);
  void forget(std::uint64_t number);
  static void cancel(Jobs& jobs, const JobRef& job);
  [[nodiscard]] JobRef next_stopping(clientid4 client) const;
  // It copies no more: who waits for that goes on.
  void become_quiet(const JobRef& job);

  io::Reactor& reactor_;
  const CopyCallbacks callbacks_;
  const std::uint32_t epoch_;
  const CopyJobLimits limits_;
  base::Guarded<Jobs> jobs_;
  io::Gate gate_;
};

}  // namespace braid::nfs4
