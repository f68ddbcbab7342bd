// A whole NFSv4 server without a network: the real engine over directories of its own, on the thread of a
// reactor. Time stands still unless the test moves it.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/manual/manual_clock.h"
#include "base/metrics.h"
#include "io/blocking_pool.h"
#include "io/pipe.h"
#include "io/reactor.h"
#include "io/slab.h"
#include "nfs4/engine.h"
#include "rpc/call.h"
#include "tests/unit/nfs4/support/request.h"
#include "vfs/export.h"
#include "vfs/faulty/faulty.h"
#include "vfs/posix/file_system.h"

namespace braid::rpc {
class Session;
}

namespace braid::nfs4::test {

// Who sends, and from where.
struct Caller {
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::string_view address = "192.0.2.1";
  rpc::Session* connection = nullptr;  // that it is called back by
  std::uint8_t boot = 0;               // another one after it has crashed
  Nfs4Engine* engine = nullptr;        // that it talks to; null: the world's own
};

struct ExportSpec {
  std::string path = "/";
  std::vector<std::string_view> clients{};  // empty: everybody
  vfs::Squash squash = vfs::Squash::none;
  std::vector<vfs::ExportRule> rules{};
};

// What a capability adds to a server. What it refers to outlives the world.
struct Capability {
  std::vector<vfs::ContentSource*> sources{};                         // of every export
  std::function<EngineParts()> parts = [] { return EngineParts{}; };  // asked at each start
};

// A COMPOUND that may still run.
class Sent;

class World {
 public:
  explicit World(EngineOptions options = {}, const std::vector<ExportSpec>& exports = {ExportSpec{}},
                 Capability capability = {});
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  // Sends and waits for the reply.
  Reply send(const Request& request, const Caller& caller = {});
  // The arguments of a COMPOUND as they are.
  Reply send_raw(io::Payload args, const Caller& caller = {});
  // Sends without waiting; the reply comes with wait().
  std::shared_ptr<Sent> start(const Request& request, const Caller& caller = {});
  Reply wait(const std::shared_ptr<Sent>& sent);
  [[nodiscard]] bool ended(const std::shared_ptr<Sent>& sent);
  // As after `kill -9`: clients, opens and locks are forgotten, files and records stay.
  void restart();
  // As after an end in order.
  void restart_in_order();
  // Calls come by a transport that can send from pipes, or by one that cannot (as at first).
  void offer_pipes(bool offered) { pipes_offered_ = offered; }
  // What the server does every second.
  void tick();
  // Runs what f(engine) makes until it ends.
  void on_engine(const std::function<io::Op<>(Nfs4Engine&)>& f) { on_engine(*engine_, f); }
  void on_engine(Nfs4Engine& engine, const std::function<io::Op<>(Nfs4Engine&)>& f);

  // The directory behind an export, by the order of the specifications.
  [[nodiscard]] std::string directory(std::size_t number = 0) const;
  [[nodiscard]] std::string state_directory() const { return base_ + "/state"; }
  void write_local(std::string_view name, std::string_view text) const;
  [[nodiscard]] std::string read_local(std::string_view name) const;

  // Calls f() on the reactor's thread and waits for it.
  void on_reactor(const std::function<void()>& f);
  io::Reactor& reactor() { return *reactor_; }
  // Counts what is asked of the first export's file system from now on, and fails on demand; instead of
  // file_system().
  vfs::FaultyFileSystem& watched();
  // Of the first export.
  vfs::posix::PosixFileSystem& file_system() {
    return static_cast<vfs::posix::PosixFileSystem&>(*exports_->current()->all().front().file_system);
  }

  [[nodiscard]] const base::Clock& clock() const { return clock_; }
  // On the reactor's thread, so that its timers see it.
  void advance(base::Duration by) {
    on_reactor([&] { clock_.advance(by); });
  }
  Nfs4Engine& engine() { return *engine_; }
  // For another engine beside it. The registry is another one after a restart.
  [[nodiscard]] EngineResources resources() { return {clock_, *exports_, pool_, slabs_, *metrics_}; }
  [[nodiscard]] const base::MetricRegistry& metrics() const { return *metrics_; }
  io::SlabPool& slabs() { return slabs_; }

 private:
  std::shared_ptr<Sent> start_raw(io::Payload args, const Caller& caller);
  void open_engine();

  base::ManualClock clock_;
  io::SlabPool slabs_{{.bytes_max = 16 * io::region_bytes, .huge_pages = false}};
  io::PipePool pipes_;
  bool pipes_offered_ = false;
  io::BlockingPool pool_{{.threads_max = 2}};
  std::unique_ptr<io::Reactor> reactor_;
  std::string base_;  // everything of this world is below it
  std::unique_ptr<vfs::Exports> exports_;
  const EngineOptions options_;
  const Capability capability_;
  std::unique_ptr<base::MetricRegistry> metrics_;
  std::unique_ptr<Nfs4Engine> engine_;
  std::unique_ptr<io::SlabCursor> cursor_;  // of the reactor's thread
  std::thread thread_;
};

// A client with a session, and the SEQUENCE that its requests begin with.
class SessionClient {
 public:
  // EXCHANGE_ID, CREATE_SESSION, and RECLAIM_COMPLETE unless `complete` is false.
  SessionClient(World& world, std::uint32_t minor_version, std::string_view owner, const Caller& caller = {},
                bool complete = true);

  // A request that begins with the next SEQUENCE of a slot.
  Request request(std::uint32_t slot = 0, bool cache_this = false);
  // The same without counting on: the request before once more, as far as SEQUENCE goes.
  [[nodiscard]] Request again(std::uint32_t slot = 0, bool cache_this = false) const;
  // Sends, and takes the result of SEQUENCE, which must be OK.
  Reply send(const Request& request);

  [[nodiscard]] clientid4 id() const { return id_; }
  [[nodiscard]] const sessionid4& session() const { return session_; }
  [[nodiscard]] const channel_attrs4& fore() const { return fore_; }
  [[nodiscard]] const Caller& caller() const { return caller_; }

 private:
  World& world_;
  const std::uint32_t minor_version_;
  const Caller caller_;
  clientid4 id_ = 0;
  sessionid4 session_{};
  channel_attrs4 fore_;
  std::vector<sequenceid4> sequences_;
};

// SETCLIENTID and SETCLIENTID_CONFIRM: the id of a 4.0 client.
clientid4 introduce_40(World& world, std::string_view name, const Caller& caller = {});

// Stateids that name no state (RFC 8881 8.2.3).
stateid4 anonymous();
stateid4 current();

}  // namespace braid::nfs4::test
