// Sealed files in an export: their contents, as vfs/content.h has them. So far they can be read, and are not
// written to: the exports are read-only.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "io/blocking_pool.h"
#include "store/sealed_file.h"
#include "store/store.h"
#include "vfs/content.h"
#include "vfs/sealed.h"

namespace braid::store {

class StoreSource;

// One for each time that a file comes into the descriptor cache.
class SealedContent final : public vfs::Content {
 public:
  SealedContent(StoreSource& source, std::shared_ptr<const SealedFile> file)
      : source_(source), file_(std::move(file)) {}

  [[nodiscard]] vfs::ContentSource& source() const override;
  vfs::VfsOp<vfs::ReadResult> read(vfs::Stub& stub, std::uint64_t offset, std::uint32_t count,
                                   vfs::ReadMemory memory) override;
  // rofs
  vfs::VfsOp<vfs::WriteResult> write(vfs::Stub& stub, const vfs::Credentials& who, std::uint64_t offset,
                                     const io::Payload& data, vfs::Stability stability) override;
  vfs::VfsOp<vfs::Verifier> commit(vfs::Stub& stub, const vfs::Credentials& who, std::uint64_t offset,
                                   std::uint32_t count) override;
  [[nodiscard]] vfs::Verifier write_verifier() const override { return {}; }
  vfs::VfsOp<> resize(vfs::Stub& stub, const vfs::Credentials& who, std::uint64_t size) override;
  vfs::VfsOp<vfs::SeekResult> seek(vfs::Stub& stub, std::uint64_t offset, vfs::SeekTo what,
                                   std::uint64_t until) override;
  // Space: bytes that are no holes.
  void adjust(vfs::Attributes& attributes) const override;

 private:
  StoreSource& source_;
  const std::shared_ptr<const SealedFile> file_;
};

// Of one store, for all exports that have it. Thread-safe; the store outlives it.
class StoreSource final : public vfs::ContentSource {
 public:
  explicit StoreSource(Store& store) : store_(store) {}

  // From now on threads of this pool read, if that is asked for on a reactor; before that the calling one.
  // `name`: of the store, whose share of the threads it has.
  void use(io::BlockingPool& pool, std::string name) { group_.emplace(pool, std::move(name)); }

  [[nodiscard]] std::string_view record() const override { return vfs::sealed_record; }
  vfs::VfsOp<vfs::ContentRef> load(vfs::Stub& stub, base::BytesView record) override;
  // Nothing is sealed by a server yet.
  vfs::VfsOp<vfs::ContentRef> place(vfs::Stub& stub, const vfs::ContentRef& former,
                                    const vfs::PlacementHint& hint) override;
  // What was a file's is garbage when its record is gone: nobody needs to be told.
  vfs::VfsOp<> removing(vfs::Stub& stub, vfs::Content& content) override;
  void gone(vfs::ContentRef content) override { (void)content; }
  // No data is ever taken, in pipes or not.
  [[nodiscard]] bool takes_pipes() const override { return true; }

 private:
  friend class SealedContent;
  Store& store_;
  std::optional<io::BlockingGroup> group_;
};

}  // namespace braid::store
