#include "tests/cuda_driver/stream.h"

#include <utility>

namespace braid::cuda_driver {

Stream::Stream(std::uint64_t seed, std::atomic<unsigned>& busy)
    : random_(seed), busy_(busy), thread_([this] { run(); }) {}

Stream::~Stream() { end(); }

void Stream::end() {
  if (!thread_.joinable()) return;
  {
    std::scoped_lock lock(mutex_);
    stopping_ = true;
    if (!commands_.empty() && !running_) --busy_;
    commands_.clear();
  }
  changed_.notify_all();
  thread_.join();
}

void Stream::put(std::function<void()> command) {
  {
    std::scoped_lock lock(mutex_);
    if (commands_.empty() && !running_) ++busy_;
    commands_.push_back(std::move(command));
  }
  changed_.notify_all();
}

void Stream::put_hang() {
  put([this] {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return stopping_ || released_; });
  });
}

void Stream::release() {
  {
    std::scoped_lock lock(mutex_);
    released_ = true;
  }
  changed_.notify_all();
}

void Stream::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return stopping_ || (commands_.empty() && !running_); });
}

void Stream::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stopping_ || !commands_.empty(); });
    if (stopping_) return;
    const auto command = std::move(commands_.front());
    commands_.pop_front();
    running_ = true;
    const bool pause = random_() % 4 == 0;
    lock.unlock();
    if (pause) std::this_thread::yield();
    command();
    lock.lock();
    running_ = false;
    if (commands_.empty()) {
      --busy_;
      changed_.notify_all();
    }
  }
}

}  // namespace braid::cuda_driver
