// A second kind of content for files in memory: their bytes are in objects beside the Storage, have no
// descriptor, may take as long to reach as the test's Hooks say, and leave size and times of the inode behind
// until they are settled.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "vfs/content.h"
#include "vfs/memory/hooks.h"

namespace braid::vfs::memory {

struct Object {
  std::string bytes;
  bool unsettled = false;  // the inode does not know of all writing
};

// What outlives the servers. Not thread-safe.
class Objects {
 public:
  std::uint64_t add(Object object);
  // Null: gone.
  [[nodiscard]] Object* get(std::uint64_t id);
  void erase(std::uint64_t id);
  [[nodiscard]] std::size_t count() const { return objects_.size(); }
  // Those whose file was about to lose its last name when somebody last heard of it.
  [[nodiscard]] const std::set<std::uint64_t>& removals() const { return removals_; }
  void note_removal(std::uint64_t id) { removals_.insert(id); }

 private:
  std::map<std::uint64_t, Object> objects_;
  std::uint64_t last_id_ = 0;
  std::set<std::uint64_t> removals_;
};

// Each operation is told to the hooks before it is executed, as "content_read", "content_place" and so on.
// The record of a file is the number of its object and the file's own, 8 bytes each, big-endian. Belongs to
// one thread.
class ObjectSource final : public ContentSource {
 public:
  enum class Places : std::uint8_t { on_demand, at_first_write };
  // Objects and hooks outlive it.
  ObjectSource(Objects& objects, Hooks& hooks, Places places = Places::on_demand)
      : objects_(objects), hooks_(hooks), places_(places) {}

  [[nodiscard]] std::string_view record() const override { return "trusted.braid.object"; }
  VfsOp<ContentRef> load(Stub& stub, base::BytesView record) override;
  // An empty file gets an empty object; one that has an object gets a copy of it, and the former one is
  // erased.
  VfsOp<ContentRef> place(Stub& stub, const ContentRef& former, const PlacementHint& hint) override;
  [[nodiscard]] bool places_at_first_write() const override { return places_ == Places::at_first_write; }
  VfsOp<> removing(Stub& stub, Content& content) override;
  void gone(ContentRef content) override;

  // For who exchanges contents himself: another object with the same bytes. No record names it.
  ContentRef copy_of(const ContentRef& content);
  // The object of a content of this source.
  [[nodiscard]] static std::uint64_t id_of(const Content& content);

 private:
  class ObjectContent;
  VfsOp<> before(std::string_view operation, bool changes);

  Objects& objects_;
  Hooks& hooks_;
  const Places places_;
};

}  // namespace braid::vfs::memory
