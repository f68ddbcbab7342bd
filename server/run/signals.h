// Signals as events of a reactor.
#pragma once

#include <initializer_list>

#include "base/result.h"
#include "base/unique_fd.h"
#include "io/op.h"
#include "io/reactor.h"

namespace braid::server::run {

// Blocks the signals for the calling thread and those that it starts later: to be made before there are
// threads.
class Signals {
 public:
  Signals(std::initializer_list<int> signals);
  // The next signal; ECANCELED after cancel().
  io::Op<int> next(io::Reactor& reactor);
  void cancel(io::Reactor& reactor) { reactor.cancel_fd(fd_.get()); }

 private:
  base::UniqueFd fd_;
};

}  // namespace braid::server::run
