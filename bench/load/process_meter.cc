#include "bench/load/process_meter.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

#include <fstream>
#include <sstream>
#include <utility>

#include "base/unique_fd.h"

namespace braid::load {

namespace {

base::Result<const alloc_count::Counters*> map_counters(const std::string& path) {
  base::UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return base::Failure{base::last_errno()};
  struct stat attributes{};
  if (fstat(fd.get(), &attributes) != 0) return base::Failure{base::last_errno()};
  if (attributes.st_size != sizeof(alloc_count::Counters)) return base::fail(EINVAL);
  void* memory = mmap(nullptr, sizeof(alloc_count::Counters), PROT_READ, MAP_SHARED, fd.get(), 0);
  if (memory == MAP_FAILED) return base::Failure{base::last_errno()};
  return static_cast<const alloc_count::Counters*>(memory);
}

std::uint64_t sum_of(const alloc_count::Counters& counters) {
  std::uint64_t sum = 0;
  for (const auto& shard : counters.by_thread) sum += shard.allocations.load(std::memory_order_relaxed);
  return sum;
}

// proc(5): utime and stime are fields 14 and 15; the command in field 2 may hold spaces and parentheses.
bool read_ticks(pid_t pid, ProcessReading& reading) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string line;
  if (!std::getline(file, line)) return false;
  const std::size_t command_end = line.rfind(')');
  if (command_end == std::string::npos) return false;
  std::istringstream fields(line.substr(command_end + 1));
  std::string skipped;
  for (int field = 3; field < 14; ++field) fields >> skipped;
  return static_cast<bool>(fields >> reading.user_ticks >> reading.system_ticks);
}

bool read_memory(pid_t pid, ProcessReading& reading) {
  std::ifstream file(fmt::format("/proc/{}/status", pid));
  std::string name;
  std::uint64_t value = 0;
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    if (!(fields >> name >> value)) continue;
    if (name == "VmRSS:") reading.rss_bytes = value * 1024;
    if (name == "VmHWM:") reading.rss_bytes_max = value * 1024;
  }
  return reading.rss_bytes != 0;
}

}  // namespace

base::Result<ProcessMeter> ProcessMeter::open(pid_t pid, const std::string& alloc_count_file) {
  clockid_t clock{};
  if (const int error = clock_getcpuclockid(pid, &clock); error != 0) return base::fail(error);
  const alloc_count::Counters* counters = nullptr;
  if (!alloc_count_file.empty()) {
    auto mapped = map_counters(alloc_count_file);
    if (!mapped) return base::Failure{mapped.error()};
    counters = *mapped;
  }
  return ProcessMeter(pid, clock, counters);
}

ProcessMeter::ProcessMeter(ProcessMeter&& other) noexcept
    : pid_(other.pid_), clock_(other.clock_), counters_(std::exchange(other.counters_, nullptr)) {}

ProcessMeter::~ProcessMeter() {
  // munmap takes no const pointer although it changes no byte.
  if (counters_ != nullptr)
    munmap(const_cast<alloc_count::Counters*>(counters_), sizeof(alloc_count::Counters));
}

base::Result<ProcessReading> ProcessMeter::read() const {
  ProcessReading reading;
  timespec cpu{};
  if (clock_gettime(clock_, &cpu) != 0) return base::Failure{base::last_errno()};
  reading.cpu = std::chrono::seconds(cpu.tv_sec) + std::chrono::nanoseconds(cpu.tv_nsec);
  if (!read_ticks(pid_, reading) || !read_memory(pid_, reading)) return base::fail(ESRCH);
  if (counters_ != nullptr) reading.allocations = sum_of(*counters_);
  return reading;
}

}  // namespace braid::load
