// One reply of READDIR: entries are encoded as they come, within limits that are exact to the byte.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "io/payload.h"
#include "io/slab.h"
#include "nfs4/attributes/bitmap.h"
#include "nfs4/attributes/reply.h"
#include "nfs4/attributes/source.h"
#include "nfs4/compound/compound.h"
#include "nfs4/op4.h"
#include "vfs/file_system.h"
#include "xdr/encoder.h"

namespace braid::nfs4::ops {

// READDIR4resok with its entries already encoded. The cookie verifier is always zero: cookies of a
// vfs::FileSystem stay valid for ever, so there is nothing to tell apart.
struct DirectoryListing {
  io::Payload entries;  // each with the TRUE that announces it
  bool eof = false;
};
void encode(xdr::Encoder& out, const DirectoryListing& listing);
std::size_t encoded_size(const DirectoryListing& listing);

// Cookies on the wire. 0, 1 and 2 are never those of an entry (RFC 8881 18.23.3); positions of a file system
// that are 1 or 2, and those of exports that lie in a directory, have values that no file system uses, since
// its positions are off_t.
struct WireCookie {
  static constexpr std::uint64_t of_export_bit = std::uint64_t{1} << 63U;
  static constexpr std::uint64_t escaped_from = ~std::uint64_t{0} - 2;

  static std::uint64_t of_position(std::uint64_t position) {
    return position == 1 || position == 2 ? escaped_from + position : position;
  }
  static std::uint64_t of_export(std::uint64_t fileid) { return of_export_bit | fileid >> 2U; }
  // Whether the wire cookie is behind an export's entry: the file system has not begun then.
  static bool is_of_export(std::uint64_t wire) { return wire >= of_export_bit && wire <= escaped_from; }
  static std::uint64_t position_of(std::uint64_t wire) {
    return wire > escaped_from ? wire - escaped_from : wire;
  }
};

struct PageLimits {
  std::size_t reply_bytes = 0;  // of the whole resok structure
  // Of names and cookies alone, a hint: the first entry is not held to it. 0: no limit.
  std::size_t name_bytes = 0;
};

// Collects entries in memory of its own. Entries whose attributes have to be waited for are set aside, in
// order, for settle(): the file system's listing, which may run on another thread, is not held up.
class DirectoryPage {
 public:
  // `base`: what all entries have in common (limits of the file system). All references outlive the page.
  DirectoryPage(Compound& compound, const Place& directory, const Bitmap& wanted,
                const attributes::AttributeSource& base, const PageLimits& limits);

  // For FileSystem::readdir(). False, and nothing is taken, when the page is full or too much is set aside.
  bool take(const vfs::DirectoryEntry& entry);
  // Completes what was set aside. Where an entry's attributes cannot be had, its rdattr_error says why; if
  // that is not wanted, it is the error of the operation.
  Op4<> settle();
  // An entry of an export or of a directory on the way to one.
  Op4<> add_node(const PseudoNode& node);

  [[nodiscard]] bool full() const { return full_; }
  [[nodiscard]] bool empty() const { return count_ == 0; }
  // False once memory for an entry could not be had.
  [[nodiscard]] bool ok() const { return out_.ok(); }
  // Whether entries have to be looked at, not only named.
  [[nodiscard]] bool looks() const { return looks_; }
  // The position behind the last entry that was taken.
  [[nodiscard]] std::uint64_t position() const { return position_; }
  [[nodiscard]] io::Payload finish() { return out_.finish().bytes; }

 private:
  struct Waiting {
    std::uint64_t fileid = 0;
    std::uint64_t cookie = 0;
    std::string name;
    std::optional<vfs::FileHandle> handle;
    std::optional<vfs::Attributes> object;
  };
  static constexpr std::size_t waiting_max = 64;

  [[nodiscard]] bool hidden(std::string_view name) const;
  bool put(std::uint64_t cookie, std::string_view name, const Bitmap& wanted,
           const attributes::AttributeSource& source);
  bool put_error(std::uint64_t cookie, std::string_view name, const attributes::AttributeSource& source,
                 nfsstat4 error);
  // What the file system gave with the entry; false when there is more to wait for.
  bool complete(attributes::AttributeSource& source) const;
  Op4<> settle(const Waiting& entry);
  Op4<> look(const Waiting& entry, vfs::FileRef& file, attributes::AttributeSource& source, bool& gone);

  Compound& compound_;
  const Place& directory_;
  const Bitmap wanted_;
  const std::uint32_t facts_;
  const bool looks_;
  const attributes::AttributeSource& base_;
  io::SlabCursor cursor_;
  xdr::Encoder out_;
  std::size_t bytes_left_;
  std::size_t name_bytes_left_;
  std::size_t count_ = 0;
  std::uint64_t position_ = 0;
  bool full_ = false;
  std::vector<Waiting> waiting_;
  base::Bytes values_;  // scratch of put()
};

}  // namespace braid::nfs4::ops
