// A sealed file as it is read: its stub, its recipe, and which of the two has each byte.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "store/chunks/chunk_store.h"
#include "store/medium/medium.h"
#include "store/recipes/located.h"
#include "store/recipes/recipe.h"
#include "store/recipes/record.h"

namespace braid::store {

// Immutable, so thread-safe; the chunks outlive it.
class SealedFile {
 public:
  // Of the record that the file has. EBADMSG: it is damaged, of another store, or of another file; ENOTSUP:
  // of a later version; EIO: its root cannot be read.
  static base::Result<std::shared_ptr<const SealedFile>> open(ChunkStore& chunks, const StoreKeys& keys,
                                                              const KernelHandle& file,
                                                              base::BytesView record);
  SealedFile(ChunkStore& chunks, const Record& record, Root root)
      : chunks_(chunks), record_(record), root_(std::move(root)) {}

  // Bytes [offset, offset + to.size()) into `to`, as far as the file goes, whose size `size` is. Where the
  // stub has bytes of its own they are the newer ones, unless a pending step is to take them out. EIO: some
  // cannot be read; none is made up.
  base::Result<void> read(File& stub, std::uint64_t offset, base::MutableBytes to) const;
  // Where these bytes are of a file whose stub has none of its own, and for which nothing is pending; as
  // locate_recipe().
  bool locate(std::uint64_t begin, std::uint64_t end, vfs::Located& where) const {
    return locate_recipe(chunks_, root_.top, begin, end, where);
  }
  // The first byte at `offset` or behind it, and before `size`, that is of this kind; `size` if there is
  // none. `more`: what is data besides, in order.
  base::Result<std::uint64_t> seek(File& stub, std::uint64_t offset, bool data, std::uint64_t size,
                                   std::span<const Extent> more = {}) const;
  // Where the stub has newer bytes within [begin, end).
  base::Result<std::vector<Extent>> newer(File& stub, std::uint64_t begin, std::uint64_t end) const;

  // Whether the recipe has bytes within [begin, end) where the stub has none.
  base::Result<bool> shows_through(File& stub, std::uint64_t begin, std::uint64_t end) const;
  // Puts them into the stub, block by block, up to `size`, that of the file. `begin` is where a block does.
  // Nobody writes to the file meanwhile.
  using Write = std::function<base::Result<void>(std::uint64_t offset, base::BytesView bytes)>;
  base::Result<void> fill(File& stub, std::uint64_t begin, std::uint64_t end, std::uint64_t size,
                          const Write& write) const;

  [[nodiscard]] const Record& record() const { return record_; }
  [[nodiscard]] const Root& root() const { return root_; }

 private:
  base::Result<std::vector<Extent>> seen_through(File& stub, std::uint64_t begin, std::uint64_t end) const;

  ChunkStore& chunks_;
  const Record record_;
  const Root root_;
};

// To a multiple of `block`; `offset` is far from the largest number.
std::uint64_t rounded_up(std::uint64_t offset, std::uint64_t block);

// Where a hole ends that frees the last block of a file, too, whose size this is.
std::uint64_t behind_last_block(std::uint64_t size);

std::uint64_t length_of(const std::vector<Extent>& extents);

// What is left of `from` without the others, which are in order and apart.
std::vector<Extent> without(const Extent& from, const std::vector<Extent>& others);

}  // namespace braid::store
