#include "pnfs/data_handle.h"

#include <algorithm>

#include "base/assert.h"
#include "base/big_endian.h"

namespace braid::pnfs {
namespace {

// Offsets of docs/format-pnfs-handle.md.
namespace handle_at {
constexpr std::size_t version = 0;
constexpr std::size_t flags = 1;
constexpr std::size_t key = 2;
constexpr std::size_t export_id = 4;
constexpr std::size_t object = 8;
constexpr std::size_t index = 16;
constexpr std::size_t width = 17;
constexpr std::size_t first = 18;
constexpr std::size_t unit_high = 19;
constexpr std::size_t unit_low = 20;
constexpr std::size_t grant_high = 22;
constexpr std::size_t grant_low = 24;
constexpr std::size_t epoch = 28;
constexpr std::size_t size = 32;
constexpr std::size_t client = 40;
constexpr std::size_t mac = 48;
}  // namespace handle_at
static_assert(handle_at::mac + Mac::bytes_count == DataHandleCodec::bytes_count);

constexpr std::uint8_t flag_write = 0x01;
constexpr std::uint8_t flag_dense = 0x02;

std::uint8_t byte_at(base::BytesView wire, std::size_t at) { return base::load_be<std::uint8_t>(wire, at); }

}  // namespace

Mac DataHandleCodec::sign(base::BytesView wire) const {
  return pnfs::sign(key_, {server_, wire.first(handle_at::mac)});
}

vfs::FileHandle DataHandleCodec::seal(const DataHandle& handle) const {
  const Striping& striping = handle.striping;
  base::check(striping.valid() && handle.index < striping.width, "an object of a layout that there can be");
  base::check(handle.grant.value() >> 48U == 0, "a cluster grants fewer layouts");
  vfs::FileHandle out;
  out.size = bytes_count;
  const base::MutableBytes wire(out.bytes.data(), bytes_count);
  base::store_be<std::uint8_t>(wire, handle_at::version, version);
  base::store_be<std::uint8_t>(
      wire, handle_at::flags,
      static_cast<std::uint8_t>((handle.iomode == Iomode::read_write ? flag_write : 0U) |
                                (striping.packing == Packing::dense ? flag_dense : 0U)));
  base::store_be<std::uint16_t>(wire, handle_at::key, number_.value());
  base::store_be<std::uint32_t>(wire, handle_at::export_id, handle.export_id.value());
  base::store_be<std::uint64_t>(wire, handle_at::object, handle.object.value());
  base::store_be<std::uint8_t>(wire, handle_at::index, static_cast<std::uint8_t>(handle.index));
  base::store_be<std::uint8_t>(wire, handle_at::width, static_cast<std::uint8_t>(striping.width));
  base::store_be<std::uint8_t>(wire, handle_at::first, static_cast<std::uint8_t>(striping.first));
  const std::uint32_t steps = striping.unit / Striping::unit_step;
  base::store_be<std::uint8_t>(wire, handle_at::unit_high, static_cast<std::uint8_t>(steps >> 16U));
  base::store_be<std::uint16_t>(wire, handle_at::unit_low, static_cast<std::uint16_t>(steps & 0xffffU));
  base::store_be<std::uint16_t>(wire, handle_at::grant_high,
                                static_cast<std::uint16_t>(handle.grant.value() >> 32U));
  base::store_be<std::uint32_t>(wire, handle_at::grant_low, static_cast<std::uint32_t>(handle.grant.value()));
  base::store_be<std::uint32_t>(wire, handle_at::epoch, handle.epoch.value());
  base::store_be<std::uint64_t>(wire, handle_at::size, handle.size);
  base::store_be<std::uint64_t>(wire, handle_at::client, handle.client.value());
  std::ranges::copy(sign(wire).bytes, wire.begin() + handle_at::mac);
  return out;
}

std::optional<DataHandle> DataHandleCodec::open(base::BytesView wire) const {
  if (wire.size() != bytes_count || !equal(sign(wire), wire.subspan(handle_at::mac))) return std::nullopt;
  // From here on the bytes are those of a seal() with this key: of another version or number, perhaps.
  const std::uint8_t flags = byte_at(wire, handle_at::flags);
  if (key_of(wire) != number_ || (flags & ~(flag_write | flag_dense)) != 0) return std::nullopt;
  DataHandle out;
  out.object = ObjectId(base::load_be<std::uint64_t>(wire, handle_at::object));
  out.index = byte_at(wire, handle_at::index);
  out.striping.width = byte_at(wire, handle_at::width);
  out.striping.first = byte_at(wire, handle_at::first);
  const std::uint32_t steps = std::uint32_t{byte_at(wire, handle_at::unit_high)} << 16U |
                              base::load_be<std::uint16_t>(wire, handle_at::unit_low);
  if (steps > Striping::unit_max / Striping::unit_step) return std::nullopt;
  out.striping.unit = steps * Striping::unit_step;
  out.striping.packing = (flags & flag_dense) != 0 ? Packing::dense : Packing::sparse;
  if (!out.striping.valid() || out.index >= out.striping.width) return std::nullopt;
  out.iomode = (flags & flag_write) != 0 ? Iomode::read_write : Iomode::read;
  out.export_id = vfs::ExportId(base::load_be<std::uint32_t>(wire, handle_at::export_id));
  out.grant = GrantNumber(std::uint64_t{base::load_be<std::uint16_t>(wire, handle_at::grant_high)} << 32U |
                          base::load_be<std::uint32_t>(wire, handle_at::grant_low));
  out.epoch = Epoch(base::load_be<std::uint32_t>(wire, handle_at::epoch));
  out.size = base::load_be<std::uint64_t>(wire, handle_at::size);
  out.client = ClientTag(base::load_be<std::uint64_t>(wire, handle_at::client));
  return out;
}

bool DataHandleCodec::same(base::BytesView a, base::BytesView b) {
  if (a.size() != bytes_count || b.size() != bytes_count) return false;
  Mac mac;
  std::ranges::copy(a.subspan(handle_at::mac), mac.bytes.begin());
  return equal(mac, b.subspan(handle_at::mac)) &&
         base::equal(a.first(handle_at::mac), b.first(handle_at::mac));
}

std::optional<KeyNumber> DataHandleCodec::key_of(base::BytesView wire) {
  if (wire.size() != bytes_count || byte_at(wire, handle_at::version) != version) return std::nullopt;
  return KeyNumber(base::load_be<std::uint16_t>(wire, handle_at::key));
}

}  // namespace braid::pnfs
