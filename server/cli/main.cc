// The braid program: reads the command line and runs the command.
#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

#include "base/exit_code.h"
#include "base/result.h"
#include "server/cli/command_line.h"

namespace {

int run(int argc, char** argv) {
  const auto command = braid::server::cli::parse_command_line(argc, argv);
  if (command) return (*command)->run();
  fmt::print(command.error().code == 0 ? stdout : stderr, "{}", command.error().text);
  return command.error().code;
}

}  // namespace

int main(int argc, char** argv) {
  int code = 0;
  try {
    code = run(argc, argv);
    if (std::fflush(stdout) == 0) return code;
  } catch (const std::system_error& /*of fmt::print*/) {
  }
  // A reader that went away is no news for who sent it away.
  if (errno != EPIPE)
    fmt::print(stderr, "braid: cannot write to standard output: {}\n",
               braid::base::message_of(braid::base::last_errno()));
  return code != 0 ? code : braid::base::exit_failed;
}
