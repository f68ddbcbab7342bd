// A list that most have nothing in, or one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <variant>
#include <vector>

namespace braid::nfs4::state {

// Of pointers that are not null, in the order that its user keeps. One costs no allocation.
template <class T>
class FewList {
 public:
  [[nodiscard]] std::span<T* const> all() const {
    if (const Many* const many = std::get_if<Many>(&held_)) return **many;
    T* const* const one = std::get_if<T*>(&held_);
    return {one, *one == nullptr ? 0U : 1U};
  }
  [[nodiscard]] bool empty() const { return all().empty(); }
  [[nodiscard]] std::size_t size() const { return all().size(); }
  [[nodiscard]] auto begin() const { return all().begin(); }
  [[nodiscard]] auto end() const { return all().end(); }
  [[nodiscard]] T* operator[](std::size_t at) const { return all()[at]; }
  [[nodiscard]] T* back() const { return all().back(); }

  // In front of the one that is at this place; at size(): as the last.
  void insert(std::size_t at, T* one) {
    if (empty()) {
      held_ = one;
      return;
    }
    if (T* const* const only = std::get_if<T*>(&held_)) held_ = std::make_unique<std::vector<T*>>(1, *only);
    std::vector<T*>& many = *std::get<Many>(held_);
    many.insert(many.begin() + static_cast<std::ptrdiff_t>(at), one);
  }
  void push_back(T* one) { insert(size(), one); }
  void erase(std::size_t at) {
    Many* const many = std::get_if<Many>(&held_);
    if (many == nullptr) {
      held_ = static_cast<T*>(nullptr);
      return;
    }
    (*many)->erase((*many)->begin() + static_cast<std::ptrdiff_t>(at));
    if ((*many)->size() > 1) return;
    T* const left = (*many)->front();
    held_ = left;
  }
  // One that is in it.
  void remove(const T* one) { erase(static_cast<std::size_t>(std::ranges::find(all(), one) - begin())); }
  // In the place of the one that is there comes the last.
  void erase_by_last(std::size_t at) {
    if (Many* const many = std::get_if<Many>(&held_)) (**many)[at] = (*many)->back();
    erase(size() - 1);
  }

 private:
  using Many = std::unique_ptr<std::vector<T*>>;  // two or more
  std::variant<T*, Many> held_{static_cast<T*>(nullptr)};
};

}  // namespace braid::nfs4::state
