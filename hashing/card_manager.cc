#include "hashing/card_manager.h"

#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>

#include <algorithm>

#include "base/log.h"

namespace braid::hashing {
namespace {

// How often the card is asked whether a slot is finished.
constexpr auto poll_interval = std::chrono::microseconds(20);
constexpr int late_factor = 10;  // times the estimate
constexpr double newest = 0.1;   // how much the newest measurement weighs in the moving averages
constexpr std::uint64_t small_batch = 64 * base::KiB;
constexpr std::uint64_t large_batch = base::MiB;
// After so many batches without a failure the next one counts as the first again.
constexpr std::uint64_t proving_batches = 1000;

}  // namespace

CardManager::CardManager(std::unique_ptr<Card> card, const CardManagerOptions& options,
                         const base::Clock& clock, std::function<void(Task*)> redo)
    : card_(std::move(card)),
      options_(options),
      clock_(clock),
      redo_(std::move(redo)),
      queue_(options.patience),
      quarantine_(options.first_quarantine) {
  for (unsigned i = 0; i < options_.limits.slots; ++i) {
    slots_.emplace_back(options_.limits);
    idle_.push_back(i);
  }
  stats_.name = card_->name();
  open_card();
  thread_ = std::thread([this] { run(); });
}

CardManager::~CardManager() { stop(); }

bool CardManager::submit(Task* task) {
  if (!CardBatch::suits(task->job, task->bytes, options_.limits)) return false;
  {
    std::scoped_lock lock(mutex_);
    if (stopping_ || !in_use_ || queue_.bytes() + task->bytes > options_.queue_bytes_max) return false;
    queue_.push(task);
  }
  wake_.notify_one();
  return true;
}

base::Duration CardManager::estimate(std::uint64_t bytes) const {
  std::scoped_lock lock(mutex_);
  const auto ahead = static_cast<double>(queue_.bytes() + bytes_on_card_ + bytes);
  return base::Duration(static_cast<base::Duration::rep>(fixed_ns_ + ahead / bytes_per_ns_));
}

bool CardManager::in_use() const {
  std::scoped_lock lock(mutex_);
  return in_use_;
}

CardStats CardManager::stats() const {
  std::scoped_lock lock(mutex_);
  CardStats out = stats_;
  out.quarantined = !in_use_;
  return out;
}

void CardManager::open_card() {
  if (const auto opened = card_->open(options_.limits); !opened) {
    fail(base::message_of(opened.error()), Failure::error);
    return;
  }
  batches_since_open_ = 0;
  std::scoped_lock lock(mutex_);
  in_use_ = true;
}

// A batch is started when the card has nothing to do, when a slot's worth waits, or when somebody has waited
// long.
bool CardManager::may_flush(const std::unique_lock<std::mutex>&) const {
  if (queue_.empty() || idle_.empty() || !in_use_) return false;
  if (in_flight_.empty() && submitted_.empty()) return true;
  if (stopping_ || queue_.bytes() >= options_.limits.slot_bytes) return true;
  return queue_.due() <= clock_.now();
}

void CardManager::wait(std::unique_lock<std::mutex>& held) {
  if (!in_flight_.empty() || !submitted_.empty() || may_flush(held)) {
    if (!may_flush(held)) wake_.wait_for(held, poll_interval);
    return;
  }
  if (stopping_) return;
  const auto something = [this] { return stopping_ || !queue_.empty(); };
  if (in_use_)
    wake_.wait(held, something);
  else
    wake_.wait_for(held, std::max(retry_at_ - clock_.now(), base::Duration::zero()), something);
}

void CardManager::run() {
  // Signals are for the main thread.
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
  pthread_setname_np(pthread_self(), "braid-card");
  ::prctl(PR_SET_TIMERSLACK, 1000);  // ns: the poll interval is meant
  while (true) {
    {
      std::unique_lock lock(mutex_);
      wait(lock);
      if (stopping_ && queue_.empty() && in_flight_.empty() && submitted_.empty()) break;
    }
    if (!in_use()) {
      if (clock_.now() >= retry_at_) open_card();
      continue;
    }
    finish_slots();
    fill_slot();
    start_slots();
  }
  card_->close();
}

void CardManager::fill_slot() {
  std::unique_lock lock(mutex_);
  if (!may_flush(lock)) return;
  const unsigned index = idle_.back();
  CardBatch& batch = slots_[index].batch;
  while (Task* task = queue_.front()) {
    if (!batch.add(task)) break;
    queue_.pop();
  }
  idle_.pop_back();
  bytes_on_card_ += batch.bytes();
  submitted_.push_back(index);
}

void CardManager::start_slots() {
  while (!submitted_.empty() && in_flight_.size() < options_.in_flight_max) {
    const unsigned index = submitted_.front();
    Slot& slot = slots_[index];
    slot.started = clock_.now();
    // What is ahead of it on the card is in the estimate.
    slot.late_at = slot.started + std::max(options_.late_after, late_factor * estimate(0));
    if (const auto started = card_->start(index, slot.batch.finish()); !started)
      return fail(base::message_of(started.error()), Failure::error);
    submitted_.pop_front();
    in_flight_.push_back(index);
  }
}

void CardManager::finish_slots() {
  for (std::size_t i = 0; i < in_flight_.size();) {
    const unsigned index = in_flight_[i];
    const auto finished = card_->finished(index);
    if (!finished) return fail(base::message_of(finished.error()), Failure::error);
    if (!*finished) {
      if (clock_.now() > slots_[index].late_at) return fail("it does not finish", Failure::late);
      ++i;
      continue;
    }
    CardBatch& batch = slots_[index].batch;
    if (!batch.read(card_->records(index), options_.verify_one_in, verify_counter_))
      return fail("its results are wrong", Failure::wrong);
    in_flight_.erase(in_flight_.begin() + static_cast<std::ptrdiff_t>(i));
    complete(index);
  }
}

void CardManager::complete(unsigned index) {
  Slot& slot = slots_[index];
  const base::Duration took = clock_.now() - slot.started;
  {
    std::scoped_lock lock(mutex_);
    ++stats_.batches;
    stats_.bytes += slot.batch.bytes();
    stats_.jobs += slot.batch.tasks().size();
    bytes_on_card_ -= slot.batch.bytes();
    learn(slot.batch.bytes(), took);
  }
  if (++batches_since_open_ == proving_batches) quarantine_ = options_.first_quarantine;
  for (Task* task : slot.batch.tasks()) {
    task->result->timings.queued = slot.started - task->submitted;
    task->result->timings.on_card = took;
    task->complete();
  }
  slot.batch.clear();
  idle_.push_back(index);
}

void CardManager::learn(std::uint64_t bytes, base::Duration took) {
  const auto ns = static_cast<double>(took.count());
  if (bytes <= small_batch) fixed_ns_ += newest * (ns - fixed_ns_);
  if (bytes >= large_batch && ns > fixed_ns_)
    bytes_per_ns_ += newest * (static_cast<double>(bytes) / (ns - fixed_ns_) - bytes_per_ns_);
}

// Everything that the card had goes to the CPU, and the card is left alone for a while.
void CardManager::fail(std::string_view what, Failure how) {
  std::vector<Task*> lost;
  for (auto* slots : {&in_flight_, &submitted_}) {
    for (const unsigned index : *slots) {
      CardBatch& batch = slots_[index].batch;
      lost.insert(lost.end(), batch.tasks().begin(), batch.tasks().end());
      idle_.push_back(index);
    }
    slots->clear();
  }
  // Nothing may read the tasks' memory once they are given on: the card is closed first. One that does not
  // finish is not waited for.
  if (how != Failure::late) card_->close();
  for (Slot& slot : slots_) slot.batch.clear();
  base::log_event(base::Level::error, "card_quarantined", "card=\"{}\" reason=\"{}\" seconds={}", stats_.name,
                  what, std::chrono::duration_cast<std::chrono::seconds>(quarantine_).count());
  {
    std::scoped_lock lock(mutex_);
    in_use_ = false;
    bytes_on_card_ = 0;
    while (Task* task = queue_.pop()) lost.push_back(task);
    ++stats_.failures;
    if (how == Failure::wrong) ++stats_.wrong;
    if (how == Failure::late) ++stats_.late;
    stats_.jobs_redone += lost.size();
  }
  for (Task* task : lost) redo_(task);
  if (how == Failure::late) card_->abandon();
  retry_at_ = clock_.now() + quarantine_;
  quarantine_ = std::min(2 * quarantine_, options_.quarantine_max);
}

void CardManager::stop() {
  {
    std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

}  // namespace braid::hashing
