// The connections to 4.0 clients that callbacks go over: how many there may be.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <unordered_map>

#include "io/gate.h"
#include "io/slab.h"
#include "nfs4/callback/path40.h"
#include "nfs4/nfs4.x.h"
#include "rpc/peer_account.h"
#include "rpc/tcp_worker.h"

namespace braid::nfs4::callback {

// Belongs to the TcpWorker's thread. close() must have ended before it is destroyed.
class Paths40 {
 public:
  struct Limits {
    std::size_t all = 1024;
    std::size_t of_peer = 64;       // of clients at one address, an IPv6 /64 network being one
    std::size_t connecting = 32;    // connections that are being made
    std::size_t connecting_to = 2;  // the same, of clients at one address
  };
  Paths40(rpc::TcpWorker& tcp, io::SlabPool& pool, const Limits& limits)
      : tcp_(tcp), pool_(pool), limits_(limits) {}
  Paths40(const Paths40&) = delete;
  Paths40& operator=(const Paths40&) = delete;

  // The one to this client. For a new one the connection that has been without a call for longest is closed
  // where there are too many. Null: all have calls.
  std::shared_ptr<Path40> to(clientid4 client, const state::CallbackAddress& address);
  // Closes those of whom `gone` says so.
  void drop(const std::function<bool(clientid4)>& gone);
  [[nodiscard]] std::size_t size() const { return paths_.size(); }
  io::Op<> close();

 private:
  struct Entry {
    std::shared_ptr<Path40> path;
    rpc::PeerKey peer{};
    std::uint64_t used = 0;  // when, in calls
  };
  using Entries = std::unordered_map<clientid4, Entry>;

  // True if there is room for one more of this peer.
  bool make_room(const rpc::PeerKey& peer);
  void close(Entries::iterator entry);
  static io::Op<> close_path(std::shared_ptr<Path40> path);

  rpc::TcpWorker& tcp_;
  io::SlabPool& pool_;
  const Limits limits_;
  Entries paths_;
  std::map<rpc::PeerKey, std::size_t> of_peer_;
  Connecting connecting_{limits_.connecting, limits_.connecting_to};
  std::uint64_t calls_ = 0;
  io::Gate gate_;
};

}  // namespace braid::nfs4::callback
