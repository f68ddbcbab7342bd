// Calls to the objects of data servers by the control protocol.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/guarded.h"
#include "base/log_limiter.h"
#include "io/gate.h"
#include "io/op.h"
#include "io/reactor.h"
#include "io/slab.h"
#include "pnfs/call_counters.h"
#include "pnfs/control.x.h"
#include "pnfs/control_path.h"
#include "pnfs/control_peer.h"
#include "pnfs/hello.h"
#include "pnfs/keys.h"
#include "pnfs_mds/data_servers.h"
#include "pnfs_mds/object_calls.h"
#include "rpc/transport.h"

namespace braid::pnfs_mds {

// Each thread has a connection of its own to each server that it calls. A server without contact is not
// called at all, but for truncations and fences: `delay`, and `io` for bytes and ends of one that is lost.
// Before start(), and after close(), none is called.
class ControlCalls final : public ObjectCalls {
 public:
  // A call that is not answered in that time is `delay`.
  static constexpr base::Duration patience = std::chrono::seconds(10);

  ControlCalls() = default;
  ~ControlCalls() override;

  // Before anybody calls. All outlives close(); `own` is what a hello of this server says, `paths` has one
  // for each thread that calls, all of this transport. Of a server's addresses only those of it are called.
  void start(io::SlabPool& slabs, const DataServers& servers, const pnfs::ClusterSecret& secret,
             pnfs::ControlPeer::Own own, std::span<const pnfs::ControlPath> paths,
             rpc::Transport transport = rpc::Transport::tcp);
  // Ends all connections, on any of the threads, while the others still run.
  io::Op<> close();
  // Before start(): calls are counted there. The registry outlives close().
  void register_in(base::MetricRegistry& metrics);

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
  using Reply = pnfs::TypedReply<pnfs::to_data_res>;
  struct Line {
    std::uint64_t generation = 0;  // of the server, whose addresses these are
    std::size_t next = 0;          // of its addresses: the one to be tried then
    std::unique_ptr<pnfs::ControlPeer> peer;
    // Why a call that changes bytes was not answered. It may run as long as there is no later session.
    std::optional<pnfs::PeerError> unanswered;
  };
  // Of one thread, and used by it alone.
  struct Desk {
    Desk(const pnfs::ControlPath& by, std::uint32_t its_channel) : path(by), channel(its_channel) {}
    const pnfs::ControlPath path;
    const std::uint32_t channel;
    std::map<pnfs::ServerNumber, Line> lines;
    bool closed = false;
    io::Gate gate;
  };
  struct Closing;

  [[nodiscard]] Desk* desk_here() const;
  // What a call is about: who wants the bytes of a server that is lost is told so, and waits no more; a fence
  // is for a server that may have contact, though we do not know of it, or is about to have it again.
  enum class About : std::uint8_t { bytes, new_bytes, fences, something_else };
  // With a peer for an address that the server has now.
  base::Result<Line*, vfs::Error> line_to(Desk& desk, pnfs::ServerNumber server, About about);
  vfs::VfsOp<Reply> ask(pnfs::ServerNumber server, About about, const pnfs::to_data_args& args,
                        io::Payload bulk = {});
  void note_failure(Desk& desk, pnfs::ServerNumber server, const pnfs::ControlPeer* peer, About about,
                    const pnfs::PeerError& error);
  // Until the calls run no more that were not answered, or the desk is closed.
  io::Op<> end_unanswered(Desk& desk, pnfs::ServerNumber server);
  // The next call tries another address, if there is one.
  void note_unreachable(Desk& desk, pnfs::ServerNumber server, const pnfs::ControlPeer* peer);
  // At most once a minute.
  void tell_of_unreachable(Desk& desk, pnfs::ServerNumber server, std::string_view why);
  static io::Op<> retire(std::unique_ptr<pnfs::ControlPeer> peer);
  static io::Op<> close_desk(Desk& desk);

  io::SlabPool* slabs_ = nullptr;
  const DataServers* servers_ = nullptr;
  const pnfs::ClusterSecret* secret_ = nullptr;
  pnfs::ControlPeer::Own own_;
  std::vector<std::unique_ptr<Desk>> desks_;
  const std::array<std::byte, pnfs::BOOT_VERIFIER_BYTES> boot_ = pnfs::random_boot();
  // Of each server, on how many desks a call is unanswered that changes bytes; those without one are absent.
  base::Guarded<std::map<pnfs::ServerNumber, unsigned>> unanswered_;
  std::optional<pnfs::CallCounters> counters_;
  rpc::Transport transport_ = rpc::Transport::tcp;
  base::LogLimiter unreachable_;
};

// Between errors and numbers of RFC 8881 section 15.1, as the control protocol has them. Numbers that mean
// nothing here are `io`.
vfs::Error error_of_status(pnfs::data_status status);
pnfs::data_status status_of_error(vfs::Error error);

}  // namespace braid::pnfs_mds
