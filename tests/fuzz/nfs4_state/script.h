// The input of the target: what happens, in steps of 8 bytes.
//
// A step is a message (COMPOUND) that begins, an operation of the message that began last, or something that
// happens beside messages. What its bytes mean depends on the kind; every value means something, so that any
// change of an input is an input.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace braid::nfs4::fuzz {

constexpr std::size_t step_bytes = 8;

struct Step {
  enum class Kind : std::uint8_t { message, operation, event } kind = Kind::message;
  std::uint8_t number = 0;                      // which operation or event
  std::array<std::uint8_t, step_bytes - 1> is;  // what it is about
};

// The first byte: below `operations_from` a message, below `events_from` an operation, else an event.
constexpr std::uint8_t operations_from = 48;
constexpr std::uint8_t events_from = 240;

inline Step step_at(std::span<const std::uint8_t> input, std::size_t number) {
  const auto bytes = input.subspan(number * step_bytes, step_bytes);
  Step step;
  if (bytes[0] >= events_from) {
    step.kind = Step::Kind::event;
    step.number = bytes[0] - events_from;
  } else if (bytes[0] >= operations_from) {
    step.kind = Step::Kind::operation;
    step.number = bytes[0] - operations_from;
  }
  for (std::size_t i = 0; i < step.is.size(); ++i) step.is[i] = bytes[i + 1];
  return step;
}

// The bytes of a step, one after the other; zeros behind them.
class Bytes {
 public:
  explicit Bytes(const Step& step) : step_(step) {}
  std::uint8_t byte() { return at_ < step_.is.size() ? step_.is[at_++] : std::uint8_t{0}; }
  bool flag() { return (byte() & 1) != 0; }
  // One of them.
  template <class T, std::size_t n>
  T of(const T (&values)[n]) {
    return values[byte() % n];
  }

 private:
  const Step& step_;
  std::size_t at_ = 0;
};

}  // namespace braid::nfs4::fuzz
