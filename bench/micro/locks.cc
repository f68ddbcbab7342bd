// How long the lock on all NFSv4 state is held at a time, when one owner has so many ranges of a file and
// locks all of it, is refused that by the file system, unlocks it, or has it taken back.
#include <benchmark/benchmark.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "nfs4/state/states.h"

namespace braid {
namespace {

namespace nfs4state = nfs4::state;

// Of the processor: other processes do not count.
std::chrono::nanoseconds cpu_time() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

class HeldOpen final : public vfs::OpenFile {
 public:
  [[nodiscard]] vfs::FileRef file() const override { return {}; }
  [[nodiscard]] vfs::OpenAccess access() const override { return vfs::OpenAccess::both; }
};

// A client with an open, one lock owner of which has locked each second pair of bytes.
class ManyRanges {
 public:
  explicit ManyRanges(std::int64_t ranges) {
    id_ = states_.opens()
              .open({.client = client_,
                     .minor_version = 1,
                     .owner = "open",
                     .file = file_,
                     .share = {.access = nfs4state::share_both, .deny = 0},
                     .opener = {},
                     .descriptor = std::make_shared<HeldOpen>(),
                     .now = now_},
                    work_)
              ->id;
    for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(ranges); ++i)
      last_ = states_.locks().lock(request({4 * i, 4 * i + 1}), work_)->id;
  }

  // What f() takes; the longest of all is what counts.
  template <class F>
  auto hold(F&& f) {
    nfs4state::DeferredWork work;
    const auto begin = cpu_time();
    auto result = std::forward<F>(f)(work);
    longest_ = std::max<std::chrono::duration<double>>(longest_, cpu_time() - begin);
    return result;
  }
  [[nodiscard]] double longest_s() const { return longest_.count(); }

  nfs4state::LockAnswer lock_all() {
    return *hold([&](auto& work) { return states_.locks().lock(request(nfs4state::whole_file), work); });
  }
  void take_all() {
    const nfs4state::LockAnswer answer = lock_all();
    while (!*hold([&](auto& work) { return states_.locks().take_some(answer, all_, work); })) {
    }
  }
  void refuse_all() {
    const nfs4state::LockAnswer answer = lock_all();
    hold([&](auto& work) {
      states_.locks().undo(answer, request(nfs4state::whole_file), false, work);
      return true;
    });
  }
  void unlock_all() {
    nfs4state::ByteRange left = nfs4state::whole_file;
    nfs4state::StateUse use = request(left).use;
    use.id = last_;
    while (!*hold([&](auto& work) { return states_.locks().unlock(use, left, work); })) {
    }
  }
  void revoke() {
    hold([&](auto& /*work*/) {
      states_.revoke_client(client_->id);
      return true;
    });
    while (states_.leaving()) hold([&](auto& /*work*/) { return states_.take_left(); });
  }

 private:
  static nfs4state::ClientRef make_client() {
    nfs4state::Introduction introduction;
    introduction.minor_version = 1;
    return std::make_shared<nfs4state::Client>(nfs4::clientid4{1}, std::move(introduction),
                                               base::TimePoint(std::chrono::seconds(1)));
  }
  [[nodiscard]] nfs4state::LockRequest request(const nfs4state::ByteRange& range) const {
    return {.use = {.id = id_, .minor_version = 1, .client = client_, .file = file_, .now = now_},
            .new_owner = "lock",
            .new_owner_seqid = 0,
            .wanted = {range, nfs4state::LockMode::write}};
  }

  static constexpr nfs4state::HeldRange all_{nfs4state::whole_file, nfs4state::LockMode::write};
  const base::TimePoint now_{std::chrono::seconds(100)};
  const vfs::FileHandle file_ = [] {
    vfs::FileHandle file;
    file.size = 1;
    return file;
  }();
  const nfs4state::ClientRef client_ = make_client();
  nfs4state::DeferredWork work_;
  nfs4state::States states_{1, [] {
                              nfs4state::StateLimits limits;
                              limits.lock_ranges_per_file = 1U << 20;
                              return limits;
                            }()};
  nfs4::stateid4 id_;
  nfs4::stateid4 last_;
  std::chrono::duration<double> longest_{0};
};

void longest_hold(benchmark::State& state, void (ManyRanges::*what)()) {
  for (auto _ : state) {
    ManyRanges owner(state.range(0));
    (owner.*what)();
    state.SetIterationTime(owner.longest_s());
  }
}

BENCHMARK_CAPTURE(longest_hold, lock, &ManyRanges::take_all)->Arg(16384)->UseManualTime()->Iterations(50);
BENCHMARK_CAPTURE(longest_hold, undo, &ManyRanges::refuse_all)->Arg(16384)->UseManualTime()->Iterations(50);
BENCHMARK_CAPTURE(longest_hold, unlock, &ManyRanges::unlock_all)->Arg(16384)->UseManualTime()->Iterations(50);
BENCHMARK_CAPTURE(longest_hold, revoke, &ManyRanges::revoke)->Arg(16384)->UseManualTime()->Iterations(50);

}  // namespace
}  // namespace braid
