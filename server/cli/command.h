// A subcommand of braid, and how it comes to the command line.
#pragma once

#include <expected>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace CLI {
class App;
}

namespace braid::server::cli {

// The program is to end now: with a text for people and an exit code (base/exit_code.h).
struct Exit {
  int code = 0;
  std::string text;
};

// What the user asks for.
class Command {
 public:
  virtual ~Command() = default;
  // Does it; returns the exit code.
  [[nodiscard]] virtual int run() const = 0;
};

// A function, and the options that it gets.
template <class Options>
class CommandOf final : public Command {
 public:
  CommandOf(Options wanted, int (*function)(const Options&))
      : options(std::move(wanted)), function_(function) {}
  [[nodiscard]] int run() const override { return function_(options); }
  const Options options;

 private:
  int (*const function_)(const Options&);
};

// What a command line asks for, or why it is wrong; nothing before it is parsed.
using Chosen = std::optional<std::expected<std::unique_ptr<Command>, Exit>>;

template <class Options>
void choose(Chosen& chosen, const Options& options, int (*function)(const Options&)) {
  chosen.emplace(std::make_unique<CommandOf<Options>>(options, function));
}

// Adds a subcommand, or some that belong together, to `app`. The one that is parsed sets `chosen`, which
// outlives the parse.
using AddCommand = void (*)(CLI::App& app, Chosen& chosen);

// All of them, in the order of `braid --help`. A new one is a file with such a function and a line here.
std::span<const AddCommand> commands();

}  // namespace braid::server::cli
