#include "pnfs_mds/records.h"

#include <algorithm>
#include <string>
#include <utility>

#include "pnfs/striping.h"
#include "pnfs_mds/record_bytes.h"

namespace braid::pnfs_mds {
namespace {

constexpr std::uint8_t server_kind = 1;
constexpr std::uint8_t intent_kind = 1;
constexpr std::uint8_t done_kind = 2;

std::optional<RemovalRecord> decode_intent(RecordReader& in, pnfs::ObjectId object) {
  RemovalIntent out;
  out.object = object;
  const base::BytesView file = in.counted();
  const std::size_t servers = in.number<std::uint8_t>();
  if (file.size() > vfs::FileHandle::bytes_max || servers > pnfs::Striping::width_max) return std::nullopt;
  std::ranges::copy(file, out.file.bytes.begin());
  out.file.size = static_cast<std::uint8_t>(file.size());
  out.servers.reserve(servers);
  for (std::size_t i = 0; i < servers; ++i)
    out.servers.push_back(pnfs::ServerNumber(in.number<std::uint32_t>()));
  if (!in.ended()) return std::nullopt;
  return out;
}

}  // namespace

base::Bytes encode(const DataServerInfo& server) {
  RecordWriter out;
  out.number(server_kind).number(server.number.value()).bytes(server.id).number(server.generation);
  out.bytes(server.verifier.bytes).counted(base::bytes_of(server.name));
  out.number(static_cast<std::uint8_t>(server.addresses.size()));
  for (const Address& address : server.addresses)
    out.counted(base::bytes_of(address.netid)).counted(base::bytes_of(address.uaddr));
  return out.take();
}

std::optional<DataServerInfo> decode_server(base::BytesView record) {
  RecordReader in(record);
  DataServerInfo out;
  if (in.number<std::uint8_t>() != server_kind) return std::nullopt;
  out.number = pnfs::ServerNumber(in.number<std::uint32_t>());
  std::ranges::copy(in.bytes(out.id.size()), out.id.begin());
  out.generation = in.number<std::uint64_t>();
  std::ranges::copy(in.bytes(out.verifier.bytes.size()), out.verifier.bytes.begin());
  out.name = base::text_of(in.counted());
  const std::size_t addresses = in.number<std::uint8_t>();
  out.addresses.reserve(addresses);
  for (std::size_t i = 0; i < addresses; ++i) {
    std::string netid(base::text_of(in.counted()));
    out.addresses.push_back({std::move(netid), std::string(base::text_of(in.counted()))});
  }
  if (!in.ended() || out.number.value() == 0 || out.generation == 0) return std::nullopt;
  return out;
}

base::Bytes encode(const RemovalRecord& record) {
  RecordWriter out;
  if (const auto* const done = std::get_if<RemovalDone>(&record))
    return out.number(done_kind).number(done->object.value()).take();
  const RemovalIntent& intent = std::get<RemovalIntent>(record);
  out.number(intent_kind).number(intent.object.value()).counted(intent.file.view());
  out.number(static_cast<std::uint8_t>(intent.servers.size()));
  for (const pnfs::ServerNumber server : intent.servers) out.number(server.value());
  return out.take();
}

std::optional<RemovalRecord> decode_removal(base::BytesView record) {
  RecordReader in(record);
  const auto kind = in.number<std::uint8_t>();
  const pnfs::ObjectId object(in.number<std::uint64_t>());
  if (kind == intent_kind) return decode_intent(in, object);
  if (kind == done_kind && in.ended()) return RemovalDone{object};
  return std::nullopt;
}

}  // namespace braid::pnfs_mds
