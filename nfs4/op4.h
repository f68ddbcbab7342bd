// What an operation returns: the body of its result, or a status.
//
//   Op4<GETFH4resok> getfh(Compound& compound);
//   Op4<READ4resok> read(Compound& compound, const READ4args& args);
//   Op4<> putfh(Compound& compound, const PUTFH4args& args);               // a status and nothing else
//   Op4<LOCK4resok, LOCK4denied> lock(Compound& compound, const LOCK4args& args);
//
//   co_return READ4resok{...};                                   // NFS4_OK
//   co_return base::fail(nfsstat4::NFS4ERR_INVAL);               // Op4<Ok>
//   const Place* at = co_await compound.current();               // ends an Op4<Ok> with that status
//   co_return refuse(vfs_error);                                 // Op4<Ok>
//   co_return refuse_without<LOCK4denied>(status);               // Op4<Ok, Fail>, a status and no body
//   co_return refuse(nfsstat4::NFS4ERR_DENIED, LOCK4denied{...});
#pragma once

#include <optional>
#include <type_traits>
#include <utility>

#include "base/result.h"
#include "io/op.h"
#include "nfs4/nfs4.x.h"
#include "nfs4/status.h"

namespace braid::nfs4 {

template <class T>
using Result4 = base::Result<T, nfsstat4>;

// A failing arm with a body: with NFS4ERR_DENIED (LOCK), NFS4ERR_CLID_INUSE (SETCLIENTID) ... None: the
// status is all there is.
template <class Fail>
struct Failed {
  nfsstat4 status = nfsstat4::NFS4ERR_SERVERFAULT;
  std::optional<Fail> body;
};

namespace detail {
template <class Ok, class Fail>
struct Op4Of {
  using type = io::Op<Ok, Failed<Fail>>;
};
template <class Ok>
struct Op4Of<Ok, void> {
  using type = io::Op<Ok, nfsstat4>;
};
}  // namespace detail

template <class Ok = void, class Fail = void>
using Op4 = typename detail::Op4Of<Ok, Fail>::type;

inline base::Failure<nfsstat4> refuse(nfsstat4 status) { return base::Failure<nfsstat4>{status}; }
inline base::Failure<nfsstat4> refuse(vfs::Error error) { return refuse(status_of(error)); }
template <class Fail>
base::Failure<Failed<Fail>> refuse(nfsstat4 status, Fail body) {
  return base::Failure<Failed<Fail>>{Failed<Fail>{status, std::move(body)}};
}
template <class Fail>
base::Failure<Failed<Fail>> refuse_without(nfsstat4 status) {
  return base::Failure<Failed<Fail>>{Failed<Fail>{status, std::nullopt}};
}

}  // namespace braid::nfs4
