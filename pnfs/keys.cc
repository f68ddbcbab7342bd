#include "pnfs/keys.h"

#include <cstring>

#include "base/big_endian.h"
#include "hashing/blake3.h"

namespace braid::pnfs {
namespace {

constexpr std::string_view root_context = "braid pnfs 2026-11 cluster secret";

hashing::Blake3 hash_of(const hashing::Key& key, std::initializer_list<base::BytesView> parts) {
  hashing::Blake3 hash(hashing::blake3::keyed_mode(key));
  for (const base::BytesView part : parts) {
    std::array<std::byte, 8> length;
    base::store_be<std::uint64_t>(length, 0, part.size());
    hash.update(length);
    hash.update(part);
  }
  return hash;
}

}  // namespace

bool equal(const Mac& mac, base::BytesView other) {
  if (other.size() != Mac::bytes_count) return false;
  std::byte differs{};
  for (std::size_t i = 0; i < Mac::bytes_count; ++i) differs |= mac.bytes[i] ^ other[i];
  return differs == std::byte{};
}

Mac sign(const hashing::Key& key, std::initializer_list<base::BytesView> parts) {
  Mac mac;
  hash_of(key, parts).output(0, mac.bytes);
  return mac;
}

std::optional<ClusterSecret> ClusterSecret::from(base::BytesView content) {
  if (content.size() < bytes_min || content.size() > bytes_max) return std::nullopt;
  std::array<std::byte, hashing::key_bytes> root;
  hashing::derive_key(root_context, content, root);
  return ClusterSecret(hashing::Key(root));
}

hashing::Key ClusterSecret::derive(std::string_view purpose,
                                   std::initializer_list<base::BytesView> parts) const {
  std::array<std::byte, hashing::key_bytes> named;
  hash_of(root_, parts).output(0, named);
  std::array<std::byte, hashing::key_bytes> key;
  hash_of(root_, {base::bytes_of(purpose), named}).output(0, key);
  return hashing::Key(key);
}

hashing::Key ClusterSecret::handle_key(const ClusterId& cluster, KeyNumber number) const {
  std::array<std::byte, 2> bytes;
  base::store_be<std::uint16_t>(bytes, 0, number.value());
  return derive("handles", {cluster, bytes});
}

hashing::Key ClusterSecret::proof_key() const { return derive("proofs", {}); }

hashing::Key ClusterSecret::session_key(base::BytesView transcript) const {
  return derive("session", {transcript});
}

ClientTag client_tag(const ClusterId& cluster, base::BytesView co_ownerid) {
  hashing::Blake3 hash;
  hash.update(cluster);
  hash.update(co_ownerid);
  std::array<std::byte, 8> tag;
  hash.output(0, tag);
  return ClientTag(base::load_be<std::uint64_t>(tag, 0));
}

}  // namespace braid::pnfs
