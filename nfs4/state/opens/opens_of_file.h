// The opens of one file: to be found by their owner, and what they allow together.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>

#include "nfs4/nfs4.x.h"
#include "nfs4/state/few_list.h"
#include "nfs4/state/opens/share.h"

namespace braid::nfs4::state {

struct OpenOwner;
struct OpenState;

// How many opens read, write, and deny either.
class ShareCounts {
 public:
  void add(const Share& share) { count(share, 1); }
  void remove(const Share& share) { count(share, ~std::uint32_t{0}); }
  // Whether one of them conflicts with this.
  [[nodiscard]] bool conflict(const Share& share) const {
    return any(access_, share.deny) || any(deny_, share.access);
  }
  [[nodiscard]] bool denies(std::uint8_t access) const { return any(deny_, access); }
  [[nodiscard]] std::uint32_t writing() const { return access_[1]; }

 private:
  // By bit.
  using Counts = std::array<std::uint32_t, 2>;
  static bool any(const Counts& counts, std::uint8_t bits) {
    return ((bits & share_read) != 0 && counts[0] > 0) || ((bits & share_write) != 0 && counts[1] > 0);
  }
  static void count(Counts& counts, std::uint8_t bits, std::uint32_t by) {
    if ((bits & share_read) != 0) counts[0] += by;
    if ((bits & share_write) != 0) counts[1] += by;
  }
  // `by` is 1 or its opposite.
  void count(const Share& share, std::uint32_t by) {
    count(access_, share.access, by);
    count(deny_, share.deny, by);
  }

  Counts access_{};
  Counts deny_{};
};

// Not thread-safe. The opens outlive their place here, which OpenState::at_file is.
class OpensOfFile {
 public:
  OpensOfFile();
  ~OpensOfFile();
  OpensOfFile(const OpensOfFile&) = delete;
  OpensOfFile& operator=(const OpensOfFile&) = delete;

  void add(OpenState& open);
  // True: its client has no other open of this file.
  bool remove(OpenState& open);
  // The only way to change what an open does and denies.
  void set_share(OpenState& open, const Share& share);

  // Null: it has none.
  [[nodiscard]] OpenState* of(const OpenOwner& owner) const;
  [[nodiscard]] const ShareCounts& shares() const { return shares_; }

  // In no order.
  [[nodiscard]] bool empty() const { return all_.empty(); }
  [[nodiscard]] std::size_t size() const { return all_.size(); }
  [[nodiscard]] OpenState* front() const { return all_[0]; }
  [[nodiscard]] auto begin() const { return all_.begin(); }
  [[nodiscard]] auto end() const { return all_.end(); }

 private:
  // Most files have few, which are looked at one by one.
  static constexpr std::size_t few = 8;
  struct Index {
    std::map<const OpenOwner*, OpenState*> by_owner;
    std::map<clientid4, std::uint32_t> of_client;  // how many
  };
  static void put(Index& index, OpenState& open);

  FewList<OpenState> all_;
  ShareCounts shares_;
  std::unique_ptr<Index> index_;  // from more than `few` on, until there are none
};

}  // namespace braid::nfs4::state
