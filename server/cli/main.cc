// The braid program: reads the command line and runs the command.
#include <fmt/format.h>

#include <cstdio>

#include "server/cli/command_line.h"

int main(int argc, char** argv) {
  const auto command = braid::server::cli::parse_command_line(argc, argv);
  if (!command) {
    fmt::print(command.error().code == 0 ? stdout : stderr, "{}", command.error().text);
    return command.error().code;
  }
  return (*command)->run();
}
