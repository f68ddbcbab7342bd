// Errors are values: Result<T, E> is std::expected with the operating system's error number as the default
// error.
#pragma once

#include <cerrno>
#include <expected>
#include <string>
#include <system_error>

namespace braid::base {

// An error number of the operating system (errno.h); never 0. Each protocol layer has an enum of its own and
// one translation from the layer below.
enum class Errno : int {};

constexpr Errno errno_of(int number) { return static_cast<Errno>(number); }
constexpr int number_of(Errno error) { return static_cast<int>(error); }
// The calling thread's errno, to be taken right after the failing call.
inline Errno last_errno() { return static_cast<Errno>(errno); }
// "No space left on device", for people.
inline std::string message_of(Errno error) { return std::generic_category().message(number_of(error)); }

template <class T, class E = Errno>
using Result = std::expected<T, E>;

template <class E>
using Failure = std::unexpected<E>;

// fail(ENOENT), fail(errno_value): the unexpected half of a Result.
inline Failure<Errno> fail(int number) { return Failure<Errno>{errno_of(number)}; }
template <class E>
  requires(!std::is_same_v<E, int>)
Failure<E> fail(E error) {  // NOLINT(performance-unnecessary-value-param): literals decay
  return Failure<E>{error};
}

// The result of a system call that returns -1 and sets errno.
template <class T>
Result<T> checked_call(T returned) {
  if (returned < 0) return Failure<Errno>{last_errno()};
  return returned;
}

}  // namespace braid::base
