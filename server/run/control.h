// The control thread: signals, the admin socket, metrics over HTTP, and what has to be done every second. It
// serves no NFS calls, so it answers when the others are busy.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/unique_fd.h"
#include "io/gate.h"
#include "io/reactor.h"
#include "server/admin/admin_command.h"
#include "server/admin/request_server.h"
#include "server/run/reload.h"
#include "server/run/signals.h"

namespace braid::server {
class Server;
}

namespace braid::server::run {

struct ControlOptions {
  base::UniqueFd admin_listener;
  base::UniqueFd metrics_listener;        // none: no metrics over HTTP
  std::function<ReloadOutcome()> reload;  // on SIGHUP, and when the admin socket is asked
};

// run() once, on the thread that made it.
class Control {
 public:
  Control(io::Reactor& reactor, Server& server, Signals& signals, ControlOptions options);
  // Until SIGTERM or SIGINT, or until a role says that it cannot go on (Role::failure()). Returns the last
  // signal; 0: none.
  int run();

 private:
  admin::Dialogue admin_dialogue();
  admin::Dialogue metrics_dialogue();
  io::Op<> attend();
  io::Op<> sweep();
  io::Op<> let_go();

  io::Reactor& reactor_;
  Server& server_;
  Signals& signals_;
  const std::function<ReloadOutcome()> reload_;
  const std::vector<admin::AdminCommand> commands_;
  admin::RequestServer admin_;
  std::optional<admin::RequestServer> metrics_;
  io::Timer sweep_timer_;
  io::Gate gate_;
  int last_signal_ = 0;
  bool letting_go_ = false;  // files of exports that are not served any more
};

}  // namespace braid::server::run
