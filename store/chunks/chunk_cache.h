// What was read last of chunks, in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <unordered_map>
#include <utility>

#include "base/guarded.h"
#include "hashing/digest.h"
#include "store/chunks/location.h"

namespace braid::store {

// By id and by the place that was asked for: ids do not cover the locations in a chunk, so copies may differ
// in where they lead to. Thread-safe.
template <class T>
class ChunkCache {
 public:
  using Ref = std::shared_ptr<const T>;
  explicit ChunkCache(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  // Null: it is not there.
  Ref find(const hashing::Digest& id, Location at) {
    return state_.with([&](State& state) -> Ref {
      const auto found = state.by_key.find({id, at});
      if (found == state.by_key.end()) return nullptr;
      state.used.splice(state.used.begin(), state.used, found->second);
      return found->second->value;
    });
  }
  // `bytes`: what it takes.
  void put(const hashing::Digest& id, Location at, Ref value, std::size_t bytes) {
    if (bytes > bytes_max_) return;
    state_.with([&](State& state) {
      const Key key{id, at};
      if (state.by_key.contains(key)) return;
      state.bytes += bytes;
      state.used.push_front({key, std::move(value), bytes});
      state.by_key.emplace(key, state.used.begin());
      while (state.bytes > bytes_max_) {
        state.bytes -= state.used.back().bytes;
        state.by_key.erase(state.used.back().key);
        state.used.pop_back();
      }
    });
  }

 private:
  struct Key {
    hashing::Digest id{};
    Location at{};
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct HashOfKey {
    std::size_t operator()(const Key& key) const { return std::hash<hashing::Digest>{}(key.id); }
  };
  struct Kept {
    Key key{};
    Ref value{};
    std::size_t bytes = 0;
  };
  struct State {
    std::list<Kept> used{};  // the last one in front
    std::unordered_map<Key, typename std::list<Kept>::iterator, HashOfKey> by_key{};
    std::size_t bytes = 0;
  };
  const std::size_t bytes_max_;
  base::Guarded<State> state_;
};

}  // namespace braid::store
