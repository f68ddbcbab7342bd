#include "hashing/card_batch.h"

#include <algorithm>
#include <cstring>

namespace braid::hashing {
namespace {

std::uint32_t aligned(std::uint64_t bytes) {
  constexpr std::uint64_t unit = card::stream_alignment;
  return static_cast<std::uint32_t>((bytes + unit - 1) / unit * unit);
}

std::uint32_t records_of(const Job& job, std::uint64_t bytes) {
  // The first block of a fixed profile may be short, and the last chunk of any.
  return static_cast<std::uint32_t>(bytes / job.params->sizes().min + 2);
}

}  // namespace

bool CardBatch::suits(const Job& job, std::uint64_t bytes, const CardLimits& limits) {
  if (job.algorithm == Algorithm::sha256_tree) return false;
  if (job.work != Work::hash) return aligned(bytes) <= limits.slot_bytes;
  if (job.spans.size() > limits.streams_max) return false;
  std::uint64_t total = 0;
  for (const base::BytesView span : job.spans) total += aligned(span.size());
  return total <= limits.slot_bytes;
}

bool CardBatch::add(Task* task) {
  const Job& job = task->job;
  const bool cuts = job.work != Work::hash;
  if (!tasks_.empty()) {
    const Job& first = tasks_.front()->job;
    if (first.algorithm != job.algorithm || !(first.key == job.key)) return false;
    if (cuts && params_ != nullptr && params_ != job.params) return false;
    std::uint64_t input = input_ + (cuts ? aligned(task->bytes) : 0U);
    if (!cuts)
      for (const base::BytesView span : job.spans) input += aligned(span.size());
    const std::size_t streams = work_.streams.size() + (cuts ? 1 : job.spans.size());
    if (input > limits_.slot_bytes || streams > limits_.streams_max) return false;
  }
  placed_.push_back({task, static_cast<std::uint32_t>(work_.streams.size())});
  tasks_.push_back(task);
  bytes_ += task->bytes;
  if (cuts) {
    params_ = job.params;
    const std::uint32_t flags =
        (job.is_end ? card::is_at_end : 0U) | (job.work == Work::chunk ? card::has_no_ids : 0U);
    add_stream(job.spans, job.stream_offset, flags, records_of(job, task->bytes));
    return true;
  }
  for (const base::BytesView& span : job.spans) add_stream({&span, 1}, 0, card::is_one_chunk, 1);
  return true;
}

void CardBatch::add_stream(std::span<const base::BytesView> spans, std::uint64_t offset, std::uint32_t flags,
                           std::uint32_t records) {
  std::uint32_t bytes = 0;
  for (const base::BytesView span : spans) {
    if (!span.empty()) work_.pieces.push_back({span, input_ + bytes});
    bytes += static_cast<std::uint32_t>(span.size());
  }
  work_.streams.push_back({offset, input_, bytes, records_, records, tiles_, flags});
  input_ += aligned(bytes);
  records_ += records;
  // Leaves of every algorithm have at least so many bytes.
  tiles_ += card::tiles_of(bytes, records, blake3::leaf_bytes);
}

const CardWork& CardBatch::finish() {
  card::Batch& batch = work_.batch;
  batch = {};
  sequence_ = sequence_ % card::sequence_mask + 1;
  batch.sequence = sequence_;
  batch.input_bytes = input_;
  batch.stream_count = static_cast<std::uint32_t>(work_.streams.size());
  batch.record_count = records_;
  batch.tile_count = tiles_;
  const Job& first = tasks_.front()->job;
  if (first.algorithm == Algorithm::md5_tree) {
    batch.function = card::md5_tree_function;
    batch.leaf_bytes = card::md5_leaf_bytes;
  } else {
    batch.function = card::blake3_function;
    batch.leaf_bytes = blake3::leaf_bytes;
  }
  const blake3::Mode mode = blake3::keyed_mode(first.key);
  batch.flags = mode.flags;
  std::memcpy(batch.key, mode.key.word, sizeof batch.key);
  if (params_ == nullptr) return work_;
  batch.chunk_min = params_->sizes().min;
  batch.chunk_avg = params_->sizes().avg;
  batch.chunk_max = params_->sizes().max;
  batch.prefilter = params_->loose().prefilter;
  batch.loose_verify = params_->loose().verify;
  batch.strict_verify = params_->strict().verify;
  std::memcpy(work_.tables.g16, params_->tables().g16, sizeof work_.tables.g16);
  std::memcpy(work_.tables.g32, params_->tables().g32, sizeof work_.tables.g32);
  return work_;
}

bool CardBatch::read_stream(const card::Stream& stream, std::span<const card::Record> records,
                            std::uint32_t count, JobResult& out) const {
  const bool is_one = (stream.flags & card::is_one_chunk) != 0;
  const std::size_t before = out.chunks.size();
  std::uint32_t done = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    const card::Record& record = records[stream.first_record + i];
    if ((record.flags & card::is_used) == 0) break;
    if ((record.flags >> card::sequence_shift & card::sequence_mask) != sequence_) return false;
    if (record.begin != stream.begin + done || record.length > stream.bytes - done) return false;
    if (record.length == 0 && !is_one) return false;
    Chunk chunk{stream.stream_offset + done, record.length, record.flags & card::chunk_flags, {}};
    if ((stream.flags & card::has_no_ids) == 0)
      std::memcpy(chunk.id.bytes.data(), record.id, digest_bytes);
    else
      chunk.flags &= ~std::uint32_t{zero_chunk};
    out.chunks.push_back(chunk);
    done += record.length;
  }
  if ((is_one || (stream.flags & card::is_at_end) != 0) && done != stream.bytes) return false;
  // An empty span has a chunk, too.
  if (is_one && out.chunks.size() != before + 1) return false;
  // So many bytes have an end among them.
  if (!is_one && stream.bytes - done >= work_.batch.chunk_max) return false;
  out.consumed += done;
  return true;
}

bool CardBatch::read(std::span<const card::Record> records, ResultChecks& checks) {
  if (records.size() != records_) return false;
  for (std::size_t p = 0; p < placed_.size(); ++p) {
    const auto& [task, first] = placed_[p];
    const std::size_t last = p + 1 < placed_.size() ? placed_[p + 1].first_stream : work_.streams.size();
    JobResult result;
    const std::uint32_t end_of_task =
        last < work_.streams.size() ? work_.streams[last].first_record : records_;
    if (first < last) result.chunks.reserve(end_of_task - work_.streams[first].first_record);
    for (std::size_t s = first; s < last; ++s) {
      const card::Stream& stream = work_.streams[s];
      const std::uint32_t end = s + 1 < work_.streams.size() ? work_.streams[s + 1].first_record : records_;
      const std::size_t before = result.chunks.size();
      const std::uint64_t offset = result.consumed;
      if (!read_stream(stream, records, end - stream.first_record, result)) return false;
      if (task->job.work == Work::hash)
        for (std::size_t i = before; i < result.chunks.size(); ++i)
          result.chunks[i].offset += task->job.stream_offset + offset;
    }
    result.choice.where = Where::card;
    task->result = std::move(result);
  }
  return checks.are_right(tasks_);
}

void CardBatch::clear() {
  work_.pieces.clear();
  work_.streams.clear();
  tasks_.clear();
  placed_.clear();
  params_ = nullptr;
  bytes_ = 0;
  records_ = tiles_ = input_ = 0;
}

}  // namespace braid::hashing
