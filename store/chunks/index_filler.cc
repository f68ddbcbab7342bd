#include "store/chunks/index_filler.h"

#include <algorithm>

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

void IndexFiller::begin_again() {
  if (!done() || index_ == nullptr || !index_->has_lost()) return;
  done_.store(false, std::memory_order_release);
  index_->forget_lost();
  numbers_.reset();
}

// Of what was put since the last one noted, some may have found no room. What no index gets is not found by
// one.
std::uint32_t IndexFiller::complete_to() const {
  if (!lacks_some()) return Location::container_end;
  return index_->known_to().value_or(Location{}).container;
}

IndexFiller::Step IndexFiller::step() {
  if (done()) return Step::done;
  if (!numbers_) begin();
  if (!numbers_->empty() && entries_.size() < fill_entries) {
    taken_ = numbers_->back();
    numbers_->pop_back();
    take(taken_);
    ++containers_done_;
    left_ = numbers_->size();
  }
  if (numbers_->empty() || entries_.size() >= fill_entries)
    if (!put()) return Step::waits;
  if (!numbers_->empty()) return Step::more;
  done_.store(true, std::memory_order_release);
  return Step::done;
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

bool IndexFiller::put() {
  if (taken_ == 0) return true;
  if (!index_->put_many(entries_)) return false;
  chunks_ += entries_.size();
  entries_ = {};
  // The last one may still grow.
  index_->put_known_to({.container = numbers_->empty() ? taken_ : taken_ + 1});
  return true;
}

void IndexFiller::end() {
  if (index_ != nullptr && !lacks_some()) index_->put_known_to(containers_.end());
}

IndexFill IndexFiller::progress() const {
  return {.containers = containers_done_, .left = left_, .chunks = chunks_};
}

// Somebody else may not have put yet what was appended before it, hardly ever in another container than the
// one before; if it was, it is not found again after a crash.
void IndexFiller::note(Location at) {
  if (index_ == nullptr) return;
  std::uint32_t noted = noted_.load(std::memory_order_relaxed);
  if (at.container <= noted + 1 || lacks_some()) return;
  if (noted_.compare_exchange_strong(noted, at.container - 1))
    index_->put_known_to({.container = at.container - 1});
}

}  // namespace braid::store
