// Counts the bytes that this thread copies. The linker sends every call of memcpy and memmove in the program
// here (--wrap), in the project's libraries and in what the headers of the standard library make of copies;
// what the compiler writes out for copies of a few words is not seen, nor are copies inside shared libraries.
#pragma once

#include <cstddef>
#include <cstdint>

namespace braid::bench {

struct CopyCount {
  std::uint64_t bytes = 0;       // of all copies
  std::uint64_t bulk_bytes = 0;  // of copies of at least bulk_min: no message of the benchmark is as long
  static constexpr std::size_t bulk_min = 1024;
};

// Of the calling thread; to be read and set.
CopyCount& copies();
// Whether copies count now: those of devices and of other hosts do not.
void count_copies(bool count);

}  // namespace braid::bench
