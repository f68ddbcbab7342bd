#include "store/recipes/record.h"

#include <algorithm>

#include "base/big_endian.h"

namespace braid::store {
namespace {

// Offsets of docs/format-store.md.
namespace record_at {
constexpr std::size_t version = 0, flags = 1, location = 2, mapped = 10, root = 18, mac = 50;
static_assert(mac + StoreKeys::mac_bytes == record_bytes);
}  // namespace record_at

constexpr std::uint8_t record_version = 1;
constexpr std::uint8_t flag_pending = 1, flag_unsealing = 2;

// Takes the same time wherever they differ.
bool same_mac(const StoreKeys::Mac& mac, base::BytesView other) {
  unsigned difference = 0;
  for (std::size_t i = 0; i < mac.size(); ++i) difference |= std::to_integer<unsigned>(mac[i] ^ other[i]);
  return difference == 0;
}

}  // namespace

base::Bytes encode(const Record& record, const StoreKeys& keys, const KernelHandle& file) {
  base::Bytes out(record_bytes);
  base::store_be<std::uint8_t>(out, record_at::version, record_version);
  base::store_be<std::uint8_t>(out, record_at::flags,
                               static_cast<std::uint8_t>((record.pending ? flag_pending : 0) |
                                                         (record.unsealing ? flag_unsealing : 0)));
  base::store_be<std::uint64_t>(out, record_at::location, record.at.packed());
  base::store_be<std::uint64_t>(out, record_at::mapped, record.mapped);
  std::ranges::copy(record.root.bytes, out.begin() + record_at::root);
  std::ranges::copy(keys.sign(base::BytesView(out).first(record_at::mac), file),
                    out.begin() + record_at::mac);
  return out;
}

namespace {

// Whether it is of a version that is known here.
base::Result<void, RecordFault> check_version(base::BytesView bytes) {
  if (bytes.empty()) return base::fail(RecordFault::damaged);
  if (base::load_be<std::uint8_t>(bytes, record_at::version) > record_version)
    return base::fail(RecordFault::too_new);
  if (bytes.size() != record_bytes || base::load_be<std::uint8_t>(bytes, record_at::version) == 0)
    return base::fail(RecordFault::damaged);
  return {};
}

base::Result<Record, RecordFault> fields_of(base::BytesView bytes) {
  const auto flags = base::load_be<std::uint8_t>(bytes, record_at::flags);
  if ((flags & ~(flag_pending | flag_unsealing)) != 0) return base::fail(RecordFault::too_new);
  Record out;
  out.pending = (flags & flag_pending) != 0;
  out.unsealing = (flags & flag_unsealing) != 0;
  out.at = Location::unpacked(base::load_be<std::uint64_t>(bytes, record_at::location));
  out.mapped = base::load_be<std::uint64_t>(bytes, record_at::mapped);
  std::ranges::copy(bytes.subspan(record_at::root, hashing::digest_bytes), out.root.bytes.begin());
  return out;
}

}  // namespace

base::Result<Record, RecordFault> decode_record(base::BytesView bytes, const StoreKeys& keys,
                                                const KernelHandle& file) {
  if (const auto known = check_version(bytes); !known) return base::fail(known.error());
  if (!same_mac(keys.sign(bytes.first(record_at::mac), file), bytes.subspan(record_at::mac)))
    return base::fail(RecordFault::damaged);
  return fields_of(bytes);
}

base::Result<Record, RecordFault> decode_copied_record(base::BytesView bytes) {
  if (const auto known = check_version(bytes); !known) return base::fail(known.error());
  return fields_of(bytes);
}

}  // namespace braid::store
