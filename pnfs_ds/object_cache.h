// The objects that are in use: each open once, for whoever comes, and with it what is under way on it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "pnfs_ds/fence_record.h"
#include "pnfs_ds/object_files.h"
#include "pnfs_ds/waiting.h"

namespace braid::pnfs_ds {

// One object, which need not be there. Thread-safe. Used through an ObjectRef, for the length of a call.
class Object {
 public:
  explicit Object(const ObjectKey& of) : key(of) {}
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;

  const ObjectKey key;
  RunningIo running;
  // Held by whoever opens, makes, cuts or removes it; nobody waits for I/O of the object meanwhile.
  Turn turn;
  // Held by whoever asks the metadata server whom a new object is to belong to: once is enough.
  Turn making;
  // Written to since somebody asked (OBJECT_STAT).
  std::atomic<bool> changed{false};
  // The number of its last truncation; belongs to whoever has the turn.
  std::uint64_t last_cut = 0;

  // The largest number of a truncation that has begun; when it was forgotten with the object, a larger one.
  // Whoever begins one says so before it waits for I/O that runs.
  [[nodiscard]] std::uint64_t cut_begun() const { return cut_begun_.load(); }
  void note_cut_begun(std::uint64_t number) {
    std::uint64_t known = cut_begun_.load();
    while (known < number && !cut_begun_.compare_exchange_weak(known, number)) {
    }
  }

  // How often somebody has asked where it ends. Whoever does counts first, and looks then.
  [[nodiscard]] std::uint64_t asked() const { return asked_.load(); }
  void note_asked() { asked_.fetch_add(1); }
  // Whether the metadata server has been told that it is written to, and has not asked since. If that is so
  // when something has been written, whoever asks next sees it, and knows that there is something to see.
  // What is forgotten with the object is told once more.
  [[nodiscard]] bool announced() const { return announced_.load() == asked_.load(); }
  // Told, in a call that began when asked() was that, and so perhaps before somebody asked.
  void note_announced(std::uint64_t asked) { announced_.store(asked); }

  // Null: nobody has opened it, or it is not there.
  [[nodiscard]] std::shared_ptr<const OpenedObject> opened() const {
    const std::scoped_lock lock(mutex_);
    return opened_;
  }
  void set_opened(std::shared_ptr<const OpenedObject> opened) {
    const std::scoped_lock lock(mutex_);
    opened_.swap(opened);
  }

 private:
  std::atomic<std::uint64_t> cut_begun_{0};
  std::atomic<std::uint64_t> asked_{1};
  std::atomic<std::uint64_t> announced_{0};  // 0: never
  mutable std::mutex mutex_;
  std::shared_ptr<const OpenedObject> opened_;
};
using ObjectRef = std::shared_ptr<Object>;

// Thread-safe. Objects that nobody uses are forgotten when there are more than `objects_max`, the one that
// was not used for longest first; those in use may be more.
class ObjectCache {
 public:
  explicit ObjectCache(std::size_t objects_max) : objects_max_(objects_max) {}

  struct Got {
    ObjectRef object;
    // Files of objects that were forgotten for it: to be closed where that may block. Usually none.
    std::vector<std::shared_ptr<const OpenedObject>> forgotten;
  };
  [[nodiscard]] Got get(const ObjectKey& key);
  // Forgets those that nobody has used for so many rounds, of which this call begins one; a few at a time.
  // What was forgotten is to be closed.
  [[nodiscard]] std::vector<std::shared_ptr<const OpenedObject>> forget_idle(std::uint32_t rounds);
  // All that something is under way on, at some moment during this call.
  [[nodiscard]] std::vector<ObjectRef> busy() const;
  [[nodiscard]] std::size_t size() const;

 private:
  struct Entry {
    ObjectRef object;
    std::list<ObjectKey>::iterator place;
    std::uint64_t used_in = 0;  // round
  };
  using Place = std::list<ObjectKey>::iterator;
  void forget_surplus(std::vector<std::shared_ptr<const OpenedObject>>& forgotten);
  // Unless somebody uses the object: then false, and `place` stays. Else `place` is what was used sooner.
  bool forget(Place& place, std::vector<std::shared_ptr<const OpenedObject>>& forgotten);
  void remember_change(const Object& object);

  // Objects that were written to, forgotten, and not asked for since; above this number all are taken to be.
  static constexpr std::size_t changed_max = 65536;

  const std::size_t objects_max_;
  mutable std::mutex mutex_;
  std::map<ObjectKey, Entry> entries_;
  std::list<ObjectKey> by_use_;  // the last used first
  std::set<ObjectKey> changed_;
  bool all_changed_ = false;
  std::uint64_t round_ = 0;
  std::uint64_t cuts_forgotten_ = 0;  // the largest Object::cut_begun() of those that were forgotten
};

}  // namespace braid::pnfs_ds
