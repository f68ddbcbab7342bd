#include "store/sealing/oracle.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>

#include "base/big_endian.h"
#include "hashing/chunk_params.h"

namespace braid::store {
namespace {

constexpr std::string_view mark_magic = "BraidOrc";

// The bytes of a job as one stream, of which the reader only goes forward.
class Stream {
 public:
  explicit Stream(std::span<const base::BytesView> spans) : spans_(spans) {}
  // As many bytes as there are from here on, at most as `to` has; how many these are.
  std::size_t peek(base::MutableBytes to) const {
    std::size_t done = 0, within = within_;
    for (std::size_t i = at_; i < spans_.size() && done < to.size(); ++i, within = 0) {
      const base::BytesView some = spans_[i].subspan(within);
      const std::size_t count = std::min(some.size(), to.size() - done);
      std::copy_n(some.begin(), count, to.begin() + static_cast<std::ptrdiff_t>(done));
      done += count;
    }
    return done;
  }
  void skip(std::uint64_t count) {
    while (count > 0) {
      const std::uint64_t left = spans_[at_].size() - within_;
      if (count < left) {
        within_ += count;
        return;
      }
      count -= left;
      ++at_;
      within_ = 0;
    }
  }

 private:
  const std::span<const base::BytesView> spans_;
  std::size_t at_ = 0, within_ = 0;
};

}  // namespace

std::optional<OracleMark> decode_oracle_mark(base::BytesView bytes) {
  if (bytes.size() < OracleMark::bytes || !base::text_of(bytes).starts_with(mark_magic)) return std::nullopt;
  OracleMark out{.length = base::load_be<std::uint32_t>(bytes, mark_magic.size())};
  if (out.length == 0 || out.length > hashing::chunk_bytes_max) return std::nullopt;
  const base::BytesView id = bytes.subspan(mark_magic.size() + 8, hashing::digest_bytes);
  std::ranges::copy(id, out.id.bytes.begin());
  return out;
}

base::Result<hashing::JobResult> run_as_oracle(const hashing::Job& job) {
  const auto bytes = hashing::checked_bytes(job);
  if (!bytes) return base::fail(bytes.error());
  hashing::JobResult out;
  Stream stream(job.spans);
  while (out.consumed < *bytes) {
    std::array<std::byte, OracleMark::bytes> head{};
    const auto mark = decode_oracle_mark(std::span(head).first(stream.peek(head)));
    const std::uint64_t left = *bytes - out.consumed;
    if (!mark && !job.is_end && left < head.size()) break;
    if (!mark) return base::fail(EBADMSG);
    if (mark->length > left && !job.is_end) break;
    const auto length = static_cast<std::uint32_t>(std::min<std::uint64_t>(mark->length, left));
    out.chunks.push_back(
        {.offset = job.stream_offset + out.consumed, .length = length, .flags = 0, .id = mark->id});
    out.consumed += length;
    stream.skip(length);
  }
  return out;
}

}  // namespace braid::store
