// Rates in a table: each beside what the same machine does at the same time when it copies and when it hashes
// with OpenSSL.
#pragma once

#include <functional>
#include <string>

#include "base/bytes.h"

namespace braid::bench {

// Whether rows are to be seen to work, not measured: each ends after a moment, and works on less.
void set_quick();
bool is_quick();

// GB/s of this thread's CPU time, the best of many short runs after a warm-up: what a neighbour on the same
// core takes away is no property of the code. work() handles `bytes` bytes.
double rate_of(std::size_t bytes, const std::function<void()>& work);

class Table {
 public:
  // Measures this core's memcpy and SHA-256, and prints the head and those two rows.
  explicit Table(const std::string& title);
  // Measures and prints.
  void row(const std::string& name, std::size_t bytes, const std::function<void()>& work) const {
    print(name, rate_of(bytes, work));
  }
  // One row; `notes` goes behind it.
  void print(const std::string& name, double gb_per_second, const std::string& notes = {}) const;
  // A row that this machine cannot measure.
  void print_missing(const std::string& name, const std::string& reason) const;
  // Random bytes, the same in every run.
  [[nodiscard]] base::BytesView data() const { return data_; }

 private:
  base::Bytes data_;
  double memcpy_ = 0, sha256_ = 0;
};

}  // namespace braid::bench
