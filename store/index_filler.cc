#include "store/index_filler.h"

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace braid::store {
namespace {

constexpr std::size_t fill_entries = 512 * 1024;

}  // namespace

void IndexFiller::begin() {
  known_ = index_->known_to().value_or(Location{});
  auto numbers = containers_.numbers();
  if (!numbers)
    base::log_event(base::Level::error, "store_index_incomplete", "{}; equal chunks may be kept twice",
                    base::message_of(numbers.error()));
  numbers_ = numbers.value_or(std::vector<std::uint32_t>());
  std::erase_if(*numbers_, [&](std::uint32_t number) { return number < known_.container; });
  std::ranges::sort(*numbers_, std::ranges::greater());
  left_ = numbers_->size();
}

bool IndexFiller::step() {
  if (done()) return false;
  if (!numbers_) begin();
  if (!numbers_->empty()) {
    const std::uint32_t number = numbers_->back();
    numbers_->pop_back();
    take(number);
    if (numbers_->empty() || entries_.size() >= fill_entries) {
      put();
      // The last one may still grow.
      index_->put_known_to({.container = numbers_->empty() ? number : number + 1});
    }
    ++containers_done_;
    left_ = numbers_->size();
  }
  if (!numbers_->empty()) return true;
  done_.store(true, std::memory_order_release);
  return false;
}

void IndexFiller::take(std::uint32_t number) {
  const auto walked =
      containers_.walk(number, false, [&](Location at, const ChunkHeader& header, base::BytesView) {
        if (at >= known_) entries_.push_back({header.id, at});
      });
  // Garbage goes meanwhile.
  if (walked || walked.error() == base::errno_of(ENOENT)) return;
  base::log_event(base::Level::error, "store_index_incomplete",
                  "container={}: {}; what equals its chunks is kept twice", Containers::name_of(number),
                  base::message_of(walked.error()));
}

void IndexFiller::put() {
  chunks_ += entries_.size();
  index_->put_many(std::exchange(entries_, {}));
}

IndexFill IndexFiller::progress() const {
  return {.containers = containers_done_, .left = left_, .chunks = chunks_};
}

// Somebody else may not have put yet what was appended before it, hardly ever in another container than the
// one before; if it was, it is not found again after a crash.
void IndexFiller::note(Location at) {
  if (index_ == nullptr) return;
  std::uint32_t noted = noted_.load(std::memory_order_relaxed);
  if (at.container <= noted + 1 || !done()) return;
  if (noted_.compare_exchange_strong(noted, at.container - 1))
    index_->put_known_to({.container = at.container - 1});
}

}  // namespace braid::store
