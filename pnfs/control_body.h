// The bodies of the control protocol's messages: encoded types of control.x.
#pragma once

#include "base/bytes.h"
#include "base/result.h"
#include "io/payload.h"
#include "io/slab.h"
#include "xdr/arena.h"
#include "xdr/decoder.h"
#include "xdr/encoder.h"

namespace braid::pnfs {

// ENOBUFS: the slab pool has no memory.
template <class T>
base::Result<base::Bytes> encode_body(const T& value, io::SlabCursor& memory) {
  xdr::Encoder out(memory);
  encode(out, value);
  if (!out.ok()) return base::fail(ENOBUFS);
  const xdr::Message message = out.finish();
  const auto bytes = message.bytes.in_memory();
  if (!bytes) return base::fail(EINVAL);
  return bytes->bytes();
}

// False unless all of it is one T. What is decoded refers to the body and to the arena.
template <class T>
bool decode_body(const io::Payload& body, xdr::Arena& arena, T& out) {
  xdr::Decoder in(body, arena);
  return decode(in, out) && in.remaining() == 0;
}

}  // namespace braid::pnfs
