// Sets of attribute numbers: bitmap4 (RFC 8881 section 3.3.7) as a value of fixed size.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>

namespace braid::nfs4 {

// The attributes this server has a row for are numbers 0 to 86, so three words hold any set of them. What a
// peer names beyond is kept as a single fact, has_unknown(): a request for it is answered without it, setting
// or comparing it is refused.
class Bitmap {
 public:
  static constexpr std::size_t words_max = 3;
  static constexpr std::uint32_t bits = 32 * words_max;

  constexpr Bitmap() = default;
  constexpr Bitmap(std::initializer_list<std::uint32_t> numbers) {
    for (const std::uint32_t number : numbers) add(number);
  }
  // Of any length: words beyond words_max only say whether they name something.
  static constexpr Bitmap of_wire(std::span<const std::uint32_t> wire) {
    Bitmap map;
    for (std::size_t i = 0; i < wire.size(); ++i) {
      if (i < words_max)
        map.words_[i] = wire[i];
      else
        map.unknown_ = map.unknown_ || wire[i] != 0;
    }
    return map;
  }

  // Numbers from `bits` on are nobody's.
  [[nodiscard]] constexpr bool has(std::uint32_t number) const {
    return number < bits && (words_[number / 32] >> (number % 32) & 1U) != 0;
  }
  constexpr void add(std::uint32_t number) { words_[number / 32] |= 1U << (number % 32); }
  constexpr void remove(std::uint32_t number) { words_[number / 32] &= ~(1U << (number % 32)); }
  // True if nothing is named, known or not.
  [[nodiscard]] constexpr bool empty() const { return !any() && !unknown_; }
  [[nodiscard]] constexpr std::size_t count() const {
    std::size_t sum = 0;
    for (const std::uint32_t word : words_) sum += static_cast<std::size_t>(std::popcount(word));
    return sum;
  }
  [[nodiscard]] constexpr bool has_unknown() const { return unknown_; }
  [[nodiscard]] constexpr bool intersects(const Bitmap& other) const { return (*this & other).any(); }
  // True if everything named here is in `other`.
  [[nodiscard]] constexpr bool within(const Bitmap& other) const {
    return !unknown_ && !(*this - other).any();
  }

  // What goes on the wire: no words of zero at the end. A view of this object.
  [[nodiscard]] constexpr std::span<const std::uint32_t> wire() const {
    std::size_t used = words_max;
    while (used > 0 && words_[used - 1] == 0) --used;
    return {words_.data(), used};
  }

  // Calls f(number) in ascending order, which is the order of values in a fattr4.
  template <class F>
  constexpr void for_each(F&& f) const {
    for (std::size_t i = 0; i < words_max; ++i)
      for (std::uint32_t left = words_[i]; left != 0; left &= left - 1)
        f(static_cast<std::uint32_t>(32 * i) + static_cast<std::uint32_t>(std::countr_zero(left)));
  }

  friend constexpr Bitmap operator&(Bitmap a, const Bitmap& b) {
    for (std::size_t i = 0; i < words_max; ++i) a.words_[i] &= b.words_[i];
    a.unknown_ = a.unknown_ && b.unknown_;
    return a;
  }
  friend constexpr Bitmap operator|(Bitmap a, const Bitmap& b) {
    for (std::size_t i = 0; i < words_max; ++i) a.words_[i] |= b.words_[i];
    a.unknown_ = a.unknown_ || b.unknown_;
    return a;
  }
  // What is in `a` and not in `b`.
  friend constexpr Bitmap operator-(Bitmap a, const Bitmap& b) {
    for (std::size_t i = 0; i < words_max; ++i) a.words_[i] &= ~b.words_[i];
    return a;
  }
  friend constexpr bool operator==(const Bitmap&, const Bitmap&) = default;

 private:
  // Cheaper than count(), for which the processors that this is compiled for have no instruction.
  [[nodiscard]] constexpr bool any() const {
    std::uint32_t all = 0;
    for (const std::uint32_t word : words_) all |= word;
    return all != 0;
  }
  std::array<std::uint32_t, words_max> words_{};
  bool unknown_ = false;
};

}  // namespace braid::nfs4
