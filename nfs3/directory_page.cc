#include "nfs3/directory_page.h"

#include <algorithm>

#include "xdr/sequence.h"

namespace braid::nfs3 {
namespace {

// dir_attributes, cookieverf, the FALSE that ends the list, eof.
constexpr std::size_t frame_bytes = post_op_attr::encoded_bytes_max + NFS3_COOKIEVERFSIZE + 4 + 4;

// fileid, name, cookie.
std::size_t name_bytes_of(const vfs::DirectoryEntry& entry) {
  return 8 + xdr::opaque_size(entry.name.size()) + 8;
}

post_op_fh3 post_op_fh3_of(const std::optional<vfs::FileHandle>& handle) {
  if (!handle) return {};
  return post_op_fh3::with_handle({handle->view()});
}

}  // namespace

void encode(xdr::Encoder& out, const DirectoryListing& listing) {
  encode(out, listing.dir_attributes);
  encode_cookieverf3(out, {});
  out.copied(listing.entries);
  out.boolean(false);
  out.boolean(listing.eof);
}

DirectoryPage::DirectoryPage(io::SlabPool& pool, const DirectoryQuery& query)
    : cursor_(pool),
      out_(cursor_),
      plus_(query.plus),
      bytes_left_(query.reply_bytes_max - std::min<std::size_t>(query.reply_bytes_max, frame_bytes)),
      name_bytes_left_(query.name_bytes_max) {}

bool DirectoryPage::add(const vfs::DirectoryEntry& entry) {
  const std::size_t name_bytes = name_bytes_of(entry);
  std::size_t bytes = 4 + name_bytes;
  post_op_attr attributes;
  post_op_fh3 handle;
  if (plus_) {
    attributes = post_op_attr_of(entry.attributes);
    handle = post_op_fh3_of(entry.handle);
    bytes += encoded_size(attributes) + encoded_size(handle);
  }
  if (bytes > bytes_left_ || (count_ > 0 && name_bytes > name_bytes_left_)) return false;
  out_.boolean(true);
  out_.u64(entry.fileid);
  out_.text(entry.name);
  out_.u64(entry.cookie);
  if (plus_) {
    encode(out_, attributes);
    encode(out_, handle);
  }
  if (!out_.ok()) return false;
  bytes_left_ -= bytes;
  name_bytes_left_ -= std::min(name_bytes_left_, name_bytes);
  ++count_;
  return true;
}

}  // namespace braid::nfs3
