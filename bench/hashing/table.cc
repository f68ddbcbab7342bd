#include "bench/hashing/table.h"

#include <fmt/format.h>
#include <openssl/evp.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <random>

namespace braid::bench {
namespace {

constexpr std::size_t buffer_bytes = 16 * base::MiB;
constexpr double run_seconds = 0.02;
constexpr std::size_t runs = 25;
bool quick = false;

// CPU time of this thread: another program on the core does not count.
double cpu_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

}  // namespace

void set_quick() { quick = true; }
bool is_quick() { return quick; }

double rate_of(std::size_t bytes, const std::function<void()>& work) {
  work();
  double best = 0;
  for (std::size_t run = 0; run < (quick ? 1 : runs); ++run) {
    const double start = cpu_seconds();
    double now = start;
    std::size_t rounds = 0;
    for (; now - start < run_seconds; ++rounds) {
      work();
      now = cpu_seconds();
    }
    best = std::max(best, static_cast<double>(rounds * bytes) / (now - start) / 1e9);
  }
  return best;
}

Table::Table(const std::string& title) : data_(buffer_bytes) {
  std::mt19937_64 random(1);
  for (std::size_t i = 0; i < data_.size(); i += sizeof(std::uint64_t)) {
    const std::uint64_t word = random();
    std::memcpy(data_.data() + i, &word, sizeof word);
  }
  base::Bytes copy(buffer_bytes);
  memcpy_ = rate_of(buffer_bytes, [&] { std::memcpy(copy.data(), data_.data(), buffer_bytes); });
  sha256_ = rate_of(base::MiB, [&] {
    std::array<unsigned char, 32> out;
    EVP_Digest(data_.data(), base::MiB, out.data(), nullptr, EVP_sha256(), nullptr);
  });
  fmt::print("{:<62} {:>9} {:>10} {:>10}\n", title, "GB/s", "/ memcpy", "/ SHA-256");
  print("memcpy, 16 MiB, one core", memcpy_);
  print("SHA-256, OpenSSL, 1 MiB, one core", sha256_);
}

void Table::print(const std::string& name, double gb_per_second, const std::string& notes) const {
  fmt::print("{:<62} {:>9.3f} {:>10.3f} {:>10.2f}  {}\n", name, gb_per_second, gb_per_second / memcpy_,
             gb_per_second / sha256_, notes);
  std::fflush(stdout);
}

void Table::print_missing(const std::string& name, const std::string& reason) const {
  fmt::print("{:<62} {:>9} {:>10} {:>10}  {}\n", name, "-", "-", "-", reason);
}

}  // namespace braid::bench
