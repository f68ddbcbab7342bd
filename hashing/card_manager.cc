#include "hashing/card_manager.h"

#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>

#include <algorithm>

#include "base/log.h"

namespace braid::hashing {
namespace {

constexpr auto look_after_max = std::chrono::milliseconds(5);
constexpr int late_factor = 10;  // times the estimate
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
      quarantine_(options.first_quarantine),
      checks_(options.verify_one_in) {
  for (unsigned i = 0; i < options_.limits.slots; ++i) {
    slots_.emplace_back(options_.limits);
    idle_.push_back(i);
  }
  stats_.name = card_->name();
}

std::shared_ptr<CardManager> CardManager::create(std::unique_ptr<Card> card,
                                                 const CardManagerOptions& options, const base::Clock& clock,
                                                 std::function<void(Task*)> redo) {
  std::shared_ptr<CardManager> out(new CardManager(std::move(card), options, clock, std::move(redo)));
  // The thread has a share of it: see stop().
  out->thread_ = std::thread([self = out] { self->run(); });
  out->watch_ = std::thread([self = out.get()] { self->watch(); });
  std::unique_lock lock(out->mutex_);
  out->changed_.wait_for(lock, options.open_patience, [&] { return out->opened_once_; });
  return out;
}

bool CardManager::submit(Task* task) {
  {
    std::scoped_lock lock(mutex_);
    if (stopping_ || !in_use_ || queue_.bytes() + task->bytes > options_.queue_bytes_max) return false;
    queue_.push(task);
    // What waits until a batch on the card has ended is found then: waking the thread costs more than the
    // rest.
    if (queue_.due() >= wakes_at_ && queue_.bytes() < options_.limits.slot_bytes) return true;
  }
  wake_.notify_one();
  return true;
}

base::Duration CardManager::estimate(std::uint64_t bytes) const {
  std::scoped_lock lock(mutex_);
  return cost_.of(queue_.bytes() + bytes_on_card_ + bytes);
}

bool CardManager::may_measure() {
  std::scoped_lock lock(mutex_);
  const base::TimePoint now = clock_.now();
  if (now - measured_at_ < options_.measure_after) return false;
  measured_at_ = now;
  return true;
}

CardStats CardManager::stats() const {
  std::scoped_lock lock(mutex_);
  CardStats out = stats_;
  out.quarantined = !in_use_;
  out.fixed = cost_.fixed();
  out.gb_per_second = cost_.bytes_per_ns();
  return out;
}

template <class Call>
auto CardManager::on_card(Call call) -> std::optional<decltype(call())> {
  on_card_since_ = clock_.now().time_since_epoch().count();
  where_.store(Place::on_card, std::memory_order_release);
  auto result = call();
  Place place = Place::on_card;
  if (where_.compare_exchange_strong(place, Place::here, std::memory_order_acq_rel)) return result;
  give_up();
  return std::nullopt;
}

void CardManager::open_card() {
  const auto opened = on_card([this] { return card_->open(options_.limits); });
  if (opened && !*opened) fail(base::message_of(opened->error()), Failure::error);
  batches_since_open_ = 0;
  {
    std::scoped_lock lock(mutex_);
    in_use_ = opened && *opened;
    measured_at_ = clock_.now();
    opened_once_ = true;
  }
  changed_.notify_all();
}

// A batch is started when the card has nothing to do, when a slot's worth waits, or when somebody has waited
// long.
bool CardManager::may_flush(const std::unique_lock<std::mutex>&) const {
  if (queue_.empty() || idle_.empty() || !in_use_) return false;
  if (in_flight_.empty() && submitted_.empty()) return true;
  if (stopping_ || queue_.bytes() >= options_.limits.slot_bytes) return true;
  return queue_.due() <= clock_.now();
}

base::TimePoint CardManager::next_look(base::TimePoint now) const {
  base::TimePoint out = now + look_after_max;
  for (const unsigned index : in_flight_) out = std::min(out, LookPlan::next(slots_[index].looks, now));
  return out;
}

void CardManager::wait(std::unique_lock<std::mutex>& held, base::TimePoint now, base::TimePoint look_at) {
  if (look_at <= now || may_flush(held)) return;
  if (!in_flight_.empty() || !submitted_.empty()) {
    // A task that waits for others may be due before.
    wakes_at_ = queue_.empty() || idle_.empty() ? look_at : std::min(look_at, queue_.due());
    wake_.wait_for(held, wakes_at_ - now);
    wakes_at_ = base::TimePoint::max();
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
    // Whoever submits waits for the lock: it is taken once for each look, and not for long.
    const base::TimePoint now = clock_.now();
    const base::TimePoint look_at = next_look(now);
    {
      std::unique_lock lock(mutex_);
      wait(lock, now, look_at);
      if (stopping_ && queue_.empty() && in_flight_.empty() && submitted_.empty()) break;
      fill_slot(lock);
    }
    if (!in_use()) {
      if (clock_.now() >= retry_at_) open_card();
      continue;
    }
    finish_slots();
    start_slots();
  }
  (void)on_card([this] {
    card_->close();
    return true;
  });
  {
    std::scoped_lock lock(mutex_);
    ended_ = true;
  }
  changed_.notify_all();
}

void CardManager::watch() {
  constexpr auto interval = std::chrono::milliseconds(10);
  std::unique_lock lock(mutex_);
  while (!ended_ && !orphaned_) {
    changed_.wait_for(lock, interval);
    if (where_ != Place::on_card || (queue_.empty() && bytes_on_card_ == 0)) continue;
    const base::Duration since = clock_.now().time_since_epoch() - base::Duration(on_card_since_);
    if (since > std::max(options_.late_after, late_factor * cost_.of(bytes_on_card_))) take_away(lock);
  }
}

std::vector<Task*> CardManager::take_tasks(Failure how) {
  std::vector<Task*> out;
  for (const auto* slots : {&in_flight_, &submitted_})
    for (const unsigned index : *slots) {
      const std::vector<Task*>& tasks = slots_[index].batch.tasks();
      out.insert(out.end(), tasks.begin(), tasks.end());
    }
  while (Task* task = queue_.pop()) out.push_back(task);
  in_use_ = false;
  bytes_on_card_ = 0;
  ++stats_.failures;
  if (how == Failure::wrong) ++stats_.wrong;
  if (how == Failure::late) ++stats_.late;
  stats_.jobs_redone += out.size();
  return out;
}

bool CardManager::take_away(std::unique_lock<std::mutex>& held) {
  Place place = Place::on_card;
  if (!where_.compare_exchange_strong(place, Place::taken, std::memory_order_acq_rel)) return false;
  const std::vector<Task*> lost = take_tasks(Failure::late);
  held.unlock();
  for (Task* task : lost) redo_(task);
  held.lock();
  return true;
}

// On the thread that did not come back, and did now. The tasks are others' already.
void CardManager::give_up() {
  {
    std::unique_lock lock(mutex_);
    // What this thread has is never looked at again.
    while (orphaned_) changed_.wait(lock);
  }
  clear_slots();
  where_.store(Place::here, std::memory_order_release);
  quarantine("a call of its driver took too long");
}

void CardManager::clear_slots() {
  for (auto* slots : {&in_flight_, &submitted_}) {
    idle_.insert(idle_.end(), slots->begin(), slots->end());
    slots->clear();
  }
  for (Slot& slot : slots_) slot.batch.clear();
}

void CardManager::fill_slot(const std::unique_lock<std::mutex>& held) {
  if (!may_flush(held)) return;
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

// What is ahead of it on the card is in the estimate; what waits for the card is not.
base::Duration CardManager::estimate_of(const Slot& slot) const {
  std::uint64_t bytes = slot.batch.bytes();
  for (const unsigned index : in_flight_) bytes += slots_[index].batch.bytes();
  std::scoped_lock lock(mutex_);
  return cost_.of(bytes);
}

void CardManager::start_slots() {
  while (!submitted_.empty() && in_flight_.size() < options_.in_flight_max) {
    const unsigned index = submitted_.front();
    Slot& slot = slots_[index];
    slot.started = clock_.now();
    const base::Duration estimated = estimate_of(slot);
    slot.looks = look_plan_.plan(slot.started, estimated);
    card_->gather(index, slot.batch.finish());
    const auto started = on_card([this, index] {
      auto loaded = card_->load(index);
      return loaded ? card_->run(index) : loaded;
    });
    if (!started) return;
    if (!*started) return fail(base::message_of(started->error()), Failure::error);
    // How long the card has been asked to work, not how long that has taken: watch() sees to that.
    slot.late_at = clock_.now() + std::max(options_.late_after, late_factor * estimated);
    submitted_.pop_front();
    in_flight_.push_back(index);
  }
}

void CardManager::finish_slots() {
  for (std::size_t i = 0; i < in_flight_.size();) {
    const unsigned index = in_flight_[i];
    // Before it is asked: this thread may be kept from its processor for long before it looks at the answer.
    const base::TimePoint now = clock_.now();
    const auto asked = on_card([this, index] { return card_->finished(index); });
    if (!asked) return;
    const base::Result<bool>& finished = *asked;
    Slot& slot = slots_[index];
    LookPlan::look(slot.looks, now);
    if (!finished) return fail(base::message_of(finished.error()), Failure::error);
    if (!*finished) {
      if (now > slot.late_at) return fail("it does not finish", Failure::late);
      ++i;
      continue;
    }
    look_plan_.learn(slot.looks);
    if (!slot.batch.read(card_->records(index), checks_))
      return fail("its results are wrong", Failure::wrong);
    in_flight_.erase(in_flight_.begin() + static_cast<std::ptrdiff_t>(i));
    complete(index);
  }
}

void CardManager::complete(unsigned index) {
  Slot& slot = slots_[index];
  const base::TimePoint now = clock_.now();
  const base::Duration took = now - slot.started;
  // It had the card to itself since the batch before ended.
  const base::Duration alone = now - std::max(slot.started, last_end_);
  last_end_ = now;
  {
    std::scoped_lock lock(mutex_);
    ++stats_.batches;
    stats_.bytes += slot.batch.bytes();
    stats_.jobs += slot.batch.tasks().size();
    bytes_on_card_ -= slot.batch.bytes();
    cost_.learn(slot.batch.bytes(), alone);
    measured_at_ = now;
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

// Everything that the card had goes to the CPU, and the card is left alone for a while. It may still read the
// tasks' bytes, those in memory that it uploads from; what it makes of them is of no use.
void CardManager::fail(std::string_view what, Failure how) {
  std::vector<Task*> lost;
  {
    std::scoped_lock lock(mutex_);
    lost = take_tasks(how);
  }
  clear_slots();
  for (Task* task : lost) redo_(task);
  quarantine(what);
}

// The card's context is given up first: only a new one is sure to work.
void CardManager::quarantine(std::string_view what) {
  base::log_event(base::Level::error, "card_quarantined", "card=\"{}\" reason=\"{}\" seconds={}", stats_.name,
                  what, std::chrono::duration_cast<std::chrono::seconds>(quarantine_).count());
  const base::Duration pause = quarantine_;
  quarantine_ = std::min(2 * quarantine_, options_.quarantine_max);
  (void)on_card([this] {
    card_->abandon();
    return true;
  });
  retry_at_ = clock_.now() + pause;
}

void CardManager::stop() {
  {
    std::unique_lock lock(mutex_);
    stopping_ = true;
    wake_.notify_all();
    while (!ended_ && !orphaned_) {
      changed_.wait_for(lock, std::chrono::milliseconds(10));
      const base::Duration since = clock_.now().time_since_epoch() - base::Duration(on_card_since_);
      if (where_ == Place::here || since <= options_.stop_patience) continue;
      if (where_ == Place::on_card && !take_away(lock)) continue;
      orphaned_ = true;
    }
  }
  changed_.notify_all();
  watch_.join();
  if (!orphaned_) return thread_.join();
  base::log_event(base::Level::error, "card_left_behind", "card=\"{}\": a call of its driver does not return",
                  stats_.name);
  thread_.detach();
}

}  // namespace braid::hashing
