#include "hashing/tree_hash.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <vector>

namespace braid::hashing {
namespace {

constexpr std::byte leaf_prefix{0}, node_prefix{1}, root_prefix{2};

struct FreeContext {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};
struct FreeFunction {
  void operator()(EVP_MD* function) const { EVP_MD_free(function); }
};

// One hash function of OpenSSL, fetched once and used for many messages.
class Function {
 public:
  explicit Function(const char* name)
      : function_(EVP_MD_fetch(nullptr, name, nullptr)), context_(EVP_MD_CTX_new()) {}
  // False when OpenSSL refuses. `to` has room for the digest.
  [[nodiscard]] bool hash(base::BytesView prefix, base::BytesView message, std::byte* to) {
    return function_ != nullptr && context_ != nullptr &&
           EVP_DigestInit_ex2(context_.get(), function_.get(), nullptr) == 1 &&
           EVP_DigestUpdate(context_.get(), prefix.data(), prefix.size()) == 1 &&
           EVP_DigestUpdate(context_.get(), message.data(), message.size()) == 1 &&
           EVP_DigestFinal_ex(context_.get(), reinterpret_cast<unsigned char*>(to), nullptr) == 1;
  }

 private:
  std::unique_ptr<EVP_MD, FreeFunction> function_;
  std::unique_ptr<EVP_MD_CTX, FreeContext> context_;
};

std::size_t leaves_of(std::size_t bytes) {
  return std::max<std::size_t>(1, (bytes + tree_leaf_bytes - 1) / tree_leaf_bytes);
}
base::BytesView leaf_of(base::BytesView message, std::size_t i) {
  const base::BytesView rest = message.subspan(i * tree_leaf_bytes);
  return rest.first(std::min(rest.size(), tree_leaf_bytes));
}

}  // namespace

base::Result<Digest> sha256_tree(const Key& key, base::BytesView message) {
  Function sha256("SHA256");
  std::vector<Digest> nodes(leaves_of(message.size()));
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (!sha256.hash({&leaf_prefix, 1}, leaf_of(message, i), nodes[i].bytes.data())) return base::fail(EIO);
  while (nodes.size() > 1) {
    std::size_t to = 0;
    for (std::size_t i = 0; i + 1 < nodes.size(); i += 2) {
      const base::BytesView pair = std::as_bytes(std::span(&nodes[i], 2));
      Digest joined;
      if (!sha256.hash({&node_prefix, 1}, pair, joined.bytes.data())) return base::fail(EIO);
      nodes[to++] = joined;
    }
    if (nodes.size() % 2 == 1) nodes[to++] = nodes.back();
    nodes.resize(to);
  }
  std::array<std::byte, 1 + sizeof(std::uint64_t) + digest_bytes> top{root_prefix};
  const std::uint64_t length = message.size();
  std::memcpy(top.data() + 1, &length, sizeof length);
  std::memcpy(top.data() + 1 + sizeof length, nodes.front().bytes.data(), digest_bytes);
  Digest out;
  if (HMAC(EVP_sha256(), key.bytes().data(), key_bytes, reinterpret_cast<const unsigned char*>(top.data()),
           top.size(), reinterpret_cast<unsigned char*>(out.bytes.data()), nullptr) == nullptr)
    return base::fail(EIO);
  return out;
}

base::Result<Digest> md5_tree(base::BytesView message) {
  constexpr std::size_t md5_bytes = 16;
  Function md5("MD5");
  std::vector<std::array<std::byte, md5_bytes>> leaves(leaves_of(message.size()));
  for (std::size_t i = 0; i < leaves.size(); ++i)
    if (!md5.hash({}, leaf_of(message, i), leaves[i].data())) return base::fail(EIO);
  Digest out;
  if (!md5.hash({}, std::as_bytes(std::span(leaves)), out.bytes.data())) return base::fail(EIO);
  return out;
}

}  // namespace braid::hashing
