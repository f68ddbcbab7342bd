// Makes striped contents: finds them by the records of their files, places empty files, and removes objects
// whose file is gone.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string_view>

#include "base/clock.h"
#include "base/guarded.h"
#include "hashing/digest.h"
#include "pnfs/layout_record.h"
#include "pnfs_mds/counter.h"
#include "pnfs_mds/data_servers.h"
#include "pnfs_mds/dirty_log.h"
#include "pnfs_mds/in_band_counters.h"
#include "pnfs_mds/layout_recall.h"
#include "pnfs_mds/living_contents.h"
#include "pnfs_mds/object_calls.h"
#include "pnfs_mds/placement.h"
#include "pnfs_mds/removals.h"
#include "pnfs_mds/shared_locks.h"
#include "pnfs_mds/striped_content.h"
#include "pnfs_mds/truncations.h"
#include "vfs/content.h"

namespace braid::pnfs_mds {

// What a StripedSource works with; all of it outlives the source.
struct StripedParts {
  DataServers& servers;
  ObjectCalls& calls;
  Counter& objects;  // their numbers
  Grants& grants;
  Removals& removals;
  DirtyLog& dirty;
  Truncations& truncations;
  const base::Clock& clock;
};

class StripedSource final : public vfs::ContentSource {
 public:
  // `key`: of the records, the same for ever. `verifier`: of this server, another one in each run.
  StripedSource(const StripedParts& parts, const StripePolicy& policy, const hashing::Key& key,
                const vfs::Verifier& verifier);

  // Who takes layouts back; outlives the source. To be set before anybody else uses this; nobody: there are
  // none.
  void set_layout_recall(LayoutRecall& recall) { layout_recall_ = &recall; }

  // Null: it is not a striped one.
  [[nodiscard]] StripedContent* of(const vfs::ContentRef& content) const;

  [[nodiscard]] InBandCounters& counters() { return counters_; }
  // Null: nobody has it in use.
  [[nodiscard]] std::shared_ptr<StripedContent> living(pnfs::ObjectId object) const {
    return living_.find(object);
  }
  // Servers are written to; the file need not be loaded. DirtyLog::keep() is the caller's.
  void written(pnfs::ObjectId object);
  // Whether somebody has a layout for writing, or a change through this server is under way.
  [[nodiscard]] bool has_writers(pnfs::ObjectId object) const;

  [[nodiscard]] std::string_view record() const override { return pnfs::layout_record_name; }
  vfs::VfsOp<vfs::ContentRef> load(vfs::Stub& stub, base::BytesView record) override;
  // An empty file gets servers, and nobody is asked. delay: no server is in contact.
  vfs::VfsOp<vfs::ContentRef> place(vfs::Stub& stub, const vfs::ContentRef& former,
                                    const vfs::PlacementHint& hint) override;
  [[nodiscard]] bool places_at_first_write() const override { return true; }
  vfs::VfsOp<> removing(vfs::Stub& stub, vfs::Content& content) override;
  void gone(vfs::ContentRef content) override;
  // The room that all data servers had when they last said so, once for each file system of theirs.
  vfs::VfsOp<> adjust(vfs::FileSystemStatus& status) override;
  void limit(vfs::FileSystemLimits& limits) const override { limits.stripe_bytes = policy_.unit; }

 private:
  friend class StripedContent;
  // The one that there is for the object, or a new one. `fresh`: nobody has had the object before.
  std::shared_ptr<StripedContent> content_of(const pnfs::LayoutRecord& record, const vfs::FileHandle& file,
                                             bool fresh);
  // Of a file that is about to be placed: that of a directory above it, or the cluster's.
  vfs::VfsOp<StripePolicy> policy_of(vfs::Stub& stub);
  vfs::VfsOp<> put_record(vfs::Stub& stub, pnfs::LayoutRecord record) const;
  // LayoutRecall::others()
  vfs::VfsOp<LayoutRecall::Pause> recall_others(const vfs::FileHandle& file, vfs::LeaseHolder except) const {
    if (layout_recall_ == nullptr) return LayoutRecall::Pause();
    return layout_recall_->others(file, except);
  }

  // LayoutRecall::handles()
  [[nodiscard]] std::optional<pnfs::KeptHandles> handles_of(const vfs::FileHandle& file,
                                                            vfs::LeaseHolder who) const {
    if (layout_recall_ == nullptr || who == vfs::LeaseHolder()) return std::nullopt;
    return layout_recall_->handles(file, who);
  }

  // LayoutRecall::holds()
  [[nodiscard]] bool holds_layout(const vfs::FileHandle& file, vfs::LeaseHolder who) const {
    return layout_recall_ != nullptr && who != vfs::LeaseHolder() && layout_recall_->holds(file, who);
  }

  const StripedParts parts_;
  const StripePolicy policy_;
  const pnfs::LayoutRecordCodec codec_;
  const vfs::Verifier verifier_;
  InBandCounters counters_;
  LayoutRecall* layout_recall_ = nullptr;
  SharedLocks locks_;  // of the contents
  LivingContents living_;
  // Directories whose stripes make no sense, and which the log has named; no more than that are.
  static constexpr std::size_t complaints_max = 1024;
  base::Guarded<std::set<std::uint64_t>> complaints_;
};

}  // namespace braid::pnfs_mds
