// The objects of one data server, and what of them is on its medium.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "tests/sim/random.h"
#include "tests/sim/scheduler.h"
#include "vfs/memory/hooks.h"
#include "vfs/memory/storage.h"

namespace braid::sim::cluster {

// Outlives the server's processes. Names, and the sizes that somebody set, are durable at once.
class Medium {
 public:
  // `came_back` is called with the name of an object that was removed and is made again.
  using CameBack = std::function<void(const std::string& name)>;
  Medium(const base::Clock& clock, CameBack came_back)
      : storage_(vfs::ExportId{1}, &clock), came_back_(std::move(came_back)) {}

  [[nodiscard]] vfs::memory::Storage& storage() { return storage_; }
  // Of all objects.
  void made(const std::string& name);
  void removed(const std::string& name);
  void written(std::uint64_t file, std::uint64_t offset, std::uint64_t bytes, bool stable);
  void synced(std::uint64_t file);
  void cut(std::uint64_t file);
  // The power fails: what is not on the medium is there or not, block by block, as `random` says.
  void lose(Random random);
  // A medium that lies: what was synced is lost as well.
  void lie() { lies_ = true; }
  // How many objects there are.
  [[nodiscard]] std::size_t objects() const { return present_.size(); }
  [[nodiscard]] const std::set<std::string>& names() const { return present_; }

 private:
  vfs::memory::Storage storage_;
  const CameBack came_back_;
  std::map<std::uint64_t, std::string> durable_;  // of files that were ever written to
  std::set<std::string> removed_;
  std::set<std::string> present_;
  bool lies_ = false;
};

// What one process does to the objects. Some calls take a while; dead, it does nothing any more.
class MediumDoor final : public vfs::memory::Hooks {
 public:
  MediumDoor(Scheduler& scheduler, const Random& delays, Medium& medium, base::Duration delay_max)
      : scheduler_(scheduler), delays_(delays), medium_(medium), delay_max_(delay_max) {}
  void shut() { shut_ = true; }

  vfs::VfsOp<> before(vfs::memory::Call call) override;
  void changed(const vfs::memory::Call& call) override;

 private:
  Scheduler& scheduler_;
  Random delays_;
  Medium& medium_;
  const base::Duration delay_max_;
  bool shut_ = false;
};

}  // namespace braid::sim::cluster
