// Programs, versions and procedures as tables: what a protocol folder hands to the RPC server.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "io/op.h"
#include "rpc/call.h"

namespace braid::rpc {

// How a procedure answers (RFC 5531 accept_stat), once program, version and procedure exist.
enum class Answer : std::uint8_t {
  success,       // the results are in the encoder
  garbage_args,  // the arguments could not be decoded
  system_err,    // no memory for the reply, or similar
  auth_tooweak,  // what the call is about asks for a stronger flavour (AUTH_ERROR with AUTH_TOOWEAK)
};

// Where a procedure puts its results. The encoder belongs to the thread of the call. Best begun when all
// waiting is over: until then it holds memory. Begun again, it drops what was written.
class Reply {
 public:
  virtual ~Reply() = default;
  // Writes the accepted-reply header and returns the encoder for the results.
  virtual xdr::Encoder& begin() = 0;
  // The protocol's own status (nfsstat3 ...), for metrics; 0 means OK.
  std::uint32_t status = 0;
  // False: the call changed nothing, so the duplicate-request cache need not keep its reply.
  bool worth_keeping = true;
};

class Service {
 public:
  virtual ~Service() = default;
};

using Handler = io::Op<Answer> (*)(Service& service, Call& call, Reply& reply);

enum class Replay : std::uint8_t {
  idempotent,  // may be executed again
  cached,      // a repeated call gets the first reply: the duplicate-request cache keeps it
};

// One row per procedure; the index in the table is the procedure number. A row without handler is
// PROC_UNAVAIL.
struct Procedure {
  std::string_view name;
  Handler handler = nullptr;
  Replay replay = Replay::idempotent;
  std::uint32_t reply_bytes_max = 0;  // bound of the results, bulk data included: admission counts with it
  // Where calls of one procedure differ: whether this one goes through the duplicate-request cache, if
  // `replay` says so. The decoder stands at the arguments, and has to be left there.
  bool (*keeps)(const Call& call) = nullptr;
  // For procedures whose arguments have bulk data that may stay in a pipe until it is used: leaves a decoder
  // of the first part of the arguments at the data, and says how long that is; nothing if the part is too
  // short.
  std::optional<std::uint32_t> (*bulk)(xdr::Decoder& args) = nullptr;
};

struct Version {
  std::uint32_t number = 0;
  std::span<const Procedure> procedures;
};

// The versions are consecutive enough for RFC 5531's mismatch_info: the lowest and the highest are reported.
struct Program {
  std::uint32_t number = 0;
  std::string_view name;
  std::span<const Version> versions;
  Service* service = nullptr;
};

}  // namespace braid::rpc
