// What a data server says to its metadata server: heartbeats, and questions about files.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "io/blocking_pool.h"
#include "io/gate.h"
#include "io/op.h"
#include "io/reactor.h"
#include "pnfs/call_counters.h"
#include "pnfs/control_peer.h"
#include "pnfs_ds/contact.h"
#include "pnfs_ds/fence_table.h"
#include "pnfs_ds/file_system_id.h"
#include "pnfs_ds/metadata_server.h"
#include "pnfs_ds/objects.h"
#include "pnfs_ds/store_directory.h"

namespace braid::pnfs_ds {

// What both need of a metadata server.
struct MetadataAddress {
  rpc::PeerAddress address;
  std::string text;  // as the user wrote it
};

// Of calls to the metadata server: the names of to_metadata_args, in their order.
inline constexpr std::array<std::string_view, 3> metadata_calls{"heartbeat", "file_facts", "dirty"};

// Keeps contact, as long as the metadata server answers. Belongs to the thread of one reactor, but for
// failure(). start() once, and close() before it is destroyed.
class Heartbeats {
 public:
  struct Parts {
    MetadataAddress to;
    const pnfs::ClusterSecret& secret;
    pnfs::ControlPeer::Own own;  // any thread
    StoreDirectory& store;
    Objects& objects;
    FenceTable& fences;
    Contact& contact;
    io::BlockingPool& pool;
    pnfs::CallCounters* counters = nullptr;  // of metadata_calls; null: nobody counts
  };
  // Of heartbeats: a sixth of the time that one is good for, and within these.
  static constexpr base::Duration interval_min = std::chrono::milliseconds(100);
  static constexpr base::Duration interval_max = std::chrono::seconds(3);
  // How often the log says that the metadata server does not answer.
  static constexpr base::Duration reminder = std::chrono::minutes(1);

  Heartbeats(const pnfs::ControlPath& path, io::SlabPool& slabs, const Parts& parts);

  void start();
  io::Op<> close();
  // What cannot mend itself, in a sentence: the data server is to end. Empty as long as there is nothing
  // such.
  [[nodiscard]] std::string failure() const {
    const std::scoped_lock lock(mutex_);
    return failure_;
  }

 private:
  io::Op<> run();
  io::Op<> beat();
  io::Op<> take(base::TimePoint sent, pnfs::HEARTBEATres answer);
  void failed(const pnfs::PeerError& error);
  void remind(std::string_view why);
  void give_up(std::string sentence);

  io::Reactor& reactor_;
  const Parts parts_;
  const FileSystemId file_system_;
  pnfs::ControlPeer peer_;
  io::Timer timer_;
  io::Gate gate_;
  base::Duration interval_ = std::chrono::milliseconds(500);  // until the first answer
  bool in_contact_ = false;
  unsigned refusals_ = 0;  // of the secret, one after the other
  base::TimePoint reminded_{};
  bool reminded_once_ = false;
  mutable std::mutex mutex_;
  std::string failure_;
};

// Asks over a connection of each thread. add() for every thread before there are calls; close() on each
// thread, after which there are no answers any more.
class MetadataPeers final : public MetadataServer {
 public:
  // As those of Heartbeats; before there are calls.
  void count_in(pnfs::CallCounters& counters) { counters_ = &counters; }
  void add(std::unique_ptr<pnfs::ControlPeer> peer, io::Reactor& reactor) {
    peers_.push_back({&reactor, std::move(peer)});
  }
  vfs::VfsOp<FileFacts> facts_of(pnfs::ObjectId object) override;
  vfs::VfsOp<EachObject> tell_dirty(std::vector<pnfs::ObjectId> objects) override;
  // Of the calling thread.
  io::Op<> close();

 private:
  struct OfThread {
    io::Reactor* reactor;
    std::unique_ptr<pnfs::ControlPeer> peer;
  };
  [[nodiscard]] pnfs::ControlPeer* here() const;

  std::vector<OfThread> peers_;
  pnfs::CallCounters* counters_ = nullptr;
};

}  // namespace braid::pnfs_ds
