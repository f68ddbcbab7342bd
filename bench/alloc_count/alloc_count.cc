// A library to preload into any server (LD_PRELOAD): counts calls of malloc and its kin in a file that others
// may map. It forwards to the names under which glibc exports its own allocator, so it needs no dlsym, which
// allocates itself.
#include "bench/alloc_count/alloc_count.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

extern "C" {
void* __libc_malloc(std::size_t bytes);                           // NOLINT(bugprone-reserved-identifier)
void* __libc_calloc(std::size_t count, std::size_t bytes);        // NOLINT(bugprone-reserved-identifier)
void* __libc_realloc(void* old, std::size_t bytes);               // NOLINT(bugprone-reserved-identifier)
void* __libc_memalign(std::size_t alignment, std::size_t bytes);  // NOLINT(bugprone-reserved-identifier)
}

namespace {

using braid::alloc_count::Counters;

std::atomic<Counters*> counters{nullptr};
std::atomic<unsigned> threads{0};

void count_one() {
  // Initial-exec: the first use of other kinds of thread-local storage in a library allocates.
  [[gnu::tls_model("initial-exec")]] static thread_local unsigned shard = 0;
  Counters* shared = counters.load(std::memory_order_relaxed);
  if (shared == nullptr) return;
  if (shard == 0) shard = 1 + threads.fetch_add(1, std::memory_order_relaxed) % Counters::shards;
  shared->by_thread[shard - 1].allocations.fetch_add(1, std::memory_order_relaxed);
}

[[gnu::constructor]] void map_counters() {
  const char* path = std::getenv(braid::alloc_count::environment_name);
  if (path == nullptr) return;
  const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (fd < 0) return;
  if (ftruncate(fd, sizeof(Counters)) == 0) {
    void* memory = mmap(nullptr, sizeof(Counters), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory != MAP_FAILED) counters.store(static_cast<Counters*>(memory), std::memory_order_relaxed);
  }
  close(fd);
}

}  // namespace

extern "C" {

void* malloc(std::size_t bytes) {
  count_one();
  return __libc_malloc(bytes);
}

void* calloc(std::size_t count, std::size_t bytes) {
  count_one();
  return __libc_calloc(count, bytes);
}

void* realloc(void* old, std::size_t bytes) {
  count_one();
  return __libc_realloc(old, bytes);
}

void* memalign(std::size_t alignment, std::size_t bytes) {
  count_one();
  return __libc_memalign(alignment, bytes);
}

void* aligned_alloc(std::size_t alignment, std::size_t bytes) { return memalign(alignment, bytes); }

int posix_memalign(void** out, std::size_t alignment, std::size_t bytes) {
  if (alignment % sizeof(void*) != 0 || (alignment & (alignment - 1)) != 0) return EINVAL;
  void* memory = memalign(alignment, bytes);
  if (memory == nullptr) return ENOMEM;
  *out = memory;
  return 0;
}
}
