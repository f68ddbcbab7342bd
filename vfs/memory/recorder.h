// Hooks for unit tests: they record who asked for what, fail on demand, and make calls wait until the test
// lets them go on.
#pragma once

#include <coroutine>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vfs/memory/hooks.h"

namespace braid::vfs::memory {

// One call as the file system saw it.
struct Recorded {
  std::string operation;
  Credentials who;   // zero for operations without a caller
  std::string name;  // of RENAME "old -> new"; of COMMIT "offset+count"
};

// Belongs to one thread.
class Recorder final : public Hooks {
 public:
  // Every call of `operation` ends with `error` and changes nothing, until another error or nullopt is set.
  void fail(std::string_view operation, std::optional<Error> error);
  // From now on calls suspend; resume_one() lets the oldest go on, on the thread's ReadyQueue.
  void park(bool on) { parking_ = on; }
  [[nodiscard]] std::size_t parked() const { return parked_.size(); }
  void resume_one();

  VfsOp<> before(Call call) override;

  std::vector<Recorded> calls;
  bool read_only = false;  // whatever changes something is rofs

 private:
  struct Park {
    Recorder& owner;
    [[nodiscard]] bool await_ready() const { return !owner.parking_; }
    void await_suspend(std::coroutine_handle<> handle) { owner.parked_.push_back(handle); }
    void await_resume() const {}
  };

  std::map<std::string, Error, std::less<>> failures_;
  bool parking_ = false;
  std::vector<std::coroutine_handle<>> parked_;
};

}  // namespace braid::vfs::memory
