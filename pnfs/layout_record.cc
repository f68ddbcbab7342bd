#include "pnfs/layout_record.h"

#include <algorithm>

#include "base/assert.h"
#include "base/big_endian.h"

namespace braid::pnfs {
namespace {

// Offsets of docs/format-pnfs-layout.md.
namespace record_at {
constexpr std::size_t version = 0;
constexpr std::size_t packing = 1;
constexpr std::size_t width = 2;
constexpr std::size_t first = 3;
constexpr std::size_t unit = 4;
constexpr std::size_t object = 8;
constexpr std::size_t epoch = 16;
constexpr std::size_t reserved = 20;
constexpr std::size_t servers = LayoutRecordCodec::header_bytes;
}  // namespace record_at

std::size_t signed_bytes(std::size_t width) { return record_at::servers + 4 * width; }

// Of the record by itself, and with its file: so a copied record is told from a damaged one.
struct Signatures {
  Mac record;
  Mac with_file;
};
Signatures sign_both(const hashing::Key& key, base::BytesView record, base::BytesView file) {
  return {sign(key, {base::bytes_of("layout"), record}),
          sign(key, {base::bytes_of("layout of a file"), record, file})};
}

}  // namespace

base::Bytes LayoutRecordCodec::seal(const LayoutRecord& record, base::BytesView file) const {
  const Striping& striping = record.striping;
  base::check(striping.valid() && record.servers.size() == striping.width, "as many servers as objects");
  base::Bytes out(signed_bytes(striping.width));
  base::store_be<std::uint8_t>(out, record_at::version, version);
  base::store_be<std::uint8_t>(out, record_at::packing, striping.packing == Packing::dense ? 1 : 0);
  base::store_be<std::uint8_t>(out, record_at::width, static_cast<std::uint8_t>(striping.width));
  base::store_be<std::uint8_t>(out, record_at::first, static_cast<std::uint8_t>(striping.first));
  base::store_be<std::uint32_t>(out, record_at::unit, striping.unit);
  base::store_be<std::uint64_t>(out, record_at::object, record.object.value());
  base::store_be<std::uint32_t>(out, record_at::epoch, record.epoch.value());
  base::store_be<std::uint32_t>(out, record_at::reserved, 0);
  for (std::size_t i = 0; i < record.servers.size(); ++i)
    base::store_be<std::uint32_t>(out, record_at::servers + 4 * i, record.servers[i].value());
  const Signatures signatures = sign_both(key_, out, file);
  out.insert(out.end(), signatures.record.bytes.begin(), signatures.record.bytes.end());
  out.insert(out.end(), signatures.with_file.bytes.begin(), signatures.with_file.bytes.end());
  return out;
}

base::Result<LayoutRecord, RecordFault> LayoutRecordCodec::open(base::BytesView bytes,
                                                                base::BytesView file) const {
  if (bytes.size() < header_bytes) return base::fail(RecordFault::damaged);
  const auto number = [&](std::size_t at) { return base::load_be<std::uint8_t>(bytes, at); };
  const auto is_version = number(record_at::version);
  if (is_version > version) return base::fail(RecordFault::too_new);
  const std::size_t width = number(record_at::width);
  const std::size_t covered = signed_bytes(width);
  if (is_version != version || bytes.size() != covered + 2 * Mac::bytes_count)
    return base::fail(RecordFault::damaged);
  const Signatures signatures = sign_both(key_, bytes.first(covered), file);
  if (!equal(signatures.record, bytes.subspan(covered, Mac::bytes_count)))
    return base::fail(RecordFault::damaged);
  if (!equal(signatures.with_file, bytes.subspan(covered + Mac::bytes_count)))
    return base::fail(RecordFault::foreign);

  LayoutRecord out;
  out.object = ObjectId(base::load_be<std::uint64_t>(bytes, record_at::object));
  out.epoch = Epoch(base::load_be<std::uint32_t>(bytes, record_at::epoch));
  out.striping = {.unit = base::load_be<std::uint32_t>(bytes, record_at::unit),
                  .width = static_cast<std::uint32_t>(width),
                  .first = number(record_at::first),
                  .packing = number(record_at::packing) == 1 ? Packing::dense : Packing::sparse};
  if (!out.striping.valid() || number(record_at::packing) > 1 ||
      base::load_be<std::uint32_t>(bytes, record_at::reserved) != 0)
    return base::fail(RecordFault::damaged);
  out.servers.reserve(width);
  for (std::size_t i = 0; i < width; ++i)
    out.servers.emplace_back(base::load_be<std::uint32_t>(bytes, record_at::servers + 4 * i));
  return out;
}

}  // namespace braid::pnfs
