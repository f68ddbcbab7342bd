// Where chunks lie, by their ids, so that equal ones are found. It may be empty or wrong: whoever believes it
// compares the bytes first. In RocksDB, in bounded memory; it is never waited for.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "hashing/digest.h"
#include "store/chunks/location.h"

namespace braid::store {

struct IndexOptions {
  std::size_t cache_bytes = 64U << 20U;
  std::size_t buffer_bytes = 32U << 20U;  // of what is not written yet; up to twice as much
};

// Thread-safe.
class Index {
 public:
  static constexpr int open_files_max = 300;
  // Made if it is not there, and made anew if it is damaged. EIO: neither can be done.
  static base::Result<std::unique_ptr<Index>> open(const std::string& directory, const IndexOptions& options);
  virtual ~Index() = default;
  Index(const Index&) = delete;
  Index& operator=(const Index&) = delete;

  // Nothing, too, if the index cannot be read.
  virtual std::optional<Location> find(const hashing::Digest& id) = 0;
  // What cannot be kept is not found later. In the order in which they were put they survive a crash, up to
  // some moment.
  virtual void put(const hashing::Digest& id, Location at) = 0;
  // The same of several.
  struct Entry {
    hashing::Digest id{};
    Location at{};
  };
  virtual void put_all(std::span<const Entry> entries) {
    for (const Entry& entry : entries) put(entry.id, entry.at);
  }
  // The same of very many, which come in another order then: the last of those with one id counts. False:
  // there is no room for them now, and none of them was put.
  [[nodiscard]] virtual bool put_many(std::span<Entry> entries) {
    put_all(entries);
    return true;
  }
  // Whether there was no room for a chunk that was put: it is not found. Since the index was opened, or that
  // was forgotten.
  [[nodiscard]] virtual bool has_lost() const { return false; }
  virtual void forget_lost() {}
  // Nobody finds it any more.
  virtual void remove(const hashing::Digest& id) = 0;
  // How far the containers are known to the index: the chunks before it were put, unless they were lost.
  virtual std::optional<Location> known_to() = 0;
  virtual void put_known_to(Location at) = 0;
  // What a source of contents knows of a file, and can do without. Nothing: it was lost.
  virtual std::optional<base::Bytes> note(const hashing::Digest& file) = 0;
  virtual void put_note(const hashing::Digest& file, base::BytesView note) = 0;
  // What was put is written, though not synced.
  virtual void flush() = 0;
  [[nodiscard]] virtual std::uint64_t entries_about() const = 0;

 protected:
  Index() = default;
};

}  // namespace braid::store
