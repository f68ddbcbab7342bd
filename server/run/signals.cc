#include "server/run/signals.h"

#include <pthread.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>

#include "base/assert.h"

namespace braid::server::run {

Signals::Signals(std::initializer_list<int> signals) {
  sigset_t set;
  ::sigemptyset(&set);
  for (int signal : signals) ::sigaddset(&set, signal);
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  fd_ = base::UniqueFd(::signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC));
  base::check(static_cast<bool>(fd_), "signalfd");
}

io::Op<int> Signals::next(io::Reactor& reactor) {
  for (;;) {
    signalfd_siginfo info{};
    if (::read(fd_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info))
      co_return static_cast<int>(info.ssi_signo);
    co_await co_await reactor.readable(fd_.get());
  }
}

}  // namespace braid::server::run
