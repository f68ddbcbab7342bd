#include "store/content/resting_files.h"

#include <algorithm>
#include <chrono>

namespace braid::store {
namespace {

constexpr base::Duration patience_min = std::chrono::seconds(1);
constexpr base::Duration patience_max = std::chrono::hours(1);
constexpr int restless_waits = 4;

}  // namespace

RestingFiles::Key RestingFiles::key_of(const vfs::FileHandle& file) {
  return {file.view().begin(), file.view().end()};
}

void RestingFiles::put(State& state, const Key& key, const Times& times) const {
  const auto known = state.waiting.find(key);
  if (known == state.waiting.end() && state.waiting.size() >= files_max_) {
    ++state.forgotten;
    return;
  }
  if (known != state.waiting.end()) state.due.erase({known->second.due, key});
  state.waiting.insert_or_assign(key, times);
  state.due.emplace(times.due, key);
}

void RestingFiles::note(const vfs::FileHandle& file, base::TimePoint now) {
  const Key key = key_of(file);
  state_.with([&](State& state) {
    if (!state.waiting.contains(key)) put(state, key, {now + wait_, now});
  });
}

std::vector<RestingFiles::Taken> RestingFiles::take(base::TimePoint now, std::size_t files) {
  std::vector<Taken> out;
  state_.with([&](State& state) {
    while (out.size() < files && !state.due.empty() && state.due.begin()->first <= now) {
      const Key key = state.due.begin()->second;
      state.due.erase(state.due.begin());
      const auto waited = state.waiting.find(key);
      Taken& taken = out.emplace_back();
      taken.since = waited->second.since;
      taken.file.size = static_cast<std::uint8_t>(key.size());
      std::ranges::copy(key, taken.file.bytes.begin());
      state.waiting.erase(waited);
    }
  });
  return out;
}

void RestingFiles::again(const Taken& taken, base::TimePoint now) {
  const Key key = key_of(taken.file);
  state_.with([&](State& state) {
    base::Duration& patience = state.patience[key];
    patience =
        patience == base::Duration() ? std::max(wait_, patience_min) : std::min(2 * patience, patience_max);
    put(state, key, {now + patience, taken.since});
    if (!state.waiting.contains(key)) state.patience.erase(key);
  });
}

bool RestingFiles::is_due(const Taken& taken, base::TimePoint now, base::Duration rested) {
  const base::TimePoint restless = taken.since + restless_waits * wait_;
  if (has_rested(rested) || now >= restless) return true;
  const Key key = key_of(taken.file);
  state_.with(
      [&](State& state) { put(state, key, {std::min(now + wait_ - rested, restless), taken.since}); });
  return false;
}

void RestingFiles::done(const vfs::FileHandle& file) {
  const Key key = key_of(file);
  state_.with([&](State& state) { state.patience.erase(key); });
}

RestingFiles::Counts RestingFiles::counts() const {
  return state_.with([](const State& state) { return Counts{state.waiting.size(), state.forgotten}; });
}

}  // namespace braid::store
