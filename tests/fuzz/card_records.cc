// Whatever records a card returns: they are refused, or the results are those of the CPU. Input: which of
// three batches; then, four bytes each, what of the right records is changed: a record, a byte of it, and
// what it becomes; the fourth says whether the byte is replaced, or whether another record is copied over the
// whole record.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "base/assert.h"
#include "base/clock.h"
#include "hashing/card_batch.h"
#include "hashing/cpu_hasher.h"
#include "hashing/host/host_card.h"

namespace {

using namespace braid::hashing;
using braid::base::Bytes;
using braid::base::BytesView;
using braid::base::check;

constexpr CardLimits limits{.slots = 1, .slot_bytes = 1 << 20, .streams_max = 16};
constexpr std::size_t change_bytes = 4;
const Key key;

Bytes some_bytes() {
  std::mt19937 random(1);
  Bytes out(300'000);
  for (std::byte& b : out) b = static_cast<std::byte>(random());
  std::fill(out.begin() + 100'000, out.begin() + 160'000, std::byte{});
  return out;
}

// A batch, the records that the card's code gives for it, and the results of the CPU.
class Batch {
 public:
  explicit Batch(std::vector<Job> jobs) : batch_(limits), tasks_(jobs.size()) {
    const braid::base::SystemClock clock;
    CpuHasher cpu(clock);
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      tasks_[i].job = std::move(jobs[i]);
      tasks_[i].bytes = checked_bytes(tasks_[i].job).value();
      check(batch_.add(&tasks_[i]), "the job fits");
      expected_.push_back(cpu.run(tasks_[i].job).value());
    }
    HostCard card;
    check(card.open(limits).has_value() && card.start(0, batch_.finish()).has_value(), "the card works");
    const auto records = card.records(0);
    right_.assign(records.begin(), records.end());
  }

  void read(BytesView changes) {
    std::vector<card::Record> records = right_;
    for (; changes.size() >= change_bytes; changes = changes.subspan(change_bytes)) apply(changes, records);
    ResultChecks checks(1);
    if (!batch_.read(records, checks)) return;
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      check(tasks_[i].result->chunks == expected_[i].chunks, "a wrong record is believed");
      check(tasks_[i].result->consumed == expected_[i].consumed, "a wrong end is believed");
    }
  }

 private:
  void apply(BytesView change, std::vector<card::Record>& records) const {
    const auto at = [&](std::size_t i) { return std::to_integer<std::size_t>(change[i]); };
    card::Record& record = records[at(0) % records.size()];
    if (at(3) % 2 == 1) {
      record = right_[at(2) % right_.size()];
      return;
    }
    std::array<std::byte, sizeof(card::Record)> bytes;
    std::memcpy(bytes.data(), &record, sizeof record);
    bytes[at(1) % bytes.size()] = change[2];
    std::memcpy(&record, bytes.data(), sizeof record);
  }

  CardBatch batch_;
  std::vector<Task> tasks_;
  std::vector<JobResult> expected_;
  std::vector<card::Record> right_;
};

std::vector<Batch>& batches() {
  static const ChunkParams params = ChunkParams::by_content({4096, 8192, 20000}, key).value();
  static const Bytes data = some_bytes();
  static std::vector<Batch> all = [] {
    const BytesView view(data);
    const auto stream = [&](std::size_t at, std::size_t bytes, Work work, bool is_end) {
      return Job{
          .work = work, .params = &params, .key = key, .spans = {view.subspan(at, bytes)}, .is_end = is_end};
    };
    std::vector<Batch> out;
    out.emplace_back(std::vector{stream(0, 60'000, Work::chunk_and_hash, true),
                                 stream(90'000, 50'000, Work::chunk_and_hash, false)});
    out.emplace_back(
        std::vector{stream(0, 50'000, Work::chunk, true), stream(100'000, 40'000, Work::chunk, true)});
    out.emplace_back(std::vector{
        Job{.work = Work::hash, .key = key, .spans = {view.first(5000), view.subspan(120'000, 4096), {}}}});
    return out;
  }();
  return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const BytesView bytes(reinterpret_cast<const std::byte*>(data), size);
  batches()[data[0] % batches().size()].read(bytes.subspan(1));
  return 0;
}
