// Two trees over 4 KiB leaves for sites that need, or compare with, older functions (docs/hashing.md).
// OpenSSL computes them.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "base/result.h"
#include "hashing/digest.h"

namespace braid::hashing {

constexpr std::size_t tree_leaf_bytes = 4096;

// A binary tree of SHA-256 with separate domains for leaves and nodes; the root is an HMAC with the key over
// the length and the top node. EIO: OpenSSL failed (no memory, or the function is disabled).
base::Result<Digest> sha256_tree(const Key& key, base::BytesView message);

// The MD5 of the leaves' MD5s, as in Al-Kiswany et al., "GPUs as Storage System Accelerators" (direct
// hashing): for comparison with that paper's figures only. Not keyed, not collision resistant. The last 16
// bytes are zero.
base::Result<Digest> md5_tree(base::BytesView message);

}  // namespace braid::hashing
