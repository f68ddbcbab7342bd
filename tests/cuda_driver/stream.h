// A stream: a thread that runs what is put into it, one after the other.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <random>
#include <thread>

namespace braid::cuda_driver {

class Stream {
 public:
  // `busy` counts streams that have commands.
  Stream(std::uint64_t seed, std::atomic<unsigned>& busy);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // Ends without what has not begun, and with a command that hangs cut short. Not by two threads at a time.
  void end();
  void put(std::function<void()> command);
  // A command that does not end before release() or end().
  void put_hang();
  void release();
  // Until all that was put before has ended.
  void wait();

 private:
  void run();

  std::mt19937_64 random_;
  std::atomic<unsigned>& busy_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> commands_;
  bool running_ = false;  // a command
  bool stopping_ = false;
  bool released_ = false;
  std::thread thread_;
};

}  // namespace braid::cuda_driver
