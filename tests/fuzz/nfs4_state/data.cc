#include <algorithm>
#include <cstring>

#include "tests/fuzz/nfs4_state/arguments.h"

namespace braid::nfs4::fuzz {

using enum nfs_opnum4;
using test::Request;

namespace {

io::Payload text(std::uint32_t bytes) {
  io::Payload out;
  io::SlabCursor cursor(test::test_slabs());
  while (out.size() < bytes) {
    const auto piece = std::min<std::size_t>(bytes - out.size(), 60'000);
    auto range = cursor.carve(piece);
    std::memset(range->writable().data(), 'x', piece);
    out.append(std::move(*range));
  }
  return out;
}

}  // namespace

// Data.
bool add_data(Request& request, nfs_opnum4 operation, Bytes& bytes, const Registers& from) {
  constexpr data_content4 contents[] = {data_content4::NFS4_CONTENT_HOLE, data_content4::NFS4_CONTENT_DATA};
  switch (operation) {
    case OP_READ:
      request.add(operation, READ4args{from.state(bytes), bytes.of(offsets), bytes.of(counts)});
      return true;
    case OP_READ_PLUS:
      request.add(operation, READ_PLUS4args{from.state(bytes), bytes.of(offsets), bytes.of(counts)});
      return true;
    case OP_WRITE: {
      constexpr std::uint32_t sizes[] = {0, 1, 100, 5000, 100'000};
      constexpr offset4 places[] = {0, 1, 4096, 1U << 20, ~std::uint64_t{0} - 3};
      WRITE4args args;
      args.stateid = from.state(bytes);
      args.offset = bytes.of(places);
      args.stable = static_cast<stable_how4>(bytes.byte() % 3);
      args.data = text(bytes.of(sizes));
      request.add(operation, args);
      return true;
    }
    case OP_COMMIT:
      request.add(operation, COMMIT4args{bytes.of(offsets), bytes.of(counts)});
      return true;
    case OP_SEEK:
      request.add(operation, SEEK4args{from.state(bytes), bytes.of(offsets), bytes.of(contents)});
      return true;
    case OP_IO_ADVISE: {
      static constexpr std::array<std::uint32_t, 1> hints{0xff};
      request.add(operation, IO_ADVISE4args{from.state(bytes), 0, 100, hints});
      return true;
    }
    default:
      return false;
  }
}

// What copies it, and its places.
bool add_copy(Request& request, nfs_opnum4 operation, Bytes& bytes, const Registers& from) {
  switch (operation) {
    case OP_COPY: {
      COPY4args args;
      args.ca_src_stateid = from.state(bytes);
      args.ca_dst_stateid = from.state(bytes);
      args.ca_count = bytes.of(lengths);
      args.ca_synchronous = bytes.flag();
      args.ca_consecutive = true;
      args.ca_dst_offset = bytes.of(offsets);
      request.add(operation, args);
      return true;
    }
    case OP_CLONE: {
      CLONE4args args;
      args.cl_src_stateid = from.state(bytes);
      args.cl_dst_stateid = from.state(bytes);
      args.cl_count = bytes.of(lengths);
      args.cl_dst_offset = bytes.of(offsets);
      request.add(operation, args);
      return true;
    }
    case OP_COPY_NOTIFY:
      request.add(operation, COPY_NOTIFY4args{from.state(bytes), netloc4::with_nl_name("host")});
      return true;
    case OP_OFFLOAD_STATUS:
      request.add(operation, OFFLOAD_STATUS4args{from.state(bytes)});
      return true;
    case OP_OFFLOAD_CANCEL:
      request.add(operation, OFFLOAD_CANCEL4args{from.state(bytes)});
      return true;
    case OP_ALLOCATE:  // what a file system has room for; it would be filled otherwise
      request.add(operation, ALLOCATE4args{from.state(bytes), bytes.of(offsets), lengths[bytes.byte() % 4]});
      return true;
    case OP_DEALLOCATE:
      request.add(operation, DEALLOCATE4args{from.state(bytes), bytes.of(offsets), bytes.of(lengths)});
      return true;
    default:
      return false;
  }
}

}  // namespace braid::nfs4::fuzz
