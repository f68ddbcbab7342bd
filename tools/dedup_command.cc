#include "tools/dedup_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "base/exit_code.h"
#include "base/guarded.h"
#include "hashing/cpu_hasher.h"
#include "hashing/stream_cutter.h"
#include "tools/hash_files.h"
#include "tools/tree_files.h"

namespace braid::tools {
namespace {

constexpr std::size_t piece_bytes = 4 * base::MiB;

// A way of cutting, and what was seen with it.
struct Row {
  std::string name;
  std::optional<hashing::ChunkParams> params;  // none: a file is one chunk
  struct Seen {
    std::unordered_map<hashing::Digest, std::uint32_t> lengths;
    std::uint64_t chunks = 0, bytes = 0, unique_bytes = 0;
  };
  base::Guarded<Seen> seen;

  void add(const hashing::Digest& id, std::uint64_t length) {
    seen.with([&](Seen& s) {
      ++s.chunks;
      s.bytes += length;
      if (s.lengths.try_emplace(id, static_cast<std::uint32_t>(length)).second) s.unique_bytes += length;
    });
  }
};

std::deque<Row> make_rows(const hashing::Key& key) {
  using hashing::ChunkParams;
  std::deque<Row> rows;
  rows.emplace_back().name = "whole file";
  for (const std::uint32_t kib : {4U, 16U, 64U, 1024U}) {
    Row& row = rows.emplace_back();
    row.name = fmt::format("block {}K", kib);
    row.params = ChunkParams::fixed(kib * 1024).value();
  }
  for (const auto profile :
       {hashing::Profile::general, hashing::Profile::bulk, hashing::Profile::checkpoint}) {
    Row& row = rows.emplace_back();
    row.name = hashing::name_of(profile);
    row.params = ChunkParams::of(profile, key);
  }
  return rows;
}

// One thread's share: takes file after file.
class Reader {
 public:
  Reader(std::deque<Row>& rows, const hashing::Key& key)
      : rows_(rows), key_(key), hasher_(clock_), buffer_(piece_bytes) {
    for (Row& row : rows_)
      if (row.params)
        cutters_.emplace_back([this](const hashing::Job& job) { return hasher_.run(job); },
                              hashing::Algorithm::blake3, *row.params, key_);
  }

  base::Result<void> read(const std::string& path, std::atomic<std::uint64_t>& bytes_done) {
    hashing::Blake3 whole(hashing::blake3::keyed_mode(key_));
    std::uint64_t length = 0;
    bool ended = false;
    auto done = read_pieces(path, buffer_, [&](base::BytesView piece, bool is_end) {
      whole.update(piece);
      length += piece.size();
      bytes_done += piece.size();
      ended = is_end;
      return feed(piece, is_end);
    });
    // What was read of it counts, and the next file starts afresh.
    if (!done && !ended)
      if (auto closed = feed({}, true); !closed) return closed;
    if (length > 0) rows_.front().add(whole.digest(), length);
    return done;
  }

 private:
  base::Result<void> feed(base::BytesView piece, bool is_end) {
    std::size_t i = 0;
    for (Row& row : rows_) {
      if (!row.params) continue;
      const auto chunks = cutters_[i++].feed(piece, is_end);
      if (!chunks) return base::fail(chunks.error());
      for (const hashing::Chunk& chunk : *chunks) row.add(chunk.id, chunk.length);
    }
    return {};
  }

  std::deque<Row>& rows_;
  const hashing::Key key_;
  const base::SystemClock clock_;
  hashing::CpuHasher hasher_;
  base::Bytes buffer_;
  std::deque<hashing::StreamCutter> cutters_;
};

// Reads all files by several threads; returns how many could not be read.
std::uint64_t read_all(const TreeFiles& files, std::deque<Row>& rows, const hashing::Key& key,
                       unsigned threads) {
  std::atomic<std::size_t> next{0}, finished{0};
  std::atomic<std::uint64_t> bytes_done{0}, failed{0};
  const auto start = std::chrono::steady_clock::now();
  std::vector<std::jthread> workers;
  workers.reserve(threads);
  for (unsigned i = 0; i < threads; ++i)
    workers.emplace_back([&] {
      Reader reader(rows, key);
      for (std::size_t f = next++; f < files.paths.size(); f = next++) {
        if (const auto done = reader.read(files.paths[f], bytes_done); !done) {
          fmt::print(stderr, "\nbraid dedup: {}: {}\n", files.paths[f], base::message_of(done.error()));
          ++failed;
        }
        ++finished;
      }
    });
  const bool draw = ::isatty(STDERR_FILENO) != 0;
  while (draw && finished < files.paths.size()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    draw_progress(bytes_done, files.bytes,
                  std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  workers.clear();
  if (draw) fmt::print(stderr, "\n");
  return failed;
}

void print_table(std::deque<Row>& rows) {
  fmt::print("{:<12} {:>10} {:>10} {:>14} {:>8} {:>8}\n", "profile", "chunks", "mean", "unique bytes",
             "ratio", "saved");
  for (Row& row : rows)
    row.seen.with([&](const Row::Seen& s) {
      const double all = static_cast<double>(s.bytes), unique = static_cast<double>(s.unique_bytes);
      fmt::print("{:<12} {:>10} {:>10} {:>14} {:>8.3f} {:>6.1f} %\n", row.name, s.chunks,
                 s.chunks == 0 ? 0 : s.bytes / s.chunks, s.unique_bytes, unique > 0 ? all / unique : 1.0,
                 all > 0 ? 100 * (all - unique) / all : 0.0);
    });
}

bool write_ids(const std::string& path, std::deque<Row>& rows) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "w"), std::fclose);
  if (file == nullptr) {
    fmt::print(stderr, "braid dedup: {}: {}\n", path, base::message_of(base::last_errno()));
    return false;
  }
  for (Row& row : rows)
    row.seen.with([&](const Row::Seen& s) {
      for (const auto& [id, length] : s.lengths)
        fmt::print(file.get(), "{}\t{}\t{}\n", row.name, length, hashing::hex_of(id));
    });
  return true;
}

}  // namespace

int estimate_dedup(const DedupCommand& command) {
  hashing::Key key;
  if (!command.key_file.empty()) {
    const auto read = read_key(command.key_file);
    if (!read) {
      fmt::print(
          stderr, "braid dedup: {}: {}\n", command.key_file,
          read.error() == base::errno_of(EINVAL) ? "a key is 32 bytes" : base::message_of(read.error()));
      return base::exit_usage;
    }
    key = *read;
  }
  const TreeFiles files = list_files(command.directory, {}, [](const std::string& path, base::Errno error) {
    fmt::print(stderr, "braid dedup: {}: {}\n", path, base::message_of(error));
  });
  std::deque<Row> rows = make_rows(key);
  const unsigned threads =
      command.threads > 0 ? command.threads : std::max(1U, std::thread::hardware_concurrency());
  const std::uint64_t failed = read_all(files, rows, key, threads) + files.unreadable;
  fmt::print("{} files, {} bytes\n\n", files.paths.size(),
             rows[1].seen.with([](const Row::Seen& s) { return s.bytes; }));
  print_table(rows);
  if (!command.ids_file.empty() && !write_ids(command.ids_file, rows)) return base::exit_failed;
  return failed == 0 ? 0 : base::exit_failed;
}

}  // namespace braid::tools
