#include "tests/unit/hashing/property.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <latch>
#include <memory>
#include <random>
#include <thread>

#include "hashing/card_batch.h"
#include "hashing/cpu_hasher.h"
#include "hashing/engine.h"
#include "hashing/host/host_card.h"
#include "io/gate.h"
#include "io/reactor.h"

namespace braid::hashing::test {
namespace {

using Random = std::mt19937_64;

struct Stream {
  std::string kind;
  base::Bytes bytes;
  std::uint64_t offset = 0;
  Key key;
  std::optional<ChunkParams> params;
};

void fill_random(base::MutableBytes to, Random& random) {
  std::size_t at = 0;
  for (; at + sizeof(std::uint64_t) <= to.size(); at += sizeof(std::uint64_t)) {
    const std::uint64_t word = random();
    std::memcpy(to.data() + at, &word, sizeof word);
  }
  for (; at < to.size(); ++at) to[at] = static_cast<std::byte>(random());
}

void fill_text(base::MutableBytes to, Random& random) {
  constexpr std::string_view letters = "etaoin shrdlu\n";
  for (std::byte& b : to) b = static_cast<std::byte>(letters[random() % letters.size()]);
}

void repeat(base::MutableBytes bytes, std::size_t period) {
  for (std::size_t at = period; at < bytes.size(); ++at) bytes[at] = bytes[at - period];
}

// Constant runs between random ones, as in files with holes.
void fill_sparse(base::MutableBytes to, Random& random) {
  for (std::size_t at = 0; at < to.size();) {
    const std::size_t length = std::min<std::size_t>(to.size() - at, 1 + random() % (512 * base::KiB));
    if (random() % 2 == 0)
      fill_random(to.subspan(at, length), random);
    else
      std::ranges::fill(to.subspan(at, length),
                        random() % 4 == 0 ? static_cast<std::byte>(random()) : std::byte{});
    at += length;
  }
}

std::string fill(base::MutableBytes to, Random& random) {
  switch (random() % 8) {
    case 0:
      fill_text(to, random);
      return "text";
    case 1:
      fill_sparse(to, random);
      return "sparse";
    case 2: {
      const std::size_t period = 1 + random() % (std::size_t{2} << random() % 16);
      fill_random(to.first(std::min(period, to.size())), random);
      repeat(to, period);
      return fmt::format("period {}", period);
    }
    case 3:
      std::ranges::fill(to, static_cast<std::byte>(random()));
      return "constant";
    default:
      fill_random(to, random);
      return "random";
  }
}

ChunkParams random_params(const Key& key, Random& random) {
  if (const auto choice = random() % 8; choice < all_profiles.size())
    return ChunkParams::of(all_profiles[choice], key);
  const std::uint32_t avg = chunk_bytes_min << (1 + random() % 6);
  const auto min = static_cast<std::uint32_t>(chunk_bytes_min + random() % (avg - chunk_bytes_min));
  const auto max = static_cast<std::uint32_t>(avg + 1 + random() % (4 * avg));
  return ChunkParams::by_content({min, avg, max}, key).value();
}

Stream random_stream(std::size_t bytes_max, Random& random) {
  Stream out;
  base::Bytes key(key_bytes);
  fill_random(key, random);
  out.key = Key::from(key).value();
  out.params = random_params(out.key, random);
  out.offset = random() % 2 == 0 ? 0 : random() % (std::uint64_t{1} << 40);
  // Every eighth is short: there the ends are.
  const std::size_t limit = random() % 8 == 0 ? std::size_t{2} << random() % 20 : bytes_max;
  out.bytes.resize(random() % (std::min(limit, bytes_max) + 1));
  out.kind = fill(out.bytes, random);
  return out;
}

Job job_of(const Stream& stream, std::size_t begin, std::size_t end) {
  return {.params = &*stream.params,
          .key = stream.key,
          .stream_offset = stream.offset + begin,
          .is_end = end == stream.bytes.size()};
}

void add_spans(Job& job, base::BytesView bytes, std::size_t span_max, Random& random) {
  while (!bytes.empty()) {
    const std::size_t take = std::min<std::size_t>(bytes.size(), random() % (span_max + 1));
    job.spans.push_back(bytes.first(take));
    bytes = bytes.subspan(take);
  }
}

// The stream in jobs of random lengths, each of one or of many spans.
std::vector<Chunk> in_jobs(const Stream& stream, Simd simd, Random& random, std::uint64_t& jobs) {
  const base::SystemClock clock;
  CpuHasher hasher(clock, simd);
  std::vector<Chunk> out;
  const std::size_t piece_max = std::size_t{64 * 1024} << random() % 9;
  std::size_t done = 0, end = 0;
  do {
    end = std::min(stream.bytes.size(), end + 1 + random() % piece_max);
    Job job = job_of(stream, done, end);
    const base::BytesView bytes = base::BytesView(stream.bytes).subspan(done, end - done);
    add_spans(job, bytes, random() % 2 == 0 ? bytes.size() : 100'000, random);
    const auto result = hasher.run(job);
    if (!result) return {};
    out.insert(out.end(), result->chunks.begin(), result->chunks.end());
    done += result->consumed;
    ++jobs;
  } while (end < stream.bytes.size());
  return out;
}

std::unique_ptr<Engine> engine_of(PropertyOptions& options, const base::Clock& clock) {
  const EngineMode mode = options.cards.empty() ? EngineMode::cpu : EngineMode::card;
  return Engine::create(
             {.mode = mode, .workers = options.workers, .inline_bytes = 0, .part_bytes = 4 * base::MiB},
             clock, std::move(options.cards))
      .value();
}

// An engine and the reactor that submits to it.
class OnEngine {
 public:
  explicit OnEngine(PropertyOptions& options)
      : reactor_(io::Reactor::create({}, clock_).value()),
        engine_(engine_of(options, clock_)),
        thread_([this] { reactor_->run(); }) {}
  ~OnEngine() {
    engine_->stop();
    reactor_->stop();
  }
  OnEngine(const OnEngine&) = delete;
  OnEngine& operator=(const OnEngine&) = delete;

  std::vector<Chunk> run(const Job& job) {
    std::vector<Chunk> out;
    const auto done = std::make_shared<std::latch>(1);
    reactor_->post(std::function<void()>([&, done] { io::spawn(gate_, submit(job, out, done)); }));
    done->wait();
    return out;
  }
  [[nodiscard]] EngineStats stats() const { return engine_->stats(); }

 private:
  io::Op<> submit(Job job, std::vector<Chunk>& out, std::shared_ptr<std::latch> done) {
    auto result = co_await engine_->submit(std::move(job)).as_result();
    if (result) out = std::move(result->chunks);
    done->count_down();
  }

  const base::SystemClock clock_;
  io::Gate gate_;
  std::unique_ptr<io::Reactor> reactor_;
  std::unique_ptr<Engine> engine_;
  std::jthread thread_;
};

class OnHostCard {
 public:
  explicit OnHostCard(std::size_t bytes_max)
      : limits_{.slots = 1,
                .slot_bytes = static_cast<std::uint32_t>((bytes_max + 8191) / 4096 * 4096),
                .streams_max = 4} {
    opened_ = card_.open(limits_).has_value();
  }
  std::vector<Chunk> run(const Job& job, std::uint64_t bytes) {
    Task task;
    task.job = job;
    task.bytes = bytes;
    CardBatch batch(limits_);
    ResultChecks checks(1);
    if (!opened_ || !batch.add(&task) || !card_.start(0, batch.finish())) return {};
    if (!batch.read(card_.records(0), checks)) return {};
    return task.result->chunks;
  }

 private:
  CardLimits limits_;
  HostCard card_;
  bool opened_ = false;
};

std::string difference(const Stream& stream, std::string_view who, const std::vector<Chunk>& expected,
                       const std::vector<Chunk>& got) {
  const auto [e, g] = std::ranges::mismatch(expected, got);
  const auto& sizes = stream.params->sizes();
  return fmt::format("{} differs at chunk {} of {} ({} bytes, {}, offset {}, sizes {} {} {})", who,
                     e - expected.begin(), expected.size(), stream.bytes.size(), stream.kind, stream.offset,
                     sizes.min, sizes.avg, sizes.max);
}

}  // namespace

std::optional<std::string> find_difference(PropertyOptions options, PropertyCounts& counts) {
  const base::SystemClock clock;
  CpuHasher portable(clock, Simd::portable);
  OnHostCard host_card(options.stream_bytes_max);
  OnEngine engine(options);
  Random random(options.seed);
  while (counts.bytes < options.bytes) {
    const Stream stream = random_stream(options.stream_bytes_max, random);
    Job whole = job_of(stream, 0, stream.bytes.size());
    whole.spans = {stream.bytes};
    const auto expected = portable.run(whole);
    if (!expected) return "the portable code fails";
    const auto wrong = [&](std::string_view who,
                           const std::vector<Chunk>& got) -> std::optional<std::string> {
      if (got == expected->chunks) return std::nullopt;
      return difference(stream, who, expected->chunks, got);
    };
    const bool slow = counts.streams % options.slow_one_in == 0;
    for (const Simd simd : available_simd())
      if (slow || simd != Simd::portable)
        if (auto what = wrong(name_of(simd), in_jobs(stream, simd, random, counts.jobs))) return what;
    if (auto what = wrong("the engine", engine.run(whole))) return what;
    if (slow)
      if (auto what = wrong("the card's code", host_card.run(whole, stream.bytes.size()))) return what;
    ++counts.streams;
    counts.bytes += stream.bytes.size();
    counts.chunks += expected->chunks.size();
    options.progress(counts.bytes);
  }
  counts.parts_worker = engine.stats().parts_worker;
  counts.parts_card = engine.stats().parts_card;
  return std::nullopt;
}

}  // namespace braid::hashing::test
