// The MOUNT protocol, as far as a client needs it to get its first handle.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "base/assert.h"
#include "base/bytes.h"
#include "bench/load/session.h"

namespace braid::load {

// An owned nfs_fh3; copies are cheap.
class Handle {
 public:
  Handle() = default;
  // At most NFS3_FHSIZE bytes: what decoding lets through.
  explicit Handle(base::BytesView bytes) : length_(bytes.size()) {
    base::check(length_ <= bytes_.size(), "a decoded handle keeps the protocol's limit");
    if (length_ > 0) std::memcpy(bytes_.data(), bytes.data(), length_);
  }
  // Refers to this object.
  [[nodiscard]] nfs3::nfs_fh3 wire() const { return {.data = base::BytesView(bytes_).first(length_)}; }

 private:
  std::array<std::byte, nfs3::NFS3_FHSIZE> bytes_{};
  std::size_t length_ = 0;
};

// `session` is connected to the server's MOUNT port.
LoadOp<Handle> mount(Session& session, std::string_view path);
LoadOp<Done> unmount(Session& session, std::string_view path);

}  // namespace braid::load
