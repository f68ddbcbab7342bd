#include <fmt/format.h>

#include <array>
#include <string>
#include <vector>

#include "base/assert.h"
#include "base/clock.h"
#include "bench/hashing/rows.h"
#include "bench/hashing/table.h"
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

std::string size_text(std::size_t bytes) {
  return bytes >= base::MiB ? fmt::format("{} MiB", bytes / base::MiB) : fmt::format("{} KiB", bytes / 1024);
}

// Messages of one length, batched to a megabyte.
void blake3_rows(const Table& table, Simd simd) {
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

void llvm_rows([[maybe_unused]] const Table& table) {
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

void boundary_rows(const Table& table, Simd simd) {
  const GearTables tables = GearTables::from(Key());
  const GearMask never{0xfff0, 0xffffffff};  // the prefilter as always, a verification that nothing passes
  std::size_t found = 0;
  table.row(fmt::format("candidates, {}", name_of(simd)), table.data().size(), [&] {
    found += gear_scan(simd)(tables, table.data().data(), verify_window - 1, table.data().size(), never);
  });
  const base::SystemClock clock;
  CpuHasher hasher(clock, simd);
  for (const Work work : {Work::chunk, Work::chunk_and_hash})
    for (const Profile profile : {Profile::general, Profile::bulk}) {
      const ChunkParams params = ChunkParams::of(profile, Key());
      const Job job{.work = work, .params = &params, .spans = {table.data()}};
      table.row(fmt::format("{}, {}, {}", work == Work::chunk ? "cut" : "cut and hash", name_of(simd),
                            name_of(profile)),
                table.data().size(), [&] { found += hasher.run(job)->chunks.size(); });
    }
}

}  // namespace

void print_cpu_rows() {
  const Table table("one core");
  llvm_rows(table);
  for (const Simd simd : available_simd()) blake3_rows(table, simd);
  for (const Simd simd : available_simd()) boundary_rows(table, simd);
  const auto succeeds = [](const auto& result) { base::check(result.has_value(), "it can be computed"); };
  const base::BytesView message = table.data().first(64 * base::KiB);
  const base::BytesView longer = table.data().first(base::MiB);
  table.row("sha256-tree, 64 KiB", message.size(), [&] { succeeds(sha256_tree(Key(), message)); });
  table.row("md5-tree, 64 KiB", message.size(), [&] { succeeds(md5_tree(message)); });
  table.row("sliding window, MD5, m=20 p=1 k=14", longer.size(), [&] { succeeds(sliding_cuts({}, longer)); });
}

}  // namespace braid::bench
