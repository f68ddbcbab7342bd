#include "xdr/decoder.h"

#include <algorithm>
#include <optional>

#include "xdr/padding.h"

namespace braid::xdr {

bool Decoder::next_range() {
  auto ranges = message_->ranges();
  if (next_range_ >= ranges.size() || piped_ > 0) return false;
  const io::SlabRange& range = ranges[next_range_++];
  const std::optional<base::BytesView> view = range.memory();
  if (!view) {
    at_ = end_ = nullptr;
    piped_ = range.length;
    return true;
  }
  at_ = view->data();
  end_ = at_ + view->size();
  return true;
}

bool Decoder::copy(void* to, std::size_t bytes) {
  if (bytes > left_) return fail(Error::truncated);
  auto* out = static_cast<std::byte*>(to);
  left_ -= bytes;
  while (bytes > 0) {
    const auto here = std::min(static_cast<std::size_t>(end_ - at_), bytes);
    if (here > 0) std::memcpy(out, at_, here);
    at_ += here;
    out += here;
    bytes -= here;
    if (bytes > 0 && !next_range()) return fail(Error::truncated);
  }
  return true;
}

bool Decoder::skip(std::size_t bytes) {
  if (bytes > left_) return fail(Error::truncated);
  left_ -= bytes;
  while (bytes > 0) {
    const auto here = std::min(static_cast<std::size_t>(end_ - at_), bytes);
    at_ += here;
    const auto piped = std::min(piped_, bytes - here);
    piped_ -= piped;
    bytes -= here + piped;
    if (bytes > 0 && !next_range()) return fail(Error::truncated);
  }
  return true;
}

bool Decoder::length(std::uint32_t& out, std::uint32_t limit) {
  if (!u32(out)) return false;
  if (out > limit) return fail(Error::limit);
  if (out + padding_of(out) > left_) return fail(Error::truncated);
  return true;
}

bool Decoder::opaque_fixed(base::MutableBytes out) {
  return copy(out.data(), out.size()) && skip(padding_of(out.size()));
}

bool Decoder::opaque(base::BytesView& out, std::uint32_t limit) {
  std::uint32_t bytes;
  if (!length(bytes, limit)) return false;
  if (at_ == end_ && bytes > 0 && !next_range()) return fail(Error::truncated);
  if (static_cast<std::size_t>(end_ - at_) >= bytes) {
    out = {at_, bytes};
    return skip(bytes + padding_of(bytes));
  }
  bool fits;
  auto owned = arena_->make<std::byte>(bytes, fits);
  if (!fits) return fail(Error::memory);
  out = owned;
  return copy(owned.data(), bytes) && skip(padding_of(bytes));
}

bool Decoder::text(std::string_view& out, std::uint32_t limit) {
  base::BytesView bytes;
  if (!opaque(bytes, limit)) return false;
  out = base::text_of(bytes);
  return true;
}

bool Decoder::payload(io::Payload& out, std::uint32_t limit) {
  std::uint32_t bytes;
  if (!length(bytes, limit)) return false;
  out = message_->slice(position(), bytes);
  return skip(bytes + padding_of(bytes));
}

const io::Payload* Decoder::next_apart() {
  if (apart_.empty()) return nullptr;
  const io::Payload& next = apart_.front();
  apart_ = apart_.subspan(1);
  return next.empty() ? nullptr : &next;
}

bool Decoder::length_apart(const io::Payload& item, std::uint32_t limit) {
  std::uint32_t bytes;
  if (!u32(bytes)) return false;
  if (bytes > limit) return fail(Error::limit);
  if (bytes != item.size()) return fail(Error::value);
  return true;
}

bool Decoder::ddp_payload(io::Payload& out, std::uint32_t limit) {
  const io::Payload* apart = next_apart();
  if (apart == nullptr) return payload(out, limit);
  if (!length_apart(*apart, limit)) return false;
  out = *apart;
  return true;
}

bool Decoder::ddp_text(std::string_view& out, std::uint32_t limit) {
  const io::Payload* apart = next_apart();
  if (apart == nullptr) return text(out, limit);
  if (!length_apart(*apart, limit)) return false;
  const auto bytes = apart->in_memory();
  if (!bytes) return fail(Error::truncated);
  if (apart->ranges().size() == 1) {
    out = base::text_of(*apart->ranges().front().memory());
    return true;
  }
  bool fits;
  const auto owned = arena_->make<std::byte>(apart->size(), fits);
  if (!fits) return fail(Error::memory);
  bytes->copy_to(0, owned);
  out = base::text_of(owned);
  return true;
}

bool Decoder::count(std::uint32_t& out, std::uint32_t limit, std::size_t element_bytes_min) {
  if (!u32(out)) return false;
  if (out > limit) return fail(Error::limit);
  if (out > left_ / element_bytes_min) return fail(Error::truncated);
  return true;
}

}  // namespace braid::xdr
