// Which client said that it has mounted what: DUMP shows it, nothing else uses it (RFC 1813 5.2.2 calls it a
// hint).
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/guarded.h"
#include "rpc/peer_account.h"

namespace braid::nfs3::mount {

// Thread-safe; lives in memory only. When it is full, the oldest entry of the address with the most makes
// room: one of the newcomer's own, if nobody has more.
class MountList {
 public:
  static constexpr std::size_t entries_max = 1024;
  struct Entry {
    std::string client;
    std::string path;
    friend bool operator==(const Entry&, const Entry&) = default;
  };

  // An entry that is there already moves to the end. `peer`: the client's address.
  void add(const rpc::PeerKey& peer, std::string_view client, std::string_view path);
  void remove(std::string_view client, std::string_view path);
  void remove_all(std::string_view client);
  // Oldest first.
  [[nodiscard]] std::vector<Entry> entries() const;

 private:
  struct Known {
    Entry entry;
    rpc::PeerKey peer{};
  };
  struct List {
    std::deque<Known> entries;
    std::map<rpc::PeerKey, std::size_t> of_peer;
    template <class F>
    void remove_if(F matches);
    void make_room(const rpc::PeerKey& newcomer);
  };
  base::Guarded<List> list_;
};

}  // namespace braid::nfs3::mount
