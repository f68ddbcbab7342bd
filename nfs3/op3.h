// What an NFSv3 procedure returns: the OK arm of its result, or a status with the body of the failing arm.
//
//   Op3<READ3resok, READ3resfail> read(Request& request, const READ3args& args);
//
//   co_return READ3resok{...};                       // NFS3_OK
//   co_return refuse(error, READ3resfail{...});      // any other status
#pragma once

#include <utility>

#include "base/result.h"
#include "io/op.h"
#include "nfs3/nfs3.x.h"
#include "nfs3/status.h"
#include "vfs/types.h"

namespace braid::nfs3 {

// A failing arm that RFC 1813 leaves void.
struct Nothing {};

template <class Fail>
struct Failed {
  nfsstat3 status = nfsstat3::NFS3ERR_SERVERFAULT;
  Fail body{};
};

template <class Ok, class Fail = Nothing>
using Op3 = io::Op<Ok, Failed<Fail>>;

template <class Fail = Nothing>
base::Failure<Failed<Fail>> refuse(nfsstat3 status, Fail body = {}) {
  return base::Failure<Failed<Fail>>{Failed<Fail>{status, std::move(body)}};
}
template <class Fail = Nothing>
base::Failure<Failed<Fail>> refuse(vfs::Error error, Fail body = {}) {
  return refuse(status_of(error), std::move(body));
}

}  // namespace braid::nfs3
