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
constexpr std::uint8_t answered_kind = 3;

bool read_handle(RecordReader& in, vfs::FileHandle& out) {
  const base::BytesView file = in.counted();
  if (file.size() > vfs::FileHandle::bytes_max) return false;
  std::ranges::copy(file, out.bytes.begin());
  out.size = static_cast<std::uint8_t>(file.size());
  return true;
}

std::optional<RemovalRecord> decode_intent(RecordReader& in, pnfs::ObjectId object) {
  RemovalIntent out;
  out.object = object;
  if (!read_handle(in, out.file)) return std::nullopt;
  const std::size_t servers = in.number<std::uint8_t>();
  if (servers > pnfs::Striping::width_max) return std::nullopt;
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

base::Bytes encode(const DirtyRecord& record) {
  RecordWriter out;
  if (const auto* const clean = std::get_if<CleanObject>(&record))
    return out.number(done_kind).number(clean->version).number(clean->object.value()).take();
  const DirtyObject& dirty = std::get<DirtyObject>(record);
  out.number(intent_kind).number(dirty.version).number(dirty.object.value());
  return out.counted(dirty.file.view()).take();
}

std::optional<DirtyRecord> decode_dirty(base::BytesView record) {
  RecordReader in(record);
  const auto kind = in.number<std::uint8_t>();
  const auto version = in.number<RecordVersion>();
  const pnfs::ObjectId object(in.number<std::uint64_t>());
  if (kind == done_kind && in.ended()) return CleanObject{version, object};
  DirtyObject out{.version = version, .object = object, .file = {}};
  if (kind != intent_kind || !read_handle(in, out.file) || !in.ended()) return std::nullopt;
  return out;
}

base::Bytes encode(const TruncationLogRecord& record) {
  RecordWriter out;
  if (const auto* const done = std::get_if<TruncationDone>(&record))
    return out.number(done_kind).number(done->version).number(done->object.value()).take();
  const TruncationRecord& one = std::get<TruncationRecord>(record);
  out.number(one.answered ? answered_kind : intent_kind).number(one.version).number(one.object.value());
  out.number(one.epoch.value()).number(one.number).number(one.size).counted(one.file.view());
  out.number(static_cast<std::uint8_t>(one.left.size()));
  for (const TruncationRecord::Left& left : one.left)
    out.number(static_cast<std::uint8_t>(left.index)).number(left.server.value()).number(left.end);
  return out.take();
}

std::optional<TruncationLogRecord> decode_truncation(base::BytesView record) {
  RecordReader in(record);
  const auto kind = in.number<std::uint8_t>();
  const auto version = in.number<RecordVersion>();
  const pnfs::ObjectId object(in.number<std::uint64_t>());
  if (kind == done_kind && in.ended()) return TruncationDone{version, object};
  if (kind != intent_kind && kind != answered_kind) return std::nullopt;
  TruncationRecord out;
  out.version = version;
  out.object = object;
  out.answered = kind == answered_kind;
  out.epoch = pnfs::Epoch(in.number<pnfs::Epoch::rep>());
  out.number = in.number<std::uint64_t>();
  out.size = in.number<std::uint64_t>();
  if (!read_handle(in, out.file)) return std::nullopt;
  const std::size_t left = in.number<std::uint8_t>();
  if (left > pnfs::Striping::width_max) return std::nullopt;
  out.left.reserve(left);
  for (std::size_t i = 0; i < left; ++i) {
    const auto index = in.number<std::uint8_t>();
    const pnfs::ServerNumber server(in.number<std::uint32_t>());
    out.left.push_back({index, server, in.number<std::uint64_t>()});
    if (index >= pnfs::Striping::width_max) return std::nullopt;
  }
  if (!in.ended() || out.size > pnfs::Striping::offset_max) return std::nullopt;
  return out;
}

}  // namespace braid::pnfs_mds
