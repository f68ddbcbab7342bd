// Errors of steps that come after an effect.
#pragma once

#include "vfs/posix/kernel.h"

namespace braid::vfs::posix {

// Why something failed when a part of the call was done already. It is never `delay` or
// `too_many_open_files`: those mean that nothing has happened, and whoever hears them does all of it again: a
// name that was removed is then not there, one that was made exists, a RENAME that was done moves a newer
// file over its target, and bytes that left a pipe are not in it any more. Nor is it `noent` or `exist`,
// which say that nothing was done: what was made and is gone again is stale. It turns into an Error by
// itself; an Error turns into it by late() alone.
class LateError {
 public:
  explicit LateError(Error error) : error_(after_effect(error)) {}
  operator Error() const { return error_; }  // NOLINT(google-explicit-constructor)

 private:
  static Error after_effect(Error error) {
    switch (error) {
      case Error::delay:
      case Error::too_many_open_files:
      case Error::exist:
        return Error::io;
      case Error::noent:
        return Error::stale;
      default:
        return error;
    }
  }

  Error error_;
};

// The result of a step on the far side of an effect, as Outcome is of one on the near side. A function that
// returns Late can fail with nothing else; one that returns Outcome may hand a Late on.
template <class T = void>
using Late = base::Result<T, LateError>;

inline base::Failure<LateError> late(Error error) { return base::fail(LateError(error)); }

}  // namespace braid::vfs::posix
