#include "vfs/lock_index.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/assert.h"

namespace braid::vfs {
namespace {

// How far the ranges of an owner reach.
struct Reach {
  LockOwnerId owner;
  std::uint64_t last = 0;
  bool exists = false;
};

// The two that reach farthest, of different owners.
class Farthest {
 public:
  void add(const Reach& reach) {
    if (!reach.exists) return;
    if (first_.exists && first_.owner == reach.owner) {
      first_.last = std::max(first_.last, reach.last);
    } else if (!first_.exists || reach.last > first_.last) {
      second_ = std::exchange(first_, reach);
    } else if (!second_.exists || reach.last > second_.last) {
      second_ = reach;
    }
  }
  void add(const Farthest& other) {
    add(other.first_);
    add(other.second_);
  }
  // Whether a range of somebody else ends at `byte` or behind it.
  [[nodiscard]] bool others_reach(LockOwnerId owner, std::uint64_t byte) const {
    const Reach& reach = first_.owner == owner ? second_ : first_;
    return reach.exists && reach.last >= byte;
  }

 private:
  Reach first_;
  Reach second_;
};

}  // namespace

struct LockIndex::Node {
  explicit Node(const Entry& its_entry) : entry(its_entry) { look(); }

  Entry entry;
  Tree left;
  Tree right;
  int height = 1;
  // Of the whole subtree.
  Farthest all;
  Farthest writes;

  [[nodiscard]] const Farthest& farthest(LockType wanted) const {
    return wanted == LockType::write ? all : writes;
  }
  [[nodiscard]] bool before(LockOwnerId owner, std::uint64_t first) const {
    return entry.range.first != first ? entry.range.first < first : entry.owner < owner;
  }
  static int height_of(const Tree& tree) { return tree ? tree->height : 0; }
  [[nodiscard]] int slant() const { return height_of(left) - height_of(right); }

  // What it knows of its subtree, from its children.
  void look() {
    height = 1 + std::max(height_of(left), height_of(right));
    const Reach own{entry.owner, entry.range.last, true};
    all = Farthest();
    writes = Farthest();
    all.add(own);
    if (entry.type == LockType::write) writes.add(own);
    for (const Node* child : {left.get(), right.get()}) {
      if (child == nullptr) continue;
      all.add(child->all);
      writes.add(child->writes);
    }
  }
};

LockIndex::LockIndex() = default;
LockIndex::~LockIndex() = default;

void LockIndex::rotate_left(Tree& tree) {
  Tree top = std::move(tree->right);
  tree->right = std::move(top->left);
  tree->look();
  top->left = std::move(tree);
  tree = std::move(top);
  tree->look();
}

void LockIndex::rotate_right(Tree& tree) {
  Tree top = std::move(tree->left);
  tree->left = std::move(top->right);
  tree->look();
  top->right = std::move(tree);
  tree = std::move(top);
  tree->look();
}

// AVL: no two subtrees side by side differ by more than one level.
void LockIndex::balance(Tree& tree) {
  ++steps_;
  if (tree->slant() > 1) {
    if (tree->left->slant() < 0) rotate_left(tree->left);
    rotate_right(tree);
  } else if (tree->slant() < -1) {
    if (tree->right->slant() > 0) rotate_right(tree->right);
    rotate_left(tree);
  } else {
    tree->look();
  }
}

void LockIndex::insert_into(Tree& tree, const Entry& entry) {
  if (!tree) {
    tree = std::make_unique<Node>(entry);
    return;
  }
  insert_into(tree->before(entry.owner, entry.range.first) ? tree->right : tree->left, entry);
  balance(tree);
}

void LockIndex::insert(const Entry& entry) {
  insert_into(root_, entry);
  ++size_;
}

LockIndex::Tree LockIndex::take_first(Tree& tree) {
  if (!tree->left) {
    Tree first = std::move(tree);
    tree = std::move(first->right);
    return first;
  }
  Tree first = take_first(tree->left);
  balance(tree);
  return first;
}

void LockIndex::erase_from(Tree& tree, LockOwnerId owner, std::uint64_t first) {
  base::check(tree != nullptr, "a range that is erased is in its index");
  if (tree->entry.owner == owner && tree->entry.range.first == first) {
    if (!tree->left || !tree->right) {
      Tree rest = std::move(tree->left ? tree->left : tree->right);
      tree = std::move(rest);
      return;
    }
    Tree next = take_first(tree->right);
    next->left = std::move(tree->left);
    next->right = std::move(tree->right);
    tree = std::move(next);
  } else {
    erase_from(tree->before(owner, first) ? tree->right : tree->left, owner, first);
  }
  balance(tree);
}

void LockIndex::erase(LockOwnerId owner, std::uint64_t first) {
  erase_from(root_, owner, first);
  --size_;
}

const LockIndex::Entry* LockIndex::conflict(LockOwnerId owner, const ByteRange& range, LockType type) const {
  const Node* at = root_.get();
  while (at != nullptr) {
    ++steps_;
    // If one on the left reaches that far, but begins behind the range, so does everything on the right.
    if (at->left && at->left->farthest(type).others_reach(owner, range.first)) {
      at = at->left.get();
      continue;
    }
    const Entry& entry = at->entry;
    if (entry.range.first > range.last) return nullptr;
    if (entry.owner != owner && entry.range.last >= range.first && types_conflict(entry.type, type))
      return &entry;
    at = at->right.get();
  }
  return nullptr;
}

}  // namespace braid::vfs
