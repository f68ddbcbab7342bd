#include "server/run/notify.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>

namespace braid::server::run {

Notifier::Notifier(std::string socket) : address_(std::move(socket)) {
  if (address_.empty() || address_.size() >= sizeof(sockaddr_un::sun_path)) return;
  socket_ = base::UniqueFd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
}

void Notifier::ready(std::string_view status) const { send(fmt::format("READY=1\nSTATUS={}", status)); }

void Notifier::reloading(base::TimePoint now) const {
  const auto us = std::chrono::duration_cast<std::chrono::microseconds>(now.time_since_epoch()).count();
  send(fmt::format("RELOADING=1\nMONOTONIC_USEC={}", us));
}

void Notifier::stopping() const { send("STOPPING=1"); }

void Notifier::send(std::string_view message) const {
  if (!socket_) return;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  address_.copy(address.sun_path, address_.size());
  if (address_.front() == '@') address.sun_path[0] = '\0';
  const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address_.size());
  // A service manager that is not there any more is no reason to stop serving.
  (void)::sendto(socket_.get(), message.data(), message.size(), MSG_NOSIGNAL,
                 reinterpret_cast<const sockaddr*>(&address), bytes);
}

}  // namespace braid::server::run
