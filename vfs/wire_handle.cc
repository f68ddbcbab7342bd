#include "vfs/wire_handle.h"

#include <algorithm>
#include <array>

#include "base/assert.h"
#include "base/big_endian.h"

namespace braid::vfs {
namespace {

// Offsets of docs/filehandle.md.
constexpr std::size_t version_at = 0;
constexpr std::size_t flags_at = 1;
constexpr std::size_t type_at = 2;
constexpr std::size_t export_at = 4;
constexpr std::size_t mac_at = 8;
constexpr std::size_t body_at = HandleCodec::header_bytes;

constexpr std::uint8_t flag_transient = 0x01;

std::uint64_t load_mac(base::BytesView wire) {
  std::uint64_t mac = 0;
  std::memcpy(&mac, wire.data() + mac_at, sizeof mac);
  return mac;
}

}  // namespace

std::uint64_t HandleCodec::sign(base::BytesView wire) const {
  std::array<std::byte, FileHandle::bytes_max> message;
  std::copy_n(wire.begin(), mac_at, message.begin());
  const base::BytesView body = wire.subspan(body_at);
  std::ranges::copy(body, message.begin() + mac_at);
  return base::siphash24(key_, {message.data(), mac_at + body.size()});
}

FileHandle HandleCodec::seal(const HandleBody& body) const {
  base::check(!body.bytes.empty() && body.bytes.size() <= body_bytes_max, "handle bodies fit");
  FileHandle handle;
  handle.size = static_cast<std::uint8_t>(header_bytes + body.bytes.size());
  std::byte* out = handle.bytes.data();
  out[version_at] = std::byte{version};
  out[flags_at] = std::byte{body.transient ? flag_transient : std::uint8_t{0}};
  base::store_be<std::uint16_t>(handle.bytes, type_at, body.type);
  base::store_be<std::uint32_t>(handle.bytes, export_at, id_.value());
  std::ranges::copy(body.bytes, out + body_at);
  const std::uint64_t mac = sign(handle.view());
  std::memcpy(out + mac_at, &mac, sizeof mac);
  return handle;
}

base::Result<OpenedHandle, Error> HandleCodec::open(base::BytesView wire) const {
  if (wire.size() <= header_bytes || wire.size() > FileHandle::bytes_max) return base::fail(Error::badhandle);
  OpenedHandle out;
  out.mac = load_mac(wire);
  // The signature covers version, flags and export too, so one comparison of words decides.
  if (sign(wire) != out.mac) return base::fail(Error::badhandle);
  const auto flags = std::to_integer<std::uint8_t>(wire[flags_at]);
  if (std::to_integer<std::uint8_t>(wire[version_at]) != version || (flags & ~flag_transient) != 0 ||
      base::load_be<std::uint32_t>(wire, export_at) != id_.value())
    return base::fail(Error::badhandle);
  out.body = body_of(wire);
  return out;
}

HandleBody HandleCodec::body_of(base::BytesView wire) {
  base::check(wire.size() > header_bytes, "a handle of ours");
  const auto flags = std::to_integer<std::uint8_t>(wire[flags_at]);
  return {(flags & flag_transient) != 0, base::load_be<std::uint16_t>(wire, type_at), wire.subspan(body_at)};
}

std::uint64_t HandleCodec::mac_of(base::BytesView wire) {
  base::check(wire.size() > header_bytes, "a handle of ours");
  return load_mac(wire);
}

std::optional<ExportId> HandleCodec::export_of(base::BytesView wire) {
  if (wire.size() <= header_bytes || wire.size() > FileHandle::bytes_max) return std::nullopt;
  if (std::to_integer<std::uint8_t>(wire[version_at]) != version) return std::nullopt;
  return ExportId(base::load_be<std::uint32_t>(wire, export_at));
}

}  // namespace braid::vfs
