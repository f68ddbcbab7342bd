// Tells systemd how the service is (sd_notify(3)); does nothing without a NOTIFY_SOCKET.
#pragma once

#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/unique_fd.h"

namespace braid::server::run {

class Notifier {
 public:
  // `socket` is the value of $NOTIFY_SOCKET: a path, or '@' and an abstract name; empty: nobody is told.
  explicit Notifier(std::string socket);
  void ready(std::string_view status) const;
  void reloading(base::TimePoint now) const;
  void stopping() const;

 private:
  void send(std::string_view message) const;
  std::string address_;
  base::UniqueFd socket_;
};

}  // namespace braid::server::run
