#include "hashing/blake3_batch.h"

#include <algorithm>
#include <cstring>

#include "base/assert.h"

namespace braid::hashing {
namespace blake3 {
namespace {

std::size_t leaves_of(std::size_t bytes) {
  return std::max<std::size_t>(1, (bytes + leaf_bytes - 1) / leaf_bytes);
}

}  // namespace

SubtreeHasher::SubtreeHasher(const Mode& mode, Simd simd) : mode_(mode), kernel_(kernel_of(simd)) {
  values_.reserve(subtree_leaves_max);
}

void SubtreeHasher::add(const Subtree& subtree) {
  const std::size_t leaves = leaves_of(subtree.data.size());
  base::check(leaves <= subtree_leaves_max, "a subtree is small");
  if (values_.size() + leaves > subtree_leaves_max) finish();
  ranges_.push_back({values_.size(), leaves, subtree.is_root, subtree.out});
  add_leaves(subtree);
}

void SubtreeHasher::add_leaves(const Subtree& subtree) {
  const std::size_t leaves = leaves_of(subtree.data.size());
  const std::size_t begin = values_.size();
  values_.resize(begin + leaves);
  const std::uint32_t last_flags = chunk_end | (leaves == 1 && subtree.is_root ? root : 0U);
  for (std::size_t i = 0; i < leaves; ++i) {
    const std::byte* data = subtree.data.data() + i * leaf_bytes;
    const std::size_t bytes = std::min<std::size_t>(subtree.data.size() - i * leaf_bytes, leaf_bytes);
    Lane lane{data,       data + leaf_bytes - block_bytes, leaf_blocks,        block_bytes,
              last_flags, subtree.first_leaf + i,          &values_[begin + i]};
    if (bytes == leaf_bytes) {
      full_.push_back(lane);
      continue;
    }
    lane.count =
        static_cast<std::uint32_t>(std::max<std::size_t>(1, (bytes + block_bytes - 1) / block_bytes));
    const std::size_t before = std::size_t{lane.count - 1} * block_bytes;
    lane.last_bytes = static_cast<std::uint32_t>(bytes - before);
    auto& last = last_blocks_.emplace_back();
    if (lane.last_bytes > 0) std::memcpy(last.data(), data + before, lane.last_bytes);
    partial_.push_back(lane);
  }
}

void SubtreeHasher::hash_leaves() {
  const LaneOptions options{mode_.key, mode_.flags, chunk_start};
  kernel_.run(options, full_.data(), full_.size());
  for (std::size_t i = 0; i < partial_.size(); ++i) partial_[i].last = last_blocks_[i].data();
  // Lanes of a group wait for the longest one: put equal lengths together.
  if (kernel_.width > 1) std::ranges::sort(partial_, {}, &Lane::count);
  kernel_.run(options, partial_.data(), partial_.size());
  full_.clear();
  partial_.clear();
  last_blocks_.clear();
}

// Joins neighbours; one without a neighbour goes up as it is. This gives the paper's tree, whose left
// subtrees are the largest powers of two.
void SubtreeHasher::hash_level() {
  for (Range& range : ranges_) {
    if (range.count < 2) continue;
    const std::uint32_t flags = range.count == 2 && range.is_root ? root : 0U;
    for (std::size_t i = 0; i + 1 < range.count; i += 2) {
      const auto* pair = reinterpret_cast<const std::byte*>(&values_[range.begin + i]);
      full_.push_back({pair, pair, 1, block_bytes, flags, 0, &values_[range.begin + i / 2]});
    }
  }
  kernel_.run({mode_.key, mode_.flags | parent, 0}, full_.data(), full_.size());
  full_.clear();
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
