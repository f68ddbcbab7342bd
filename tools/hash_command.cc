#include "tools/hash_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include "base/clock.h"
#include "base/exit_code.h"
#include "hashing/cpu_hasher.h"
#include "hashing/cuda/cuda_cards.h"
#include "hashing/stream_cutter.h"
#include "tools/hash_files.h"
#include "tools/hash_where.h"

namespace braid::tools {
namespace {

constexpr std::size_t read_bytes = 8 * base::MiB;

hashing::Algorithm algorithm_of(const std::string& name) {
  using hashing::Algorithm;
  for (const Algorithm a : {Algorithm::sha256_tree, Algorithm::md5_tree})
    if (hashing::name_of(a) == name) return a;
  return Algorithm::blake3;
}

base::Result<void> print_digest(const std::string& file, const hashing::blake3::Mode& mode,
                                base::MutableBytes buffer) {
  hashing::Blake3 hasher(mode);
  auto done = read_pieces(file, buffer, [&](base::BytesView piece, bool) {
    hasher.update(piece);
    return base::Result<void>();
  });
  if (done) fmt::print("{}  {}\n", hashing::hex_of(hasher.digest()), file);
  return done;
}

base::Result<void> print_chunks(const std::string& file, hashing::StreamCutter& cutter,
                                base::MutableBytes buffer) {
  return read_pieces(file, buffer, [&](base::BytesView piece, bool is_end) -> base::Result<void> {
    const auto chunks = cutter.feed(piece, is_end);
    if (!chunks) return base::fail(chunks.error());
    for (const hashing::Chunk& chunk : *chunks)
      fmt::print("{:>14} {:>8}  {}\n", chunk.offset, chunk.length, hashing::hex_of(chunk.id));
    return {};
  });
}

void print_cards() {
  const hashing::CudaState state = hashing::cuda_state();
  fmt::print("{}\n", state.driver);
  for (const hashing::CudaDevice& device : state.devices)
    fmt::print("{}: {:.1f} GiB, {}\n", device.name, static_cast<double>(device.memory_bytes) / base::GiB,
               device.refused.empty() ? "can be used" : "is not used: " + device.refused);
}

}  // namespace

int hash_files(const HashCommand& command) {
  if (command.card_info) {
    print_cards();
    return 0;
  }
  if (command.files.empty()) {
    fmt::print(stderr, "braid hash: FILE is required; braid hash --help says more\n");
    return base::exit_usage;
  }
  hashing::Key key;
  if (!command.key_file.empty()) {
    const auto read = read_key(command.key_file);
    if (!read) {
      const bool wrong_length = read.error() == base::errno_of(EINVAL);
      fmt::print(stderr, "braid hash: {}: {}\n", command.key_file,
                 wrong_length ? "a key is 32 bytes" : base::message_of(read.error()));
      return base::exit_usage;
    }
    key = *read;
  }
  const auto mode =
      command.key_file.empty() ? hashing::blake3::plain_mode() : hashing::blake3::keyed_mode(key);
  const auto profile = hashing::parse_profile(command.profile).value_or(hashing::Profile::general);
  const auto params = hashing::ChunkParams::of(profile, key);
  if (command.where) return print_where(command.files, algorithm_of(command.algorithm), params, key);
  const base::SystemClock clock;
  hashing::CpuHasher hasher(clock);
  base::Bytes buffer(read_bytes);
  int code = 0;
  for (const std::string& file : command.files) {
    if (!command.whole && command.files.size() > 1) fmt::print("{}:\n", file);
    hashing::StreamCutter cutter([&hasher](const hashing::Job& job) { return hasher.run(job); },
                                 algorithm_of(command.algorithm), params, key);
    const auto done = command.whole ? print_digest(file, mode, buffer) : print_chunks(file, cutter, buffer);
    if (done) continue;
    fmt::print(stderr, "braid hash: {}: {}\n", file, base::message_of(done.error()));
    code = base::exit_failed;
  }
  return code;
}

}  // namespace braid::tools
