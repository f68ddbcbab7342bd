// Which client said that it has mounted what: DUMP shows it, nothing else uses it (RFC 1813 5.2.2 calls it a
// hint).
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "base/guarded.h"

namespace braid::nfs3::mount {

// Thread-safe; lives in memory only. When it is full the oldest entry makes room.
class MountList {
 public:
  static constexpr std::size_t entries_max = 1024;
  struct Entry {
    std::string client;
    std::string path;
    friend bool operator==(const Entry&, const Entry&) = default;
  };

  // An entry that is there already moves to the end.
  void add(std::string_view client, std::string_view path);
  void remove(std::string_view client, std::string_view path);
  void remove_all(std::string_view client);
  // Oldest first.
  [[nodiscard]] std::vector<Entry> entries() const;

 private:
  base::Guarded<std::deque<Entry>> entries_;
};

}  // namespace braid::nfs3::mount
