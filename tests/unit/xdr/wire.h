// Bytes in and out of slabs, for tests of the codec.
#pragma once

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "io/payload.h"
#include "xdr/arena.h"
#include "xdr/decoder.h"
#include "xdr/encoder.h"

namespace braid::xdr_tests {

// "00000001 ff" as bytes; anything but hexadecimal digits is skipped.
inline base::Bytes hex(std::string_view text) {
  base::Bytes out;
  int digits = 0;
  unsigned value = 0;
  for (const char c : text) {
    const bool decimal = c >= '0' && c <= '9';
    if (!decimal && (c < 'a' || c > 'f')) continue;
    value = value * 16 + static_cast<unsigned>(decimal ? c - '0' : c - 'a' + 10);
    if (++digits % 2 == 0) out.push_back(static_cast<std::byte>(value & 0xff));
  }
  return out;
}

inline std::string hex_of(base::BytesView bytes) {
  std::string out;
  for (const std::byte b : bytes) {
    out += "0123456789abcdef"[std::to_integer<unsigned>(b) >> 4];
    out += "0123456789abcdef"[std::to_integer<unsigned>(b) & 15];
  }
  return out;
}

inline base::Bytes bytes_in(const io::Payload& payload) {
  base::Bytes out(payload.size());
  payload.in_memory().value().copy_to(0, out);
  return out;
}

// Slabs to put test messages in.
class Memory {
 public:
  // The bytes, cut at the given ascending positions into ranges that do not touch.
  io::Payload payload(base::BytesView bytes, std::span<const std::size_t> cuts) {
    io::Payload out;
    std::size_t from = 0;
    for (const std::size_t cut : cuts) {
      append(out, bytes.subspan(from, cut - from));
      from = cut;
    }
    append(out, bytes.subspan(from));
    return out;
  }
  io::Payload payload(base::BytesView bytes, std::initializer_list<std::size_t> cuts = {}) {
    return payload(bytes, std::span(cuts.begin(), cuts.size()));
  }

  // What `write(encoder)` writes.
  template <class F>
  base::Bytes encoded(F write) {
    xdr::Encoder out(cursor_);
    write(out);
    return bytes_in(out.finish().bytes);
  }

  io::SlabCursor& cursor() { return cursor_; }

 private:
  void append(io::Payload& out, base::BytesView bytes) {
    while (!bytes.empty()) {
      const std::size_t here = std::min<std::size_t>(bytes.size(), io::small_slab_bytes / 2);
      auto range = cursor_.carve(here).value();
      std::memcpy(range.writable().data(), bytes.data(), here);
      out.append(std::move(range));
      (void)cursor_.carve(4);  // a gap, so that the next range is not merged with this one
      bytes = bytes.subspan(here);
    }
  }

  io::SlabPool pool_{{}};
  io::SlabCursor cursor_{pool_};
};

}  // namespace braid::xdr_tests
