// braid-store-scale: what the index of a store costs when it knows many chunks, how fast it is made anew, and
// how long a store with many files takes to be opened after its process was killed.
#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "base/big_endian.h"
#include "base/bytes.h"
#include "store/store.h"

namespace braid::bench {
namespace {

using store::Index;

constexpr double chunk_kib = 64;  // of which a terabyte is made in the table
constexpr std::size_t at_once = 64;
constexpr std::uint64_t finds = 200'000;
constexpr std::size_t small_chunk_bytes = 16;

struct Options {
  std::uint64_t chunks = 50'000'000, filled_chunks = 10'000'000, files = 1'000'000;
  std::string directory = "/var/tmp";
};

[[noreturn]] void fail(const std::string& why) {
  fmt::print(stderr, "braid-store-scale: {}\n", why);
  std::exit(1);
}

// Of one chunk: as random as those of a hash, the same in each run.
hashing::Digest id_of(std::uint64_t chunk) {
  hashing::Digest out;
  std::uint64_t state = chunk;
  for (std::size_t at = 0; at < out.bytes.size(); at += sizeof(std::uint64_t)) {
    state += 0x9e3779b97f4a7c15U;
    std::uint64_t mixed = state;  // splitmix64
    mixed = (mixed ^ mixed >> 30U) * 0xbf58476d1ce4e5b9U;
    mixed = (mixed ^ mixed >> 27U) * 0x94d049bb133111ebU;
    base::store_be<std::uint64_t>(out.bytes, at, mixed ^ mixed >> 31U);
  }
  return out;
}

store::Location place_of(std::uint64_t chunk) {
  constexpr std::uint64_t in_container = 1000;
  return {.container = static_cast<std::uint32_t>(1 + chunk / in_container),
          .offset = static_cast<std::uint32_t>(64 + chunk % in_container * 65'000)};
}

class Stopwatch {
 public:
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun_).count();
  }

 private:
  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
};

double resident_mb() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (word == "VmRSS:") {
      double kib = 0;
      status >> kib;
      return kib * 1024 / 1e6;
    }
  return 0;
}

double bytes_below(const std::filesystem::path& directory) {
  double out = 0;
  for (const auto& file : std::filesystem::recursive_directory_iterator(directory))
    if (file.is_regular_file()) out += static_cast<double>(file.file_size());
  return out;
}

void print(std::string_view what, double value, std::string_view unit, std::string_view mark = {}) {
  fmt::print("{:<58}{:>14.1f} {}{}\n", what, value, unit, mark.empty() ? "" : fmt::format("  ({})", mark));
  std::fflush(stdout);
}

void progress(std::string_view what, std::uint64_t done, std::uint64_t of) {
  fmt::print(stderr, "\r{}: {} of {}", what, done, of);
  if (done == of) fmt::print(stderr, "\n");
}

double insert(Index& index, std::uint64_t chunks) {
  const Stopwatch watch;
  std::vector<Index::Entry> entries;
  for (std::uint64_t chunk = 0; chunk < chunks; chunk += at_once) {
    entries.clear();
    for (std::uint64_t one = chunk; one < std::min(chunks, chunk + at_once); ++one)
      entries.push_back({id_of(one), place_of(one)});
    index.put_all(entries);
    constexpr std::uint64_t shown = 1'000'000;
    if (chunk / shown != (chunk + at_once) / shown)
      progress("inserted", std::min(chunks, chunk + at_once), chunks);
  }
  return watch.seconds();
}

// One that is there, or one that is not, with each call.
double find(Index& index, std::uint64_t chunks, bool known) {
  const Stopwatch watch;
  for (std::uint64_t i = 0; i < finds; ++i) {
    const std::uint64_t chunk = i * 7'919'017U % chunks;  // a prime
    const auto found = index.find(id_of(known ? chunk : chunks + i));
    if (found.has_value() != known || (known && *found != place_of(chunk)))
      fail(fmt::format("chunk {} is not found as it was put", chunk));
  }
  return static_cast<double>(finds) / watch.seconds();
}

void measure_index(const Options& options, const std::filesystem::path& work) {
  const auto chunks = static_cast<double>(options.chunks);
  const double before = resident_mb();
  const std::string place = work / "index";
  auto index = Index::open(place, {});
  if (!index) fail("the index cannot be opened");
  print("chunks in the index", chunks, "");
  print("inserts", chunks / insert(**index, options.chunks), "/s", "at least 100,000");
  (*index)->flush();
  const double loaded = resident_mb() - before;
  print("finds of chunks that are there", find(**index, options.chunks, true), "/s");
  print("finds of chunks that are not", find(**index, options.chunks, false), "/s");
  const double resident = std::max(loaded, resident_mb() - before);
  const double terabytes = chunks * chunk_kib * 1024 / 1e12;
  print("memory", resident, "MB");
  print("memory for each TB of 64 KiB chunks", resident / terabytes, "MB", "at most 64");
  print("index on disk, for each chunk", bytes_below(place) / chunks, "bytes");
  index->reset();
  const Stopwatch watch;
  index = Index::open(place, {});
  if (!index || !(*index)->find(id_of(0))) fail("the index cannot be opened again");
  print("opened again", watch.seconds() * 1e3, "ms");
}

std::unique_ptr<store::Store> opened(const std::string& directory) {
  auto out = store::Store::open(
      directory, {.what = store::OpenFor::creating, .who = "braid-store-scale", .index_later = true});
  if (!out) fail(out.error());
  return std::move(*out);
}

void append(store::Containers& containers, std::uint64_t chunks) {
  constexpr std::size_t batch = 4096;
  std::vector<store::Containers::NewChunk> all;
  const std::array<std::byte, small_chunk_bytes> bytes{};
  for (std::uint64_t chunk = 0; chunk < chunks; chunk += batch) {
    all.clear();
    for (std::uint64_t one = chunk; one < std::min(chunks, chunk + batch); ++one)
      all.push_back({id_of(one), bytes});
    if (!containers.append_all(store::ChunkKind::data, all)) fail("chunks cannot be appended");
    progress("appended", std::min(chunks, chunk + batch), chunks);
  }
}

// Of chunks so small that all containers are full of them.
void measure_filling(const Options& options, const std::filesystem::path& work) {
  const std::string directory = work / "store";
  append(opened(directory)->containers(), options.filled_chunks);
  std::filesystem::remove_all(directory + "/index");
  const auto store = opened(directory);
  store::IndexFiller& filler = store->chunks().index_filler();
  const Stopwatch watch;
  while (filler.step() == store::IndexFiller::Step::more)
    progress("containers left", filler.progress().left, 0);
  fmt::print(stderr, "\n");
  if (filler.progress().chunks != options.filled_chunks) fail("not all chunks are in the index");
  print("index made anew: chunks", static_cast<double>(options.filled_chunks), "");
  print("index made anew", static_cast<double>(options.filled_chunks) / watch.seconds(), "chunks/s",
        "at least 300,000");
}

// As sealing leaves them, a thousand at a time: each has a chunk that the index knows and an entry in the
// registry.
void seal_many(store::Store& store, const Options& options) {
  constexpr std::uint64_t batch = 1000;
  std::vector<store::RegistryEntry> entries;
  for (std::uint64_t file = 0; file < options.files; file += batch) {
    entries.clear();
    for (std::uint64_t one = file; one < std::min(options.files, file + batch); ++one) {
      store::KernelHandle handle{.type = 1, .size = 16};
      base::store_be<std::uint64_t>(handle.bytes, 0, one);
      entries.push_back({.tree = 1, .logical = 50U << 16U, .file = handle});
    }
    if (!store.registry()->append(entries)) fail("entries cannot be added to the registry");
    progress("files", std::min(options.files, file + batch), options.files);
  }
  append(store.containers(), options.files);
  if (!store.containers().sync()) fail("containers cannot be synced");
  insert(*store.index(), options.chunks);
}

// What a server waits for before it serves again; the index learns of the rest beside calls.
void measure_restart(const Options& options, const std::filesystem::path& work) {
  const std::string directory = work / "killed";
  const pid_t child = ::fork();
  if (child < 0) fail("no process can be started");
  if (child == 0) {
    const auto store = opened(directory);
    seal_many(*store, options);
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  if (::waitpid(child, &status, 0) != child || !WIFSIGNALED(status)) fail("the other process was not killed");
  const Stopwatch watch;
  const auto store = opened(directory);
  const double seconds = watch.seconds();
  if (store->registry() == nullptr) fail("the registry is damaged");
  print("files of a store whose process was killed", static_cast<double>(options.files), "");
  print("opened again", seconds, "s", "at most 2");
}

std::filesystem::path make_work(const std::string& directory) {
  std::string name = directory + "/braid-store-scale.XXXXXX";
  if (::mkdtemp(name.data()) == nullptr) fail(directory + ": no directory can be made there");
  return name;
}

}  // namespace
}  // namespace braid::bench

int main(int argc, char** argv) {
  using namespace braid::bench;
  Options options;
  CLI::App app(
      "What the index of a store costs when it knows many chunks, how fast it is made anew, and how long a "
      "store\n"
      "with many files takes to be opened after its process was killed.",
      "braid-store-scale");
  app.add_option("--chunks", options.chunks, "in the index")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  app.add_option("--filled-chunks", options.filled_chunks, "in containers, of which an index is made")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  app.add_option("--files", options.files, "of a store whose process is killed")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  app.add_option(
         "--directory", options.directory,
         "has room for 50 bytes of each chunk of the index, 120 of each of the others, and 200 of each file")
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  const std::filesystem::path work = make_work(options.directory);
  // While there are no threads yet: the other process is forked.
  measure_restart(options, work);
  std::filesystem::remove_all(work / "killed");
  measure_index(options, work);
  std::filesystem::remove_all(work / "index");
  measure_filling(options, work);
  std::filesystem::remove_all(work);
  return 0;
}
