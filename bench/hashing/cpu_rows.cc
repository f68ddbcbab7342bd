#include <fmt/format.h>
#include <openssl/evp.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "bench/hashing/rows.h"
#include "hashing/blake3_batch.h"
#include "hashing/cpu_hasher.h"
#include "hashing/gear.h"
#include "hashing/sliding_window.h"
#include "hashing/tree_hash.h"

#ifdef BRAID_HAVE_LLVM_BLAKE3
#include <llvm-c/blake3.h>
#endif

namespace braid::bench {
namespace {

using namespace hashing;

constexpr std::size_t buffer_bytes = 16 * base::MiB;
constexpr double run_seconds = 0.05;
constexpr std::size_t runs = 7;

// CPU time of this thread: another program on the core does not count.
double cpu_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// GB/s, the median of several short runs after a warm-up; work() handles `bytes` bytes.
double rate_of(std::size_t bytes, const std::function<void()>& work) {
  work();
  std::array<double, runs> rates{};
  for (double& rate : rates) {
    const double start = cpu_seconds();
    double now = start;
    std::size_t rounds = 0;
    for (; now - start < run_seconds; ++rounds) {
      work();
      now = cpu_seconds();
    }
    rate = static_cast<double>(rounds * bytes) / (now - start) / 1e9;
  }
  std::ranges::nth_element(rates, rates.begin() + runs / 2);
  return rates[runs / 2];
}

class Table {
 public:
  Table() : data_(buffer_bytes) {
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
    fmt::print("{:<44} {:>8} {:>10} {:>10}\n", "one core", "GB/s", "/ memcpy", "/ SHA-256");
    print("memcpy, 16 MiB", memcpy_);
    print("SHA-256, OpenSSL, 1 MiB", sha256_);
  }
  void row(const std::string& name, std::size_t bytes, const std::function<void()>& work) {
    print(name, rate_of(bytes, work));
  }
  [[nodiscard]] base::BytesView data() const { return data_; }

 private:
  void print(const std::string& name, double rate) const {
    fmt::print("{:<44} {:>8.2f} {:>10.3f} {:>10.2f}\n", name, rate, rate / memcpy_, rate / sha256_);
    std::fflush(stdout);
  }
  base::Bytes data_;
  double memcpy_ = 0, sha256_ = 0;
};

std::string size_text(std::size_t bytes) {
  return bytes >= base::MiB ? fmt::format("{} MiB", bytes / base::MiB) : fmt::format("{} KiB", bytes / 1024);
}

// Messages of one length, batched to a megabyte.
void blake3_rows(Table& table, Simd simd) {
  const auto mode = blake3::keyed_mode(Key());
  for (const std::size_t length : {4 * base::KiB, 64 * base::KiB, base::MiB}) {
    std::vector<base::BytesView> messages;
    for (std::size_t at = 0; at < base::MiB; at += length)
      messages.push_back(table.data().subspan(at, length));
    std::vector<Digest> ids(messages.size());
    Blake3Batch batch(simd);
    table.row(fmt::format("BLAKE3, {}, batch of {}", name_of(simd), size_text(length)), base::MiB,
              [&] { batch.hash(mode, messages, ids); });
    if (length == base::MiB) continue;
    table.row(fmt::format("BLAKE3, {}, {} alone", name_of(simd), size_text(length)), length,
              [&] { batch.hash(mode, {messages.data(), 1}, {ids.data(), 1}); });
  }
}

void llvm_rows([[maybe_unused]] Table& table) {
#ifdef BRAID_HAVE_LLVM_BLAKE3
  for (const std::size_t length : {4 * base::KiB, 64 * base::KiB, base::MiB})
    table.row(fmt::format("BLAKE3, LLVM's, {} alone", size_text(length)), length, [&table, length] {
      llvm_blake3_hasher hasher;
      std::array<std::uint8_t, 32> out{};
      llvm_blake3_hasher_init_keyed(&hasher, out.data());
      llvm_blake3_hasher_update(&hasher, table.data().data(), length);
      llvm_blake3_hasher_finalize(&hasher, out.data(), out.size());
    });
#endif
}

void boundary_rows(Table& table, Simd simd) {
  const GearTables tables = GearTables::from(Key());
  const GearMask never{0xfff0, 0xffffffff};  // the prefilter as always, a verification that nothing passes
  std::size_t found = 0;
  table.row(fmt::format("candidates, {}", name_of(simd)), buffer_bytes, [&] {
    found += gear_scan(simd)(tables, table.data().data(), verify_window - 1, buffer_bytes, never);
  });
  const base::SystemClock clock;
  CpuHasher hasher(clock, simd);
  for (const Work work : {Work::chunk, Work::chunk_and_hash})
    for (const Profile profile : {Profile::general, Profile::bulk}) {
      const ChunkParams params = ChunkParams::of(profile, Key());
      const Job job{.work = work, .params = &params, .spans = {table.data()}};
      table.row(fmt::format("{}, {}, {}", work == Work::chunk ? "cut" : "cut and hash", name_of(simd),
                            name_of(profile)),
                buffer_bytes, [&] { found += hasher.run(job)->chunks.size(); });
    }
}

}  // namespace

void print_cpu_rows() {
  Table table;
  llvm_rows(table);
  for (const Simd simd : available_simd()) blake3_rows(table, simd);
  for (const Simd simd : available_simd()) boundary_rows(table, simd);
  table.row("sha256-tree, 64 KiB", 64 * base::KiB,
            [&] { (void)sha256_tree(Key(), table.data().first(64 * base::KiB)); });
  table.row("md5-tree, 64 KiB", 64 * base::KiB, [&] { (void)md5_tree(table.data().first(64 * base::KiB)); });
  table.row("sliding window, MD5, m=20 p=1 k=14", base::MiB,
            [&] { (void)sliding_cuts({}, table.data().first(base::MiB)); });
}

}  // namespace braid::bench
