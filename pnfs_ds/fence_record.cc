#include "pnfs_ds/fence_record.h"

#include <cstddef>

#include "base/big_endian.h"

namespace braid::pnfs_ds {
namespace {

// Kinds and layouts of docs/format-pnfs-fences.md.
enum class Kind : std::uint8_t { epoch = 1, removed = 2, barred = 3, lowest = 4, epoch_but = 5 };

constexpr std::size_t epoch_bytes = 1 + 8 + 4 + 4 + 8;
constexpr std::size_t epoch_but_bytes = epoch_bytes + 8 + 8;
constexpr std::size_t removed_bytes = 1 + 8 + 4 + 8;
constexpr std::size_t barred_bytes = 1 + 8 + 8;
constexpr std::size_t lowest_bytes = 1 + 8;

base::Bytes begin(Kind kind, std::size_t bytes) {
  base::Bytes out(bytes);
  base::store_be<std::uint8_t>(out, 0, static_cast<std::uint8_t>(kind));
  return out;
}

void put_key(base::Bytes& out, const ObjectKey& key) {
  base::store_be<std::uint64_t>(out, 1, key.object.value());
  base::store_be<std::uint32_t>(out, 9, key.index);
}

ObjectKey key_of(base::BytesView bytes) {
  return {pnfs::ObjectId(base::load_be<std::uint64_t>(bytes, 1)), base::load_be<std::uint32_t>(bytes, 9)};
}

pnfs::GrantNumber grant_at(base::BytesView bytes, std::size_t at) {
  return pnfs::GrantNumber(base::load_be<std::uint64_t>(bytes, at));
}

EpochFence epoch_of(base::BytesView bytes) {
  return {key_of(bytes), pnfs::Epoch(base::load_be<std::uint32_t>(bytes, 13)), grant_at(bytes, 17)};
}

base::Bytes encoded(const EpochFence& fence) {
  base::Bytes out = fence.kept ? begin(Kind::epoch_but, epoch_but_bytes) : begin(Kind::epoch, epoch_bytes);
  put_key(out, fence.of);
  base::store_be<std::uint32_t>(out, 13, fence.epoch.value());
  base::store_be<std::uint64_t>(out, 17, fence.last.value());
  if (!fence.kept) return out;
  base::store_be<std::uint64_t>(out, 25, fence.kept->client.value());
  base::store_be<std::uint64_t>(out, 33, fence.kept->from.value());
  return out;
}
base::Bytes encoded(const RemovedObject& removed) {
  base::Bytes out = begin(Kind::removed, removed_bytes);
  put_key(out, removed.of);
  base::store_be<std::uint64_t>(out, 13, removed.last.value());
  return out;
}
base::Bytes encoded(const BarredClient& barred) {
  base::Bytes out = begin(Kind::barred, barred_bytes);
  base::store_be<std::uint64_t>(out, 1, barred.client.value());
  base::store_be<std::uint64_t>(out, 9, barred.last.value());
  return out;
}
base::Bytes encoded(const LowestGrant& lowest) {
  base::Bytes out = begin(Kind::lowest, lowest_bytes);
  base::store_be<std::uint64_t>(out, 1, lowest.grant.value());
  return out;
}

}  // namespace

base::Bytes encode(const FenceRecord& record) {
  return std::visit([](const auto& one) { return encoded(one); }, record);
}

std::optional<FenceRecord> decode_fence(base::BytesView bytes) {
  if (bytes.empty()) return std::nullopt;
  switch (static_cast<Kind>(base::load_be<std::uint8_t>(bytes, 0))) {
    case Kind::epoch:
      if (bytes.size() != epoch_bytes) return std::nullopt;
      return epoch_of(bytes);
    case Kind::epoch_but: {
      if (bytes.size() != epoch_but_bytes) return std::nullopt;
      EpochFence fence = epoch_of(bytes);
      fence.kept = {.client = pnfs::ClientTag(base::load_be<std::uint64_t>(bytes, 25)),
                    .from = grant_at(bytes, 33)};
      if (fence.kept->from == pnfs::GrantNumber()) return std::nullopt;
      return fence;
    }
    case Kind::removed:
      if (bytes.size() != removed_bytes) return std::nullopt;
      return RemovedObject{key_of(bytes), grant_at(bytes, 13)};
    case Kind::barred:
      if (bytes.size() != barred_bytes) return std::nullopt;
      return BarredClient{pnfs::ClientTag(base::load_be<std::uint64_t>(bytes, 1)), grant_at(bytes, 9)};
    case Kind::lowest:
      if (bytes.size() != lowest_bytes) return std::nullopt;
      return LowestGrant{grant_at(bytes, 1)};
  }
  return std::nullopt;
}

}  // namespace braid::pnfs_ds
