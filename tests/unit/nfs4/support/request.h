// A COMPOUND to be sent, and its reply to be looked at, operation by operation.
//
//   Request request(2);
//   request.add(OP_PUTROOTFH).add(OP_LOOKUP, LOOKUP4args{"file"}).add(OP_GETFH);
//   Reply reply = world.send(request);
//   EXPECT_EQ(reply.status(), NFS4_OK);
//   EXPECT_EQ(reply.status_of(OP_PUTROOTFH), NFS4_OK);
//   EXPECT_EQ(reply.status_of(OP_LOOKUP), NFS4_OK);
//   const auto got = reply.result<GETFH4res>(OP_GETFH);
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "io/payload.h"
#include "io/slab.h"
#include "nfs4/nfs4.x.h"
#include "rpc/program.h"
#include "xdr/arena.h"
#include "xdr/decoder.h"
#include "xdr/encoder.h"

namespace braid::nfs4 {

// For test failures.
inline void PrintTo(nfsstat4 status, std::ostream* out) { *out << name_of(status); }

namespace test {

// Memory for encoded requests; every test has enough of it.
io::SlabPool& test_slabs();

class Request {
 public:
  explicit Request(std::uint32_t minor_version) : minor_version_(minor_version) {}

  Request& tag(std::string_view text) {
    tag_ = text;
    return *this;
  }
  Request& add(nfs_opnum4 number) { return add_raw(static_cast<std::uint32_t>(number), {}); }
  template <class Args>
  Request& add(nfs_opnum4 number, const Args& args) {
    io::SlabCursor cursor(test_slabs());
    xdr::Encoder out(cursor);
    encode(out, args);
    return add_message(static_cast<std::uint32_t>(number), out.finish());
  }
  // Any number, and bytes that need not be its arguments.
  Request& add_raw(std::uint32_t number, base::BytesView args);
  Request& add_raw(nfs_opnum4 number, base::BytesView args) {
    return add_raw(static_cast<std::uint32_t>(number), args);
  }
  // What the array's length says, in place of what there is.
  Request& claim_count(std::uint32_t count) {
    claimed_ = count;
    return *this;
  }
  Request& cut_last(std::size_t bytes);

  [[nodiscard]] std::uint32_t minor_version() const { return minor_version_; }
  [[nodiscard]] io::Payload encoded() const;

 private:
  Request& add_message(std::uint32_t number, const xdr::Message& args);

  std::uint32_t minor_version_;
  std::string tag_;
  std::uint32_t count_ = 0;
  std::optional<std::uint32_t> claimed_;
  std::size_t cut_ = 0;
  io::Payload operations_;
};

class Reply {
 public:
  Reply() = default;
  Reply(rpc::Answer answer, io::Payload bytes, bool worth_keeping);

  [[nodiscard]] rpc::Answer answer() const { return answer_; }
  [[nodiscard]] const io::Payload& bytes() const { return *bytes_; }
  [[nodiscard]] bool worth_keeping() const { return worth_keeping_; }
  [[nodiscard]] nfsstat4 status() const { return head_.status; }
  [[nodiscard]] std::string_view tag() const { return head_.tag; }
  [[nodiscard]] std::uint32_t count() const { return head_.resarray_count; }

  // The next result, which must be of this operation. Views in it live as long as the reply.
  template <class Res>
  Res result(nfs_opnum4 number) {
    Res res;
    std::uint32_t got = 0;
    EXPECT_TRUE(in_->u32(got));
    EXPECT_EQ(got, static_cast<std::uint32_t>(number));
    EXPECT_TRUE(decode(*in_, res)) << "the result of operation " << got;
    return res;
  }
  // The status of an operation whose result has nothing else, or that failed.
  nfsstat4 status_of(nfs_opnum4 number);
  // True when every byte was looked at.
  [[nodiscard]] bool at_end() const { return in_->remaining() == 0; }

 private:
  rpc::Answer answer_ = rpc::Answer::system_err;
  std::unique_ptr<io::Payload> bytes_ = std::make_unique<io::Payload>();  // the decoder refers to it
  bool worth_keeping_ = true;
  std::unique_ptr<xdr::Arena> arena_;
  std::unique_ptr<xdr::Decoder> in_;
  COMPOUND4res head_;
};

// What GETATTR of the size alone has found.
std::uint64_t size_in(const GETATTR4res& result);

}  // namespace test
}  // namespace braid::nfs4
