// What a store derives from its key: the names of chunks, and the signatures of records.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "hashing/blake3.h"
#include "hashing/digest.h"
#include "store/medium/medium.h"

namespace braid::store {

// What a record of a container is. Also the byte that says so there.
enum class ChunkKind : std::uint8_t {
  data = 1,       // bytes of files
  node = 2,       // of a recipe
  root = 3,       // of a recipe
  directory = 4,  // of a container; it has no id
};

// Immutable, so thread-safe.
class StoreKeys {
 public:
  static constexpr std::size_t mac_bytes = 10;
  using Mac = std::array<std::byte, mac_bytes>;

  explicit StoreKeys(const hashing::Key& key);

  // Of the bytes that the id covers. One kind's bytes never have the id of another kind's.
  [[nodiscard]] hashing::Digest id_of(ChunkKind kind, base::BytesView bytes) const;
  // Of a record together with the file that has it.
  [[nodiscard]] Mac sign(base::BytesView record, const KernelHandle& file) const;
  // Tells keys apart, and tells nothing of them.
  [[nodiscard]] hashing::Digest fingerprint() const { return fingerprint_; }
  // Of data chunks, and of where they are cut.
  [[nodiscard]] const hashing::Key& data_key() const { return key_; }

 private:
  hashing::Key key_;
  hashing::blake3::Mode data_, node_, root_, mac_;
  hashing::Digest fingerprint_;
};

}  // namespace braid::store
