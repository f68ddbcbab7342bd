#include "store/chunks/keys.h"

#include <algorithm>
#include <array>

#include "base/assert.h"
#include "base/big_endian.h"

namespace braid::store {
namespace {

hashing::Digest derived(const hashing::Key& key, std::string_view purpose) {
  hashing::Digest out;
  hashing::derive_key(purpose, key.bytes(), out.bytes);
  return out;
}

hashing::blake3::Mode mode_for(const hashing::Key& key, std::string_view purpose) {
  return hashing::blake3::keyed_mode(hashing::Key(derived(key, purpose).bytes));
}

}  // namespace

StoreKeys::StoreKeys(const hashing::Key& key)
    : key_(key),
      data_(hashing::blake3::keyed_mode(key)),
      node_(mode_for(key, "braid store 1 node")),
      root_(mode_for(key, "braid store 1 root")),
      mac_(mode_for(key, "braid store 1 record")),
      fingerprint_(derived(key, "braid store 1 fingerprint")) {}

hashing::Digest StoreKeys::id_of(ChunkKind kind, base::BytesView bytes) const {
  base::check(kind != ChunkKind::directory, "a directory has no id");
  hashing::Blake3 hash(kind == ChunkKind::data ? data_ : kind == ChunkKind::node ? node_ : root_);
  hash.update(bytes);
  return hash.digest();
}

StoreKeys::Mac StoreKeys::sign(base::BytesView record, const KernelHandle& file) const {
  std::array<std::byte, 3> head{};
  base::store_be<std::uint16_t>(head, 0, file.type);
  base::store_be<std::uint8_t>(head, 2, file.size);
  hashing::Blake3 hash(mac_);
  hash.update(record);
  hash.update(head);
  hash.update(file.view());
  Mac out{};
  const hashing::Digest digest = hash.digest();
  std::ranges::copy(base::BytesView(digest.bytes).first(mac_bytes), out.begin());
  return out;
}

}  // namespace braid::store
