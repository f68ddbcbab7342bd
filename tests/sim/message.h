// COMPOUNDs as model clients send them, and replies as they read them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "io/payload.h"
#include "io/slab.h"
#include "nfs4/nfs4.x.h"
#include "xdr/arena.h"
#include "xdr/decoder.h"
#include "xdr/encoder.h"

namespace braid::sim {

using namespace nfs4;  // NOLINT(google-build-using-namespace): the names of the RFCs

// Memory for messages being made.
io::SlabPool& message_slabs();
base::Bytes bytes_of(const io::Payload& payload);
io::Payload payload_of(base::BytesView bytes);

// The operations of a COMPOUND, encoded one by one.
class Request {
 public:
  Request& add(nfs_opnum4 op) {
    number(op);
    return *this;
  }
  template <class Args>
  Request& add(nfs_opnum4 op, const Args& args) {
    number(op);
    io::SlabCursor cursor(message_slabs());
    xdr::Encoder out(cursor);
    encode(out, args);
    append_bytes(out.finish().bytes);
    return *this;
  }
  Request& append(const Request& more) {
    operations_.insert(operations_.end(), more.operations_.begin(), more.operations_.end());
    count_ += more.count_;
    return *this;
  }
  // The RPC call with AUTH_SYS of user 0.
  [[nodiscard]] base::Bytes call(std::uint32_t xid, std::uint32_t minor_version) const;

 private:
  void number(nfs_opnum4 op);
  void append_bytes(const io::Payload& bytes);

  base::Bytes operations_;
  std::uint32_t count_ = 0;
};

constexpr std::size_t xid_bytes = 4;
std::uint32_t xid_of(base::BytesView message);
// Whether the message is a call, not a reply.
bool is_call(base::BytesView message);

// A reply, read from the front. Views in results live as long as it.
class Response {
 public:
  explicit Response(base::BytesView message);

  // False: RPC itself failed, or the reply is none.
  [[nodiscard]] bool understood() const { return understood_; }
  // Of the COMPOUND: that of its last operation.
  [[nodiscard]] nfsstat4 status() const { return head_.status; }
  [[nodiscard]] std::uint32_t left() const { return left_; }
  // The next result's operation and status; nothing at the end. The body of an OK result, if it has one, is
  // to be read with body() before the next one.
  struct Result {
    nfs_opnum4 op;
    nfsstat4 status;
  };
  std::optional<Result> next();
  template <class Body>
  std::optional<Body> body() {
    Body out;
    if (!decode(*in_, out)) return std::nullopt;
    return out;
  }
  // Skips the OK results of operations without a body.
  nfsstat4 skip(int results);

 private:
  std::unique_ptr<io::Payload> bytes_;
  std::unique_ptr<xdr::Arena> arena_;
  std::unique_ptr<xdr::Decoder> in_;
  COMPOUND4res head_;
  std::uint32_t left_ = 0;
  bool understood_ = false;
};

// The layouts that a client is asked to return.
struct LayoutRecall {
  layoutreturn_type4 what = layoutreturn_type4::LAYOUTRETURN4_ALL;
  std::string handle{};  // of the file, if it is one
  stateid4 id{};         // the same
};
using RecallAnswer = std::function<nfsstat4(const LayoutRecall&)>;

// What a client answers to CB_COMPOUND: OK to everything, and what it was asked to return. `layouts`: what it
// answers to CB_LAYOUTRECALL; null: OK.
struct CallbackAnswer {
  base::Bytes reply;
  std::optional<stateid4> recalled;
};
CallbackAnswer answer_callback(base::BytesView message, const RecallAnswer& layouts = {});

}  // namespace braid::sim
