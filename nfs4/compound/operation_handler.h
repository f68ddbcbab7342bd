// Makes a row of the operation table out of an operation:
//
//   Op4<READ4resok> read(Compound& compound, const READ4args& args);
//   constexpr Operation reading = row<read>(nfs_opnum4::OP_READ, "READ", all_minors, {.needs_current = true},
//   0,
//                                           "RFC 8881 18.22");
//
// An OK body of a type of its own (a READDIR reply, whose entries are encoded already) has
// `encode(xdr::Encoder&, const T&)` and `encoded_size(const T&)` beside it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "nfs4/compound/compound.h"
#include "nfs4/compound/operation_table.h"
#include "nfs4/op4.h"

namespace braid::nfs4 {

// Where the running operation's result goes. Nothing has been written while put() was not called, or refused.
class ResultSink {
 public:
  // Bytes that the body of the result may take; NFS4_OK if `body_bytes` fit, else NFS4ERR_REP_TOO_BIG,
  // REP_TOO_BIG_TO_CACHE or (4.0) RESOURCE.
  virtual nfsstat4 admit(std::size_t body_bytes) const = 0;
  // Writes number and status; the body goes into what is returned.
  virtual xdr::Encoder& begin(nfsstat4 status) = 0;

  template <class Body>
  nfsstat4 put(nfsstat4 status, const Body& body) {
    if (const nfsstat4 admitted = admit(encoded_size(body)); admitted != nfsstat4::NFS4_OK) return admitted;
    encode(begin(status), body);
    return status;
  }

 protected:
  ~ResultSink() = default;
};

namespace detail {

template <class Operation>
struct Signature;
template <class Op>
struct Signature<Op (*)(Compound&)> {
  using Result = Op;
  struct Args {};
  static constexpr bool has_args = false;
};
template <class Op, class Arguments>
struct Signature<Op (*)(Compound&, const Arguments&)> {
  using Result = Op;
  using Args = Arguments;
  static constexpr bool has_args = true;
};

inline nfsstat4 put_failure(ResultSink& /*out*/, nfsstat4 status) { return status; }
template <class Fail>
nfsstat4 put_failure(ResultSink& out, const Failed<Fail>& failed) {
  return failed.body ? out.put(failed.status, *failed.body) : failed.status;
}

}  // namespace detail

template <auto operation>
io::Op<nfsstat4> handler_of(Compound& compound, ResultSink& out) {
  using Signature = detail::Signature<decltype(operation)>;
  using Ok = typename Signature::Result::value_type;
  [[maybe_unused]] typename Signature::Args args;
  if constexpr (Signature::has_args) {
    if (!decode(compound.call().args, args)) co_return status_of(compound.call().args.error());
  }
  auto run = [&] {
    if constexpr (Signature::has_args)
      return operation(compound, args);
    else
      return operation(compound);
  };
  auto result = co_await run().as_result();
  if (!result) co_return detail::put_failure(out, result.error());
  if constexpr (std::is_void_v<Ok>)
    co_return nfsstat4::NFS4_OK;
  else
    co_return out.put(nfsstat4::NFS4_OK, *result);
}

// The row of an operation.
template <auto operation>
consteval Operation row(nfs_opnum4 number, std::string_view name, Minors minors, OperationFlags flags,
                        std::uint32_t result_bytes_max, std::string_view section) {
  return {number, name, minors, handler_of<operation>, flags, result_bytes_max, section};
}

// The row of an operation that exists and is not executed here: NFS4ERR_NOTSUPP.
consteval Operation unsupported(nfs_opnum4 number, std::string_view name, Minors minors, OperationFlags flags,
                                std::string_view section) {
  return {number, name, minors, nullptr, flags, 0, section};
}

}  // namespace braid::nfs4
