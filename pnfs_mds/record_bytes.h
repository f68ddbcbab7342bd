// The records of the metadata server's logs, byte by byte; numbers are big-endian.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/big_endian.h"
#include "base/bytes.h"

namespace braid::pnfs_mds {

class RecordWriter {
 public:
  template <class T>
  RecordWriter& number(T value) {
    const std::size_t at = out_.size();
    out_.resize(at + sizeof value);
    base::store_be<T>(out_, at, value);
    return *this;
  }
  RecordWriter& bytes(base::BytesView value) {
    out_.insert(out_.end(), value.begin(), value.end());
    return *this;
  }
  // At most 255 bytes, with their number before them.
  RecordWriter& counted(base::BytesView value) {
    return number(static_cast<std::uint8_t>(value.size())).bytes(value);
  }
  [[nodiscard]] base::Bytes take() { return std::move(out_); }

 private:
  base::Bytes out_;
};

// Reads what a RecordWriter has made; after something that is not there everything is zeros and empty.
class RecordReader {
 public:
  explicit RecordReader(base::BytesView record) : left_(record) {}

  template <class T>
  T number() {
    const base::BytesView got = bytes(sizeof(T));
    return ok_ ? base::load_be<T>(got, 0) : T{};
  }
  base::BytesView bytes(std::size_t count) {
    if (count > left_.size()) ok_ = false;
    if (!ok_) return {};
    const base::BytesView got = left_.first(count);
    left_ = left_.subspan(count);
    return got;
  }
  base::BytesView counted() { return bytes(number<std::uint8_t>()); }
  // All of it was there, and nothing is left.
  [[nodiscard]] bool ended() const { return ok_ && left_.empty(); }

 private:
  base::BytesView left_;
  bool ok_ = true;
};

}  // namespace braid::pnfs_mds
