#include "tests/unit/nfs4/support/request.h"

#include <utility>

namespace braid::nfs4::test {

io::SlabPool& test_slabs() {
  static io::SlabPool pool({.bytes_max = 16 * io::region_bytes, .huge_pages = false});
  return pool;
}

Request& Request::add_raw(std::uint32_t number, base::BytesView args) {
  io::SlabCursor cursor(test_slabs());
  xdr::Encoder out(cursor);
  out.opaque_fixed(args);
  return add_message(number, out.finish());
}

Request& Request::add_message(std::uint32_t number, const xdr::Message& args) {
  io::SlabCursor cursor(test_slabs());
  xdr::Encoder out(cursor);
  out.u32(number);
  out.append(args);
  operations_.append(out.finish().bytes);
  ++count_;
  return *this;
}

Request& Request::cut_last(std::size_t bytes) {
  cut_ = bytes;
  return *this;
}

io::Payload Request::encoded() const {
  io::SlabCursor cursor(test_slabs());
  xdr::Encoder out(cursor);
  encode(out, COMPOUND4args{tag_, minor_version_, claimed_.value_or(count_)});
  io::Payload whole = out.finish().bytes;
  whole.append(operations_);
  return whole.slice(0, whole.size() - cut_);
}

Reply::Reply(rpc::Answer answer, io::Payload bytes, bool worth_keeping)
    : answer_(answer),
      bytes_(std::make_unique<io::Payload>(std::move(bytes))),
      worth_keeping_(worth_keeping),
      arena_(std::make_unique<xdr::Arena>()),
      in_(std::make_unique<xdr::Decoder>(*bytes_, *arena_)) {
  if (answer_ != rpc::Answer::success) return;
  EXPECT_TRUE(decode(*in_, head_));
}

nfsstat4 Reply::status_of(nfs_opnum4 number) {
  std::uint32_t got = 0;
  nfsstat4 status{};
  EXPECT_TRUE(in_->u32(got));
  EXPECT_EQ(got, static_cast<std::uint32_t>(number));
  EXPECT_TRUE(decode(*in_, status));
  return status;
}

std::uint64_t size_in(const GETATTR4res& result) {
  xdr::Arena arena;
  xdr::Decoder in(result.resok4()->obj_attributes.attr_vals, arena);
  std::uint64_t size = 0;
  EXPECT_TRUE(in.u64(size));
  return size;
}

}  // namespace braid::nfs4::test
