// What a simulation does to a server's calls of the files: some take a while, and none has an effect once
// that server has been killed. The files themselves outlive servers (vfs::memory::Storage).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "tests/sim/random.h"
#include "tests/sim/scheduler.h"
#include "vfs/export.h"
#include "vfs/memory/hooks.h"

namespace braid::sim {

constexpr vfs::ExportId export_id{7};

// How often each change was made that its author gave a name of its own: "make c1-5", "rename c1-5", "remove
// c1-5'", "write 17".
class Changes {
 public:
  void note(const std::string& change) { ++times_[change]; }
  [[nodiscard]] std::uint64_t times(const std::string& change) const {
    const auto found = times_.find(change);
    return found == times_.end() ? 0 : found->second;
  }

 private:
  std::map<std::string, std::uint64_t> times_;
};

// Of one server. WRITEs of 8 bytes are noted as "write N", N being those bytes.
class Door final : public vfs::memory::Hooks {
 public:
  Door(Scheduler& scheduler, const Random& delays, Changes& changes)
      : scheduler_(scheduler), delays_(delays), changes_(changes) {}
  // Called with each change.
  std::function<void(const vfs::memory::Call&)> on_change;
  // How many calls were made in the turn of the reactor in which most were made.
  [[nodiscard]] std::uint64_t longest_turn() const { return longest_turn_; }
  // The server is dead: nothing that it does from now on has an effect.
  void shut() { shut_ = true; }

  vfs::VfsOp<> before(vfs::memory::Call call) override;
  void changed(const vfs::memory::Call& call) override;

 private:
  Scheduler& scheduler_;
  Random delays_;
  Changes& changes_;
  bool shut_ = false;
  std::uint64_t turn_ = 0;
  std::uint64_t calls_in_turn_ = 0;
  std::uint64_t longest_turn_ = 0;
};

}  // namespace braid::sim
