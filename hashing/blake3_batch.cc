#include "hashing/blake3_batch.h"

#include <algorithm>
#include <cstring>

#include "base/assert.h"

namespace braid::hashing {
namespace blake3 {
namespace {

std::size_t leaves_in(std::size_t bytes) {
  return std::max<std::size_t>(1, (bytes + leaf_bytes - 1) / leaf_bytes);
}

}  // namespace

SubtreeHasher::SubtreeHasher(const Mode& mode, Simd simd)
    : mode_(mode), kernel_(kernel_of(simd)), queue_(kernel_) {
  values_.reserve(subtree_leaves_max);
}

void SubtreeHasher::add(const Subtree& subtree) {
  const std::size_t leaves = leaves_in(subtree.data.size());
  base::check(leaves <= subtree_leaves_max, "a subtree is small");
  if (values_.size() + leaves > subtree_leaves_max) finish();
  ranges_.push_back({values_.size(), leaves, subtree.is_root, subtree.out});
  add_leaves(subtree);
}

void SubtreeHasher::add_leaves(const Subtree& subtree) {
  const std::size_t leaves = leaves_in(subtree.data.size());
  const std::size_t full = subtree.data.size() / leaf_bytes;
  const std::size_t begin = values_.size();
  values_.resize(begin + leaves);
  const std::uint32_t last_flags = chunk_end | (leaves == 1 && subtree.is_root ? root : 0U);
  const LaneOptions options = leaf_options();
  const Shape shape{leaf_blocks, block_bytes, last_flags};
  const std::byte* data = subtree.data.data();
  Words* value = values_.data() + begin;
  for (std::size_t i = 0; i < full; ++i) {
    Lane& lane = queue_.next(options);
    lane.blocks = data;
    lane.last = data + (leaf_bytes - block_bytes);
    lane.shape = shape;
    lane.counter = subtree.first_leaf + i;
    lane.out = value++;
    data += leaf_bytes;
  }
  if (full < leaves) add_partial(subtree, full, last_flags, value);
}

void SubtreeHasher::add_partial(const Subtree& subtree, std::size_t index, std::uint32_t last_flags,
                                Words* out) {
  const base::BytesView data = subtree.data.subspan(index * leaf_bytes);
  const std::size_t count = std::max<std::size_t>(1, (data.size() + block_bytes - 1) / block_bytes);
  const std::size_t before = (count - 1) * block_bytes;
  auto& last = last_blocks_.emplace_back();
  if (data.size() > before) std::memcpy(last.data(), data.data() + before, data.size() - before);
  const Shape shape{static_cast<std::uint16_t>(count), static_cast<std::uint16_t>(data.size() - before),
                    last_flags};
  partial_.push_back({data.data(), nullptr, shape, subtree.first_leaf + index, out});
}

void SubtreeHasher::hash_leaves() {
  queue_.flush(leaf_options());
  for (std::size_t i = 0; i < partial_.size(); ++i) partial_[i].last = last_blocks_[i].data();
  // Lanes of a group wait for the longest one: put equal lengths together.
  if (kernel_.width > 1) std::ranges::sort(partial_, {}, [](const Lane& lane) { return lane.shape.count; });
  kernel_.run(leaf_options(), partial_.data(), partial_.size());
  partial_.clear();
  last_blocks_.clear();
}

// Joins neighbours; one without a neighbour goes up as it is. This gives the paper's tree, whose left
// subtrees are the largest powers of two.
void SubtreeHasher::hash_level() {
  const LaneOptions options{mode_.key, mode_.flags | parent, 0};
  for (Range& range : ranges_) {
    if (range.count < 2) continue;
    const Shape shape{1, block_bytes, range.count == 2 && range.is_root ? root : 0U};
    Words* value = &values_[range.begin];
    for (std::size_t i = 0; i + 1 < range.count; i += 2) {
      Lane& lane = queue_.next(options);
      lane.blocks = lane.last = reinterpret_cast<const std::byte*>(value + i);
      lane.shape = shape;
      lane.counter = 0;
      lane.out = value + i / 2;
    }
  }
  queue_.flush(options);
  for (Range& range : ranges_) {
    if (range.count < 2) continue;
    if (range.count % 2 == 1) values_[range.begin + range.count / 2] = values_[range.begin + range.count - 1];
    range.count = (range.count + 1) / 2;
  }
}

void SubtreeHasher::finish() {
  if (ranges_.empty()) return;
  hash_leaves();
  while (std::ranges::any_of(ranges_, [](const Range& range) { return range.count > 1; })) hash_level();
  for (const Range& range : ranges_) *range.out = values_[range.begin];
  ranges_.clear();
  values_.clear();
}

}  // namespace blake3

using namespace blake3;

void Blake3Batch::hash(const Mode& mode, std::span<const base::BytesView> messages, std::span<Digest> ids) {
  base::check(messages.size() == ids.size(), "an id per message");
  subtrees_.set_mode(mode);
  constexpr std::size_t short_max = subtree_leaves_max * leaf_bytes;
  roots_.resize(messages.size());
  for (std::size_t i = 0; i < messages.size(); ++i) {
    if (messages[i].size() <= short_max)
      subtrees_.add({messages[i], 0, true, &roots_[i]});
    else
      hash_long(messages[i], roots_[i]);
  }
  subtrees_.finish();
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = digest_of(roots_[i]);
}

void Blake3Batch::hash_long(base::BytesView message, Words& out) {
  constexpr std::size_t step = subtree_leaves_max * leaf_bytes;
  std::vector<Words> values((message.size() + step - 1) / step);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const base::BytesView rest = message.subspan(i * step);
    subtrees_.add({rest.first(std::min(step, rest.size())), i * subtree_leaves_max, false, &values[i]});
  }
  subtrees_.finish();
  while (values.size() > 1) {
    const bool is_root = values.size() == 2;
    std::size_t to = 0;
    for (std::size_t i = 0; i + 1 < values.size(); i += 2)
      values[to++] = parent_value(subtrees_.mode(), values[i], values[i + 1], is_root);
    if (values.size() % 2 == 1) values[to++] = values.back();
    values.resize(to);
  }
  out = values.front();
}

}  // namespace braid::hashing
