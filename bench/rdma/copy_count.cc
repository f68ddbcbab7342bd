#include "bench/rdma/copy_count.h"

namespace braid::bench {
namespace {

// Which thread copies is a property of the thread.
thread_local CopyCount counted;
thread_local bool counting = false;

void note(std::size_t bytes) {
  if (!counting) return;
  counted.bytes += bytes;
  if (bytes >= CopyCount::bulk_min) counted.bulk_bytes += bytes;
}

}  // namespace

CopyCount& copies() { return counted; }
void count_copies(bool count) { counting = count; }

}  // namespace braid::bench

extern "C" {
void* __real_memcpy(void* to, const void* from, std::size_t bytes);   // NOLINT(bugprone-reserved-identifier)
void* __real_memmove(void* to, const void* from, std::size_t bytes);  // NOLINT(bugprone-reserved-identifier)

void* __wrap_memcpy(void* to, const void* from, std::size_t bytes);   // NOLINT(bugprone-reserved-identifier)
void* __wrap_memcpy(void* to, const void* from, std::size_t bytes) {  // NOLINT(bugprone-reserved-identifier)
  braid::bench::note(bytes);
  return __real_memcpy(to, from, bytes);
}
void* __wrap_memmove(void* to, const void* from, std::size_t bytes);   // NOLINT(bugprone-reserved-identifier)
void* __wrap_memmove(void* to, const void* from, std::size_t bytes) {  // NOLINT(bugprone-reserved-identifier)
  braid::bench::note(bytes);
  return __real_memmove(to, from, bytes);
}
}
