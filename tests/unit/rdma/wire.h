// Transport headers for tests, as words.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <vector>

#include "rdma/chunks.h"
#include "rdma/header.h"
#include "tests/unit/rpc/bytes.h"

namespace braid::rdma::test {

using rpc::test::append;
using rpc::test::bytes_of;
using rpc::test::payload_of;
using rpc::test::words;

// A header, or what follows the fixed part of one, from its parts. Lists are ended by the caller's order of
// calls: reads, writes, reply.
class Wire {
 public:
  Wire(std::uint32_t xid, std::uint32_t credits, std::uint32_t proc, std::uint32_t version = 1)
      : bytes_(words({xid, version, credits, proc})) {}
  Wire& read(std::uint32_t position, const Segment& segment) {
    append(bytes_, words({1, position}));
    return put(segment);
  }
  Wire& write(std::initializer_list<Segment> segments) { return write(std::span(segments)); }
  Wire& write(std::span<const Segment> segments) {
    end_reads();
    append(bytes_, words({1, static_cast<std::uint32_t>(segments.size())}));
    for (const Segment& segment : segments) put(segment);
    return *this;
  }
  Wire& reply(std::initializer_list<Segment> segments) {
    end_writes();
    append(bytes_, words({1, static_cast<std::uint32_t>(segments.size())}));
    for (const Segment& segment : segments) put(segment);
    ended_ = 3;
    return *this;
  }
  // All lists ended, and what follows them.
  [[nodiscard]] base::Bytes with(base::BytesView body = {}) {
    end_writes();
    if (ended_ < 3) append(bytes_, words({0}));
    ended_ = 3;
    append(bytes_, body);
    return bytes_;
  }

 private:
  void end_reads() {
    if (ended_ < 1) append(bytes_, words({0}));
    ended_ = std::max(ended_, 1);
  }
  void end_writes() {
    end_reads();
    if (ended_ < 2) append(bytes_, words({0}));
    ended_ = std::max(ended_, 2);
  }
  Wire& put(const Segment& segment) {
    append(bytes_,
           words({segment.key.value(), segment.bytes, static_cast<std::uint32_t>(segment.address >> 32),
                  static_cast<std::uint32_t>(segment.address)}));
    return *this;
  }

  base::Bytes bytes_;
  int ended_ = 0;  // lists
};

inline Segment segment(std::uint32_t key, std::uint32_t bytes, std::uint64_t address) {
  return {RemoteKey(key), bytes, address};
}

}  // namespace braid::rdma::test
