#include "tests/sim/door.h"

#include <algorithm>
#include <chrono>
#include <span>
#include <string_view>
#include <utility>

namespace braid::sim {

vfs::VfsOp<> Door::before(vfs::memory::Call call) {
  const std::uint64_t turn = scheduler_.reactor().stats().turns;
  calls_in_turn_ = turn == std::exchange(turn_, turn) ? calls_in_turn_ + 1 : 1;
  longest_turn_ = std::max(longest_turn_, calls_in_turn_);
  // What is unlocked waits for no disk.
  if (call.operation != "unlock" && delays_.percent(10))
    co_await scheduler_.sleep(
        delays_.between(base::Duration(std::chrono::microseconds(10)), std::chrono::milliseconds(30)));
  if (shut_) co_await base::fail(vfs::Error::io);
}

void Door::changed(const vfs::memory::Call& call) {
  if (on_change) on_change(call);
  const std::string_view what = call.operation;
  if (what == "create" || what == "mkdir" || what == "open_create") {
    changes_.note("make " + std::string(call.name));
  } else if (what == "remove" || what == "rmdir" || what == "rename") {
    changes_.note(std::string(what == "rename" ? "rename " : "remove ") + std::string(call.name));
  } else if (what == "write" && call.data->size() == sizeof(std::uint64_t)) {
    std::uint64_t tag = 0;
    call.data->in_memory().value().copy_to(0, std::as_writable_bytes(std::span(&tag, 1)));
    changes_.note("write " + std::to_string(tag));
  }
}

}  // namespace braid::sim
