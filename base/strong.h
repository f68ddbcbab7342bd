// Strong ids: numbers of different meaning that do not convert to each other.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace braid::base {

// struct FileIdTag; using FileId = Strong<FileIdTag, std::uint64_t>;
template <class Tag, class Rep>
class Strong {
 public:
  using rep = Rep;
  constexpr Strong() = default;
  constexpr explicit Strong(Rep value) : value_(value) {}
  [[nodiscard]] constexpr Rep value() const { return value_; }
  friend constexpr auto operator<=>(const Strong&, const Strong&) = default;

 private:
  Rep value_{};
};

}  // namespace braid::base

template <class Tag, class Rep>
struct std::hash<braid::base::Strong<Tag, Rep>> {
  std::size_t operator()(braid::base::Strong<Tag, Rep> id) const { return std::hash<Rep>{}(id.value()); }
};
