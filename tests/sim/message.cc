#include "tests/sim/message.h"

#include <cstring>
#include <utility>

#include "base/assert.h"
#include "rpc/rpc_msg.x.h"

namespace braid::sim {
namespace {

std::uint32_t word_at(base::BytesView message, std::size_t index) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i)
    value = value << 8 | std::to_integer<std::uint32_t>(message[4 * index + i]);
  return value;
}

constexpr std::uint32_t rpc_call = 0;
constexpr std::uint32_t rpc_reply = 1;
constexpr std::uint32_t auth_sys = 1;
// stamp, an empty machine name, uid, gid, no groups
constexpr std::uint32_t credential_bytes = 20;

void put_reply_header(xdr::Encoder& out, std::uint32_t xid) {
  // Accepted, an empty verifier, success.
  for (const std::uint32_t word : {xid, rpc_reply, 0U, 0U, 0U, 0U}) out.u32(word);
}

nfsstat4 answer_recall(xdr::Decoder& in, const RecallAnswer& layouts) {
  CB_LAYOUTRECALL4args args;
  base::check(decode(in, args), "CB_LAYOUTRECALL is proper");
  LayoutRecall recall{.what = args.clora_recall.lor_recalltype};
  if (const auto* const file = args.clora_recall.lor_layout()) {
    recall.handle = std::string(base::text_of(file->lor_fh));
    recall.id = file->lor_stateid;
  }
  return layouts ? layouts(recall) : nfsstat4::NFS4_OK;
}

}  // namespace

io::SlabPool& message_slabs() {
  static io::SlabPool pool({.bytes_max = 16 * io::region_bytes, .huge_pages = false});
  return pool;
}

base::Bytes bytes_of(const io::Payload& payload) {
  base::Bytes out(payload.size());
  payload.in_memory().value().copy_to(0, out);
  return out;
}

io::Payload payload_of(base::BytesView bytes) {
  io::SlabCursor cursor(message_slabs());
  io::Payload out;
  while (!bytes.empty()) {
    const std::size_t here = std::min(bytes.size(), io::small_slab_bytes);
    io::SlabRange range = cursor.carve(here).value();
    std::memcpy(range.writable().data(), bytes.data(), here);
    out.append(std::move(range));
    bytes = bytes.subspan(here);
  }
  return out;
}

void Request::number(nfs_opnum4 op) {
  const auto value = static_cast<std::uint32_t>(op);
  for (int shift = 24; shift >= 0; shift -= 8)
    operations_.push_back(static_cast<std::byte>(value >> shift & 0xff));
  ++count_;
}

void Request::append_bytes(const io::Payload& bytes) {
  const std::size_t before = operations_.size();
  operations_.resize(before + bytes.size());
  bytes.in_memory().value().copy_to(0, base::MutableBytes(operations_).subspan(before));
}

base::Bytes Request::call(std::uint32_t xid, std::uint32_t minor_version) const {
  io::SlabCursor cursor(message_slabs());
  xdr::Encoder out(cursor);
  constexpr std::uint32_t compound = 1;
  for (const std::uint32_t word : {xid, rpc_call, 2U, NFS4_PROGRAM, NFS_V4, compound, auth_sys,
                                   credential_bytes, 0U, 0U, 0U, 0U, 0U, 0U, 0U})
    out.u32(word);
  encode(out, COMPOUND4args{"", minor_version, count_});
  out.opaque_fixed(operations_);
  return bytes_of(out.finish().bytes);
}

std::uint32_t xid_of(base::BytesView message) { return word_at(message, 0); }

bool is_call(base::BytesView message) { return word_at(message, 1) == rpc_call; }

Response::Response(base::BytesView message)
    : bytes_(std::make_unique<io::Payload>(payload_of(message))),
      arena_(std::make_unique<xdr::Arena>()),
      in_(std::make_unique<xdr::Decoder>(*bytes_, *arena_)) {
  constexpr std::size_t header_words = 6;
  if (message.size() < 4 * header_words) return;
  // MSG_ACCEPTED and SUCCESS.
  if (word_at(message, 2) != 0 || word_at(message, 5) != 0) return;
  for (std::size_t i = 0; i < header_words; ++i) {
    std::uint32_t ignored = 0;
    (void)in_->u32(ignored);
  }
  understood_ = decode(*in_, head_);
  left_ = head_.resarray_count;
}

std::optional<Response::Result> Response::next() {
  if (left_ == 0) return std::nullopt;
  --left_;
  std::uint32_t op = 0;
  Result out{};
  if (!in_->u32(op) || !decode(*in_, out.status)) return std::nullopt;
  out.op = static_cast<nfs_opnum4>(op);
  return out;
}

nfsstat4 Response::skip(int results) {
  for (int i = 0; i < results; ++i) {
    const auto result = next();
    if (!result) return status();
    if (result->status != nfsstat4::NFS4_OK) return result->status;
  }
  return nfsstat4::NFS4_OK;
}

CallbackAnswer answer_callback(base::BytesView message, const RecallAnswer& layouts) {
  const io::Payload bytes = payload_of(message);
  xdr::Arena arena;
  xdr::Decoder in(bytes, arena);
  constexpr int words_before_credential = 6;
  for (int i = 0; i < words_before_credential; ++i) {
    std::uint32_t ignored = 0;
    (void)in.u32(ignored);
  }
  rpc::opaque_auth credential;
  rpc::opaque_auth verifier;
  CB_COMPOUND4args head;
  const bool begun = decode(in, credential) && decode(in, verifier) && decode(in, head);
  base::check(begun, "the server sends proper callbacks");

  CallbackAnswer out;
  io::SlabCursor cursor(message_slabs());
  xdr::Encoder results(cursor);
  nfsstat4 status = nfsstat4::NFS4_OK;
  std::uint32_t done = 0;
  for (; done < head.argarray_count && status == nfsstat4::NFS4_OK; ++done) {
    std::uint32_t op = 0;
    (void)in.u32(op);
    results.u32(op);
    const auto callback = static_cast<nfs_cb_opnum4>(op);
    if (callback == nfs_cb_opnum4::OP_CB_LAYOUTRECALL) status = answer_recall(in, layouts);
    encode(results, status);
    if (callback == nfs_cb_opnum4::OP_CB_SEQUENCE) {
      CB_SEQUENCE4args args;
      base::check(decode(in, args), "CB_SEQUENCE is proper");
      encode(results, CB_SEQUENCE4resok{args.csa_sessionid, args.csa_sequenceid, args.csa_slotid,
                                        args.csa_highest_slotid, args.csa_highest_slotid});
    } else if (callback == nfs_cb_opnum4::OP_CB_RECALL) {
      CB_RECALL4args args;
      base::check(decode(in, args), "CB_RECALL is proper");
      out.recalled = args.stateid;
    }
  }
  xdr::Encoder reply(cursor);
  put_reply_header(reply, xid_of(message));
  encode(reply, CB_COMPOUND4res{status, head.tag, done});
  reply.opaque_fixed(bytes_of(results.finish().bytes));
  out.reply = bytes_of(reply.finish().bytes);
  return out;
}

}  // namespace braid::sim
