#include "hashing/blake3.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/assert.h"
#include "hashing/blake3_batch.h"
#include "hashing/blake3_core.h"

namespace braid::hashing {

static_assert(std::endian::native == std::endian::little, "words are read and written as they lie in memory");

namespace blake3 {
namespace {

Words words_of(const std::array<std::byte, key_bytes>& bytes) {
  Words out;
  std::memcpy(out.word, bytes.data(), sizeof out.word);
  return out;
}

}  // namespace

Mode plain_mode() {
  Mode mode;
  for (unsigned i = 0; i < 8; ++i) mode.key.word[i] = initial_value(i);
  return mode;
}

Mode keyed_mode(const Key& key) { return {words_of(key.bytes()), keyed_hash}; }

Mode derive_key_mode(std::string_view context) {
  Mode of_context = plain_mode();
  of_context.flags = derive_key_context;
  Blake3 hasher(of_context, Simd::portable);
  hasher.update(base::bytes_of(context));
  return {words_of(hasher.digest().bytes), derive_key_material};
}

Words subtree_value(const Mode& mode, base::BytesView data, std::uint64_t first_leaf, Simd simd) {
  const std::size_t leaves = data.size() / leaf_bytes;
  base::check(data.size() % leaf_bytes == 0 && std::has_single_bit(leaves) && leaves <= subtree_leaves_max &&
                  first_leaf % leaves == 0,
              "a subtree is complete");
  Words out;
  if (leaves == 1) {
    const Lane lane{data.data(), data.data() + leaf_bytes - block_bytes,
                    Shape{leaf_blocks, block_bytes, chunk_end}, first_leaf, &out};
    portable_kernel.run({mode.key, mode.flags, chunk_start}, &lane, 1);
    return out;
  }
  SubtreeHasher hasher(mode, simd);
  hasher.add({data, first_leaf, false, &out});
  hasher.finish();
  return out;
}

Words parent_value(const Mode& mode, const Words& left, const Words& right, bool is_root) {
  std::uint32_t block[16], out[16];
  std::memcpy(block, left.word, sizeof left.word);
  std::memcpy(block + 8, right.word, sizeof right.word);
  compress(mode.key.word, block, 0, block_bytes, mode.flags | parent | (is_root ? root : 0U), out);
  Words value;
  std::memcpy(value.word, out, sizeof value.word);
  return value;
}

Digest digest_of(const Words& value) {
  Digest digest;
  std::memcpy(digest.bytes.data(), value.word, digest_bytes);
  return digest;
}

}  // namespace blake3

using namespace blake3;

Blake3::Blake3(const Mode& mode, Simd simd) : mode_(mode), simd_(simd) {}

// More input follows whenever something is pushed, so two subtrees of equal size are never the root's
// children.
void Blake3::push(Words value, std::uint64_t leaves) {
  leaves_done_ += leaves;
  while (!done_.empty() && done_.back().leaves == leaves) {
    value = parent_value(mode_, done_.back().value, value, false);
    leaves *= 2;
    done_.pop_back();
  }
  done_.push_back({value, leaves});
}

void Blake3::update(base::BytesView bytes) {
  while (!bytes.empty()) {
    if (held_ == leaf_.size()) {
      const std::uint64_t index = leaves_done_;
      held_ = 0;
      push(subtree_value(mode_, leaf_, index, Simd::portable), 1);
    }
    if (held_ == 0 && bytes.size() > leaf_bytes) {
      // The largest subtree that is complete, starts at its own multiple, and has a byte behind it.
      std::size_t leaves =
          std::min<std::size_t>(std::bit_floor((bytes.size() - 1) / leaf_bytes), subtree_leaves_max);
      while (leaves_done_ % leaves != 0) leaves /= 2;
      push(subtree_value(mode_, bytes.first(leaves * leaf_bytes), leaves_done_, simd_), leaves);
      bytes = bytes.subspan(leaves * leaf_bytes);
      continue;
    }
    const std::size_t take = std::min(bytes.size(), leaf_.size() - held_);
    std::memcpy(leaf_.data() + held_, bytes.data(), take);
    held_ += take;
    bytes = bytes.subspan(take);
  }
}

Blake3::Root Blake3::root_node() const {
  const std::size_t blocks = std::max<std::size_t>(1, (held_ + block_bytes - 1) / block_bytes);
  Root node{mode_.key, {}, 0, 0};
  std::uint32_t out[16];
  for (std::size_t b = 0;; ++b) {
    std::memset(node.block, 0, sizeof node.block);
    node.bytes = static_cast<std::uint32_t>(std::min<std::size_t>(held_ - b * block_bytes, block_bytes));
    std::memcpy(node.block, leaf_.data() + b * block_bytes, node.bytes);
    node.flags = mode_.flags | (b == 0 ? chunk_start : 0U) | (b + 1 == blocks ? chunk_end : 0U);
    if (b + 1 == blocks) break;
    compress(node.cv.word, node.block, leaves_done_, node.bytes, node.flags, out);
    std::memcpy(node.cv.word, out, sizeof node.cv.word);
  }
  std::uint64_t counter = leaves_done_;
  for (std::size_t i = done_.size(); i-- > 0;) {
    compress(node.cv.word, node.block, counter, node.bytes, node.flags, out);
    std::memcpy(node.block, done_[i].value.word, sizeof done_[i].value.word);
    std::memcpy(node.block + 8, out, sizeof done_[i].value.word);
    node.cv = mode_.key;
    node.bytes = block_bytes;
    node.flags = mode_.flags | parent;
    counter = 0;
  }
  node.flags |= root;
  return node;
}

void Blake3::output(std::uint64_t offset, base::MutableBytes to) const {
  const Root node = root_node();
  while (!to.empty()) {
    std::uint32_t block[16], out[16];
    std::memcpy(block, node.block, sizeof block);
    compress(node.cv.word, block, offset / block_bytes, node.bytes, node.flags, out);
    const std::size_t skip = offset % block_bytes;
    const std::size_t take = std::min(to.size(), sizeof out - skip);
    std::memcpy(to.data(), reinterpret_cast<const std::byte*>(out) + skip, take);
    to = to.subspan(take);
    offset += take;
  }
}

Digest Blake3::digest() const {
  Digest out;
  output(0, out.bytes);
  return out;
}

void derive_key(std::string_view context, base::BytesView material, base::MutableBytes to) {
  Blake3 hasher(derive_key_mode(context));
  hasher.update(material);
  hasher.output(0, to);
}

}  // namespace braid::hashing
