#include "store/content/file_note.h"

#include "base/big_endian.h"
#include "base/xxhash64.h"

namespace braid::store {
namespace {

// Offsets of docs/format-store.md.
constexpr std::size_t after_at = 0, until_at = 8, change_at = 16, mapped_at = 24, mtime_at = 32,
                      ctime_at = 44, check_at = 56, note_bytes = 64;

void store_time(base::MutableBytes out, std::size_t at, const vfs::Time& time) {
  base::store_be<std::uint64_t>(out, at, static_cast<std::uint64_t>(time.seconds));
  base::store_be<std::uint32_t>(out, at + 8, time.nanoseconds);
}

vfs::Time load_time(base::BytesView bytes, std::size_t at) {
  return {static_cast<std::int64_t>(base::load_be<std::uint64_t>(bytes, at)),
          base::load_be<std::uint32_t>(bytes, at + 8)};
}

}  // namespace

base::Bytes encode(const FileNote& note) {
  base::Bytes out(note_bytes);
  base::store_be<std::uint64_t>(out, after_at, note.hidden.after);
  base::store_be<std::uint64_t>(out, until_at, note.hidden.until);
  base::store_be<std::uint64_t>(out, change_at, note.hidden.change);
  base::store_be<std::uint64_t>(out, mapped_at, note.mapped);
  store_time(out, mtime_at, note.hidden.mtime);
  store_time(out, ctime_at, note.hidden.ctime);
  base::store_be<std::uint64_t>(out, check_at, base::xxhash64(base::BytesView(out).first(check_at)));
  return out;
}

std::optional<FileNote> decode_note(base::BytesView bytes) {
  if (bytes.size() != note_bytes ||
      base::load_be<std::uint64_t>(bytes, check_at) != base::xxhash64(bytes.first(check_at)))
    return std::nullopt;
  return FileNote{.hidden = {.after = base::load_be<std::uint64_t>(bytes, after_at),
                             .until = base::load_be<std::uint64_t>(bytes, until_at),
                             .mtime = load_time(bytes, mtime_at),
                             .ctime = load_time(bytes, ctime_at),
                             .change = base::load_be<std::uint64_t>(bytes, change_at)},
                  .mapped = base::load_be<std::uint64_t>(bytes, mapped_at)};
}

}  // namespace braid::store
