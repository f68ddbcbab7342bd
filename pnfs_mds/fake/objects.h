// Data servers in memory, for tests of the metadata server: their objects, and what befalls a call.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/guarded.h"
#include "io/slab.h"
#include "pnfs_mds/object_calls.h"

namespace braid::pnfs_mds::fake {

// Servers are there as soon as they are named. Thread-safe.
class Objects final : public ObjectCalls {
 public:
  // How long a silent server is waited for, on a reactor.
  static constexpr base::Duration patience = std::chrono::milliseconds(20);

  // Calls of this server wait, and are answered `delay` without effect.
  void set_silent(pnfs::ServerNumber server, bool silent);
  // The server takes so long for each call, on a reactor.
  void set_slow(pnfs::ServerNumber server, base::Duration time);
  // Its calls have this error, without effect; nothing: they go well.
  void set_error(pnfs::ServerNumber server, std::optional<vfs::Error> error);
  // What was answered `delay` may run still: outlast() waits, on a reactor.
  void set_running(pnfs::ServerNumber server, bool running);
  // Before each call of `operation` is executed, `hook` is told of it.
  using Hook = std::function<void(std::string_view operation, pnfs::ServerNumber server)>;
  void set_hook(Hook hook) { hook_ = std::move(hook); }
  // WRITE takes so many bytes at most.
  void set_short_write(pnfs::ServerNumber server, std::optional<std::uint32_t> bytes);
  // Another verifier; what was not stable is lost.
  void restart(pnfs::ServerNumber server);

  [[nodiscard]] vfs::Verifier verifier(pnfs::ServerNumber server) const;
  // As a client with a layout does: `bytes` in the object from `offset` on.
  void put(pnfs::ServerNumber server, ObjectKey of, std::uint64_t offset, std::string_view bytes);
  // Nothing: there is no such object.
  [[nodiscard]] std::optional<std::string> bytes(pnfs::ServerNumber server, ObjectKey of) const;
  [[nodiscard]] std::size_t count() const;  // objects of all servers
  // Handles of an older epoch are refused.
  [[nodiscard]] pnfs::Epoch epoch(pnfs::ServerNumber server, ObjectKey of) const;
  // But these.
  [[nodiscard]] std::optional<pnfs::KeptHandles> kept(pnfs::ServerNumber server, ObjectKey of) const;
  [[nodiscard]] bool removed(pnfs::ServerNumber server, ObjectKey of) const;
  [[nodiscard]] std::vector<Fence> fences(pnfs::ServerNumber server) const;
  // Calls of "read", "write" and so on, of all servers, since the last forget_calls().
  [[nodiscard]] std::size_t calls(std::string_view operation) const;
  [[nodiscard]] std::size_t calls() const;
  void forget_calls();
  // Those of stat() after which nothing need be announced; from the beginning.
  [[nodiscard]] std::size_t expecting() const;
  // Bytes that room was asked for; they are zeros if nobody has written them.
  [[nodiscard]] std::uint64_t allocated(pnfs::ServerNumber server, ObjectKey of) const;
  // The last one that somebody asked for.
  [[nodiscard]] ObjectAllocation last_allocation() const;
  // So many runs of an object's bytes are looked at by one seek().
  void set_seek_runs(int runs);
  // To whom the object was said to belong, when it was made.
  [[nodiscard]] std::optional<std::uint32_t> owner(pnfs::ServerNumber server, ObjectKey of) const;

  vfs::VfsOp<ObjectRead> read(pnfs::ServerNumber server, ObjectKey of, std::uint64_t offset,
                              std::uint32_t count) override;
  vfs::VfsOp<ObjectWritten> write(pnfs::ServerNumber server, ObjectWrite what, io::Payload data) override;
  vfs::VfsOp<vfs::Verifier> commit(pnfs::ServerNumber server, ObjectKey of) override;
  vfs::VfsOp<EachObject<ObjectStat>> stat(pnfs::ServerNumber server, std::vector<ObjectKey> of,
                                          NextWrite next) override;
  vfs::VfsOp<EachObject<void>> truncate(pnfs::ServerNumber server,
                                        std::vector<ObjectTruncation> objects) override;
  vfs::VfsOp<EachObject<void>> remove(pnfs::ServerNumber server, std::vector<ObjectRemoval> objects) override;
  vfs::VfsOp<ObjectSought> seek(pnfs::ServerNumber server, ObjectSearch what) override;
  vfs::VfsOp<> allocate(pnfs::ServerNumber server, ObjectAllocation what) override;
  vfs::VfsOp<> deallocate(pnfs::ServerNumber server, pnfs::ObjectRange range, pnfs::ObjectId object) override;
  vfs::VfsOp<> fence(pnfs::ServerNumber server, std::vector<Fence> fences) override;
  vfs::VfsOp<> outlast(pnfs::ServerNumber server) override;

 private:
  struct Object {
    std::string bytes;
    std::string stable;  // that survive a restart
    bool changed = false;
    std::uint32_t uid = 0;
    std::uint64_t allocated = 0;
  };
  struct Server {
    std::map<ObjectKey, Object> objects;
    std::map<ObjectKey, EpochFence> epochs;
    std::map<ObjectKey, std::uint64_t> cut;  // with which number
    std::set<ObjectKey> removed;
    std::vector<Fence> fences;
    std::uint8_t starts = 1;
    bool silent = false;
    bool running = false;
    base::Duration time{};
    std::optional<vfs::Error> error;
    std::optional<std::uint32_t> short_write;
  };
  struct State {
    std::map<pnfs::ServerNumber, Server> servers;
    std::map<std::string, std::size_t, std::less<>> calls;
    std::size_t expecting = 0;
    int seek_runs = 1024;
    ObjectAllocation last_allocation{};
  };

  static vfs::Verifier verifier_of(pnfs::ServerNumber number, const Server& server);
  static void add_fence(Server& server, const EpochFence& fence);
  static void put_bytes(Object& object, std::uint64_t offset, std::string_view bytes);
  // What befalls a call before it is executed.
  vfs::VfsOp<> before(std::string_view operation, pnfs::ServerNumber server);
  template <class F>
  auto with(pnfs::ServerNumber server, F f) {
    return state_.with([&](State& state) { return f(state.servers[server]); });
  }
  template <class F>
  auto look(pnfs::ServerNumber server, F f) const {
    return state_.with([&](const State& state) {
      static const Server none;
      const auto found = state.servers.find(server);
      return f(found == state.servers.end() ? none : found->second);
    });
  }

  io::SlabPool slabs_{{.bytes_max = 16 * io::region_bytes, .huge_pages = false}};
  base::Guarded<State> state_;
  Hook hook_;
};

}  // namespace braid::pnfs_mds::fake
