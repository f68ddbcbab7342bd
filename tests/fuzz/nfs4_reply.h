// What every reply to a COMPOUND must be, whatever the COMPOUND was.
#pragma once

#include <cstdint>

#include "io/payload.h"
#include "xdr/decoder.h"

namespace braid::nfs4::fuzz {

// Reads the result of this operation; false: it is none that the protocol has.
bool result_decodes(xdr::Decoder& in, std::uint32_t operation);
// The reply can be decoded to its end, and is within its bound. Ends the process otherwise.
void check_reply(const io::Payload& reply);

}  // namespace braid::nfs4::fuzz
