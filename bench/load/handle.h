// A filehandle of any protocol version.
#pragma once

#include <array>
#include <cstddef>
#include <cstring>

#include "base/assert.h"
#include "base/bytes.h"
#include "nfs4/nfs4.x.h"

namespace braid::load {

// An owned nfs_fh3 or nfs_fh4; copies are cheap.
class Handle {
 public:
  Handle() = default;
  // At most NFS4_FHSIZE bytes: what decoding lets through.
  explicit Handle(base::BytesView bytes) : length_(bytes.size()) {
    base::check(length_ <= bytes_.size(), "a decoded handle keeps the protocol's limit");
    if (length_ > 0) std::memcpy(bytes_.data(), bytes.data(), length_);
  }
  // Refers to this object.
  [[nodiscard]] base::BytesView view() const { return base::BytesView(bytes_).first(length_); }

 private:
  std::array<std::byte, nfs4::NFS4_FHSIZE> bytes_{};
  std::size_t length_ = 0;
};

}  // namespace braid::load
