#include "store/gone_file.h"

#include <algorithm>
#include <array>
#include <functional>

#include "base/big_endian.h"
#include "base/xxhash64.h"

namespace braid::store {
namespace {

// Offsets of docs/format-store.md.
namespace gone_at {
constexpr std::size_t version = 8, store = 16, files = 32;
}
namespace gone_file_at {
constexpr std::size_t a = 0, b = 8, since = 16;
static_assert(since + sizeof(std::uint64_t) == GoneFile::bytes);
}  // namespace gone_file_at

constexpr std::array<char, 8> gone_magic{'B', 'r', 'a', 'i', 'd', 'G', 'o', 'n'};
constexpr std::uint32_t gone_version = 1;
constexpr std::size_t gone_checksum_bytes = 8;

}  // namespace

FileKey FileKey::of(const RegistryEntry& entry) {
  const std::uint64_t seed = std::uint64_t{entry.tree} << 16U | entry.file.type;
  return {base::xxhash64(entry.file.view(), seed), base::xxhash64(entry.file.view(), ~seed)};
}

base::Bytes encode_gone(const StoreId& store, std::span<const GoneFile> files) {
  base::Bytes out(gone_at::files + files.size() * GoneFile::bytes + gone_checksum_bytes);
  std::ranges::copy(std::as_bytes(std::span(gone_magic)), out.begin());
  base::store_be<std::uint32_t>(out, gone_at::version, gone_version);
  std::ranges::copy(store, out.begin() + gone_at::store);
  std::size_t at = gone_at::files;
  for (const GoneFile& file : files) {
    base::store_be<std::uint64_t>(out, at + gone_file_at::a, file.key.a);
    base::store_be<std::uint64_t>(out, at + gone_file_at::b, file.key.b);
    base::store_be<std::uint64_t>(out, at + gone_file_at::since, file.since);
    at += GoneFile::bytes;
  }
  base::store_be<std::uint64_t>(out, at, base::xxhash64(base::BytesView(out).first(at)));
  return out;
}

std::optional<std::vector<GoneFile>> decode_gone(const StoreId& store, base::BytesView bytes) {
  constexpr std::size_t around = gone_at::files + gone_checksum_bytes;
  if (bytes.size() < around || (bytes.size() - around) % GoneFile::bytes != 0) return std::nullopt;
  const std::size_t count = (bytes.size() - around) / GoneFile::bytes;
  if (count > GoneFile::files_max) return std::nullopt;
  std::vector<GoneFile> out(count);
  std::size_t at = gone_at::files;
  for (GoneFile& file : out) {
    file.key.a = base::load_be<std::uint64_t>(bytes, at + gone_file_at::a);
    file.key.b = base::load_be<std::uint64_t>(bytes, at + gone_file_at::b);
    file.since = base::load_be<std::uint64_t>(bytes, at + gone_file_at::since);
    at += GoneFile::bytes;
  }
  if (std::ranges::adjacent_find(out, std::ranges::greater_equal(), &GoneFile::key) != out.end())
    return std::nullopt;
  if (!base::equal(encode_gone(store, out), bytes)) return std::nullopt;
  return out;
}

}  // namespace braid::store
