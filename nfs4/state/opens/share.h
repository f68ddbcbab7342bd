// Share reservations (RFC 7530 9.9, RFC 8881 9.7): what an OPEN wants to do and what it denies to others.
#pragma once

#include <cstdint>

namespace braid::nfs4::state {

// Bits as in OPEN4_SHARE_ACCESS_* and OPEN4_SHARE_DENY_*: 1 reading, 2 writing.
constexpr std::uint8_t share_read = 1;
constexpr std::uint8_t share_write = 2;
constexpr std::uint8_t share_both = 3;

struct Share {
  std::uint8_t access = 0;
  std::uint8_t deny = 0;

  [[nodiscard]] bool conflicts(const Share& other) const {
    return (access & other.deny) != 0 || (deny & other.access) != 0;
  }
  [[nodiscard]] bool covers(const Share& other) const {
    return (other.access & ~access) == 0 && (other.deny & ~deny) == 0;
  }
  [[nodiscard]] Share with(const Share& other) const {
    return {.access = static_cast<std::uint8_t>(access | other.access),
            .deny = static_cast<std::uint8_t>(deny | other.deny)};
  }
  friend bool operator==(const Share&, const Share&) = default;
};

// Which combinations one open owner has asked for on a file since its first OPEN: OPEN_DOWNGRADE may only go
// back to what is the union of some of them (RFC 8881 18.18.3).
class ShareHistory {
 public:
  void add(const Share& share) { seen_ = static_cast<std::uint16_t>(seen_ | bit(share)); }
  [[nodiscard]] bool allows(const Share& share) const {
    Share whole;
    bool any = false;
    each([&](const Share& one) {
      if (!share.covers(one)) return;
      whole = whole.with(one);
      any = true;
    });
    return any && whole == share;
  }
  // A bit for each.
  [[nodiscard]] std::uint16_t bits() const { return seen_; }
  // What exceeds `share` is forgotten.
  void cut(const Share& share) {
    std::uint16_t kept = bit(share);
    each([&](const Share& one) {
      if (share.covers(one)) kept = static_cast<std::uint16_t>(kept | bit(one));
    });
    seen_ = kept;
  }

 private:
  static std::uint16_t bit(const Share& share) {
    return static_cast<std::uint16_t>(1U << (share.access * 4U + share.deny));
  }
  template <class F>
  void each(F&& f) const {
    for (std::uint8_t access = 0; access <= share_both; ++access)
      for (std::uint8_t deny = 0; deny <= share_both; ++deny)
        if (const Share one{access, deny}; (seen_ & bit(one)) != 0) f(one);
  }
  std::uint16_t seen_ = 0;
};

}  // namespace braid::nfs4::state
