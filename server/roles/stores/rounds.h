// Rounds of a kind of work that is done one at a time, by numbers from 1 on.
#pragma once

#include <cstdint>

namespace braid::server::roles::stores {

// Not thread-safe.
class Rounds {
 public:
  // Asks for a round that begins from now on: its number. Who asks before it has begun gets the same.
  std::uint64_t ask() { return asked_ = begun_ + 1; }
  // Unless there is one to be done already.
  void ask_if_idle() {
    if (!wanted()) ask();
  }
  // The last one that somebody has asked for.
  [[nodiscard]] std::uint64_t asked() const { return asked_; }
  // One is under way, or is to begin.
  [[nodiscard]] bool wanted() const { return asked_ > ended_; }
  // One is to begin, whether or not another one is under way.
  [[nodiscard]] bool waiting() const { return asked_ > begun_; }
  [[nodiscard]] bool running() const { return begun_ > ended_; }

  // The one that was asked for; one that was under way is given up.
  void begin() { begun_ = asked_; }
  void end() { ended_ = begun_; }

  enum class Stage : std::uint8_t {
    unknown,  // nobody has asked for it
    waiting,  // for its beginning
    running,
    ended,
  };
  [[nodiscard]] Stage stage_of(std::uint64_t number) const {
    if (number == 0 || number > asked_) return Stage::unknown;
    if (number <= ended_) return Stage::ended;
    return number <= begun_ ? Stage::running : Stage::waiting;
  }

 private:
  // Each is at most the one before, and there is at most one that was asked for and has not begun.
  std::uint64_t asked_ = 0, begun_ = 0, ended_ = 0;
};

}  // namespace braid::server::roles::stores
