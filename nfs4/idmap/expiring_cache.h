// A bounded map whose entries end at a time.
#pragma once

#include <cstddef>
#include <list>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/clock.h"

namespace braid::nfs4 {

// At most `entries_max` entries; the one that was put in first makes room. Not thread-safe.
template <class Key, class Value, class Hash>
class ExpiringCache {
 public:
  ExpiringCache(std::size_t entries_max, Hash hash) : entries_max_(entries_max), map_(0, std::move(hash)) {}

  [[nodiscard]] std::optional<Value> find(const Key& key, base::TimePoint now) const {
    const auto found = map_.find(key);
    if (found == map_.end() || found->second->expires <= now) return std::nullopt;
    return found->second->value;
  }
  void put(const Key& key, Value value, base::TimePoint expires) {
    if (const auto old = map_.find(key); old != map_.end()) {
      order_.erase(old->second);
      map_.erase(old);
    }
    if (order_.size() >= entries_max_ && !order_.empty()) {
      map_.erase(order_.front().key);
      order_.pop_front();
    }
    order_.push_back({key, std::move(value), expires});
    map_.emplace(key, std::prev(order_.end()));
  }
  [[nodiscard]] std::size_t size() const { return order_.size(); }

 private:
  struct Entry {
    Key key;
    Value value;
    base::TimePoint expires;
  };

  std::size_t entries_max_;
  std::list<Entry> order_;  // the oldest in front
  std::unordered_map<Key, typename std::list<Entry>::iterator, Hash> map_;
};

}  // namespace braid::nfs4
