// The metadata server's part of a pNFS cluster: what there is one of.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/guarded.h"
#include "hashing/digest.h"
#include "io/blocking_pool.h"
#include "pnfs/data_handle.h"
#include "pnfs/keys.h"
#include "pnfs/object.h"
#include "pnfs_mds/admission.h"
#include "pnfs_mds/counter.h"
#include "pnfs_mds/data_servers.h"
#include "pnfs_mds/dirty_log.h"
#include "pnfs_mds/object_calls.h"
#include "pnfs_mds/pending_fences.h"
#include "pnfs_mds/placement.h"
#include "pnfs_mds/removals.h"
#include "pnfs_mds/state_directory.h"
#include "pnfs_mds/striped_source.h"
#include "pnfs_mds/truncations.h"
#include "vfs/open_file.h"
#include "vfs/types.h"

namespace braid::pnfs_mds {

using pnfs::FileFacts;

struct ClusterOptions {
  std::string state_dir;    // exists
  std::string secret_file;  // empty: `pnfs/secret` in the state directory, which is made
  StripePolicy policy;
  DataServers::Options servers;
  // For how long a data server has contact after it sent a heartbeat: half a lease, and less than
  // servers.patience by what clocks may differ. At most an hour.
  base::Duration contact = std::chrono::seconds(45);
};

struct ClusterError {
  bool in_use = false;  // another process has the state directory
  std::string text;     // a sentence for the user
};

// Lives as long as the server. Thread-safe from open() on.
class Cluster {
 public:
  // Makes what is missing in `pnfs/` of the state directory. `clock` and `calls` outlive it. Blocks.
  static std::expected<std::unique_ptr<Cluster>, ClusterError> open(const ClusterOptions& options,
                                                                    const base::Clock& clock,
                                                                    ObjectCalls& calls);
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;
  // From now on what blocks does so there, and no more on the calling thread. The pool outlives the last
  // call.
  void use(io::BlockingPool& pool);

  [[nodiscard]] const pnfs::ClusterSecret& secret() const { return secret_; }
  [[nodiscard]] const pnfs::ClusterId& id() const { return id_; }
  [[nodiscard]] DataServers& servers() { return *servers_; }
  [[nodiscard]] Grants& grants() { return *grants_; }
  [[nodiscard]] ObjectCalls& calls() { return calls_; }
  [[nodiscard]] PendingFences& pending_fences() { return *pending_fences_; }
  [[nodiscard]] Removals& removals() { return *removals_; }
  [[nodiscard]] DirtyLog& dirty() { return *dirty_; }
  [[nodiscard]] Truncations& truncations() { return *truncations_; }
  [[nodiscard]] Admission& admission() { return *admission_; }
  [[nodiscard]] StripedSource& source() { return *source_; }
  [[nodiscard]] std::uint32_t contact_ms() const {
    return static_cast<std::uint32_t>(
        std::chrono::duration_cast<std::chrono::milliseconds>(options_.contact).count());
  }
  [[nodiscard]] const StripePolicy& policy() const { return options_.policy; }

  // The keys that handles in force may be signed with.
  [[nodiscard]] pnfs::KeyNumber oldest_key() const { return pnfs::KeyNumber(1); }
  [[nodiscard]] pnfs::KeyNumber newest_key() const { return pnfs::KeyNumber(1); }
  // For that server, with the newest key. As DataHandleCodec::seal(). The server must be one of servers().
  [[nodiscard]] vfs::FileHandle seal(pnfs::ServerNumber server, const pnfs::DataHandle& handle) const;

  // Who knows the files that have layouts; to be set before a data server can call. stale: there is no such
  // file, or nobody has a layout of it.
  using FactsOf = std::function<vfs::VfsOp<FileFacts>(pnfs::ObjectId object)>;
  void set_file_facts(FactsOf facts) { facts_ = std::move(facts); }
  vfs::VfsOp<FileFacts> file_facts(pnfs::ObjectId object);
  // Who takes the privileges of such a file away, as above.
  using DropPrivileges = std::function<vfs::VfsOp<>(pnfs::ObjectId object)>;
  void set_drop_privileges(DropPrivileges drop) { drop_privileges_ = std::move(drop); }
  // DIRTY: clients are about to write to these. After a crash, too, servers are asked about them. What has
  // become of each; stale: there is no such file. Errors are those of all.
  vfs::VfsOp<EachObject<void>> written(std::vector<pnfs::ObjectId> objects);
  // Who knows which grants are in use, from the end of the grace period on: layouts are not reclaimed, and
  // until then clients may use those of the run before. Nobody: 0, which says nothing. Any thread; to be set
  // before a data server can call.
  using LowestGrant = std::function<pnfs::GrantNumber()>;
  void set_lowest_grant(LowestGrant lowest) { lowest_grant_ = std::move(lowest); }
  [[nodiscard]] pnfs::GrantNumber lowest_grant() const {
    return lowest_grant_ ? lowest_grant_() : pnfs::GrantNumber();
  }

 private:
  Cluster(const ClusterOptions& options, ObjectCalls& calls, StateDirectory directory,
          const pnfs::ClusterSecret& secret, const pnfs::ClusterId& id)
      : options_(options), calls_(calls), directory_(std::move(directory)), secret_(secret), id_(id) {}
  std::expected<void, ClusterError> open_logs(const base::Clock& clock, const hashing::Key& key);

  const ClusterOptions options_;
  ObjectCalls& calls_;
  const StateDirectory directory_;
  const pnfs::ClusterSecret secret_;
  const pnfs::ClusterId id_;
  std::unique_ptr<DataServers> servers_;
  std::unique_ptr<Counter> objects_;
  std::unique_ptr<Grants> grants_;
  std::unique_ptr<PendingFences> pending_fences_;
  std::unique_ptr<Removals> removals_;
  std::unique_ptr<DirtyLog> dirty_;
  std::unique_ptr<Truncations> truncations_;
  std::unique_ptr<Admission> admission_;
  std::unique_ptr<StripedSource> source_;
  mutable base::Guarded<std::map<pnfs::ServerNumber, pnfs::DataHandleCodec>> codecs_;
  FactsOf facts_;
  DropPrivileges drop_privileges_;
  LowestGrant lowest_grant_;
};

}  // namespace braid::pnfs_mds
