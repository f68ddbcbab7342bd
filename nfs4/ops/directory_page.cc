#include "nfs4/ops/directory_page.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "nfs4/attributes/fetch.h"
#include "nfs4/attributes/table.h"
#include "nfs4/pseudo/pseudo_tree.h"
#include "xdr/sequence.h"

namespace braid::nfs4::ops {
namespace {

using attributes::AttributeSource;
using attributes::Facts;

// cookieverf, the FALSE that ends the list, eof.
constexpr std::size_t frame_bytes = NFS4_VERIFIER_SIZE + 4 + 4;

// What a name alone tells.
constexpr Bitmap of_name{FATTR4_MOUNTED_ON_FILEID, FATTR4_RDATTR_ERROR};
// What is known of an entry that may not be looked at, beside the reason.
constexpr Bitmap of_error{FATTR4_MOUNTED_ON_FILEID, FATTR4_FILEID, FATTR4_RDATTR_ERROR};

}  // namespace

void encode(xdr::Encoder& out, const DirectoryListing& listing) {
  encode_verifier4(out, {});
  out.copied(listing.entries);
  out.boolean(false);
  out.boolean(listing.eof);
}

std::size_t encoded_size(const DirectoryListing& listing) { return frame_bytes + listing.entries.size(); }

DirectoryPage::DirectoryPage(Compound& compound, const Place& directory, const Bitmap& wanted,
                             const AttributeSource& base, const PageLimits& limits)
    : compound_(compound),
      directory_(directory),
      wanted_(wanted),
      facts_(attributes::facts_of(wanted)),
      looks_(wanted.has(FATTR4_FILEHANDLE) || attributes::facts_of(wanted - of_name) != Facts::none),
      base_(base),
      cursor_(compound.cursor().pool()),
      out_(cursor_),
      bytes_left_(limits.reply_bytes - std::min(limits.reply_bytes, frame_bytes)),
      name_bytes_left_(limits.name_bytes == 0 ? std::numeric_limits<std::size_t>::max() : limits.name_bytes) {
}

bool DirectoryPage::hidden(std::string_view name) const {
  // RFC 8881 18.23.3: "." and ".." are not entries. An export goes before what it covers.
  return name == "." || name == ".." || compound_.junction_at(directory_, name) != nullptr;
}

bool DirectoryPage::take(const vfs::DirectoryEntry& entry) {
  if (full_ || waiting_.size() == waiting_max) return false;
  if (hidden(entry.name)) {
    position_ = entry.cookie;
    return true;
  }
  if (waiting_.empty()) {
    AttributeSource source = base_;
    if (entry.attributes) attributes::put_object(*directory_.from, *entry.attributes, source);
    source.mounted_on_fileid = entry.fileid;
    if (entry.handle) source.handle = entry.handle->view();
    const bool looked = !looks_ || (entry.attributes && entry.handle);
    if (looked && complete(source)) {
      full_ = !put(WireCookie::of_position(entry.cookie), entry.name, wanted_, source);
      if (!full_) position_ = entry.cookie;
      return !full_;
    }
  }
  waiting_.push_back({entry.fileid, entry.cookie, std::string(entry.name), entry.handle, entry.attributes});
  position_ = entry.cookie;
  return true;
}

bool DirectoryPage::complete(AttributeSource& source) const {
  if ((facts_ & Facts::acl) != 0 && base_.limits.acls) return false;
  return attributes::names_now(compound_, facts_, source);
}

Op4<> DirectoryPage::settle() {
  for (const Waiting& entry : waiting_) {
    if (full_) break;
    co_await settle(entry);
  }
  waiting_.clear();
}

Op4<> DirectoryPage::settle(const Waiting& entry) {
  AttributeSource source = base_;
  vfs::FileRef file;
  bool gone = false;
  const auto looked = co_await look(entry, file, source, gone).as_result();
  if (gone) co_return;
  source.mounted_on_fileid = entry.fileid;
  const std::uint64_t cookie = WireCookie::of_position(entry.cookie);
  if (looked) {
    full_ = !put(cookie, entry.name, wanted_, source);
    co_return;
  }
  if (!wanted_.has(FATTR4_RDATTR_ERROR)) co_await refuse(looked.error());
  source.object.fileid = entry.fileid;
  full_ = !put_error(cookie, entry.name, source, looked.error());
}

// The file system does not say why it left out what was asked for: a look-up does.
Op4<> DirectoryPage::look(const Waiting& entry, vfs::FileRef& file, AttributeSource& source, bool& gone) {
  vfs::FileSystem& fs = directory_.fs();
  if (entry.object && entry.handle && (facts_ & Facts::acl) == 0) {
    attributes::put_object(*directory_.from, *entry.object, source);
    source.handle = entry.handle->view();
    co_return co_await attributes::fetch_names(compound_, facts_, source);
  }
  auto found = co_await fs.lookup(directory_.who, directory_.file, entry.name).as_result();
  if (!found) {
    gone = found.error() == vfs::Error::noent || found.error() == vfs::Error::stale;
    co_await refuse(found.error());
  }
  file = std::move(found->file);
  const Place at{directory_.from, directory_.who, file, nullptr};
  source.handle = file->handle().view();
  std::optional<vfs::Attributes> seen = found->attributes;
  const auto fetched = co_await attributes::fetch(compound_, at, wanted_, seen, source).as_result();
  if (fetched) co_return;
  gone = fetched.error() == nfsstat4::NFS4ERR_STALE;
  co_await refuse(fetched.error());
}

Op4<> DirectoryPage::add_node(const PseudoNode& node) {
  const auto at = compound_.place_of(node);
  // What this client may not use, it does not see.
  if (!at) co_return;
  AttributeSource source = attributes::source_of(compound_, *at);
  std::optional<vfs::Attributes> seen;
  const auto fetched = co_await attributes::fetch(compound_, *at, wanted_, seen, source).as_result();
  const std::uint64_t cookie = WireCookie::of_export(node.fileid);
  source.mounted_on_fileid = node.fileid;
  if (fetched) {
    full_ = !put(cookie, node.name, wanted_, source);
    co_return;
  }
  if (!wanted_.has(FATTR4_RDATTR_ERROR)) co_await refuse(fetched.error());
  source.object.fileid = node.fileid;
  full_ = !put_error(cookie, node.name, source, fetched.error());
}

bool DirectoryPage::put_error(std::uint64_t cookie, std::string_view name, const AttributeSource& source,
                              nfsstat4 error) {
  AttributeSource failed = source;
  failed.rdattr_error = error;
  return put(cookie, name, wanted_ & of_error, failed);
}

bool DirectoryPage::put(std::uint64_t cookie, std::string_view name, const Bitmap& wanted,
                        const AttributeSource& source) {
  const std::size_t values_max = attributes::bytes_max(wanted, source);
  if (values_.size() < values_max) values_.resize(values_max);
  FlatWriter values(values_);
  const attributes::EncodedAttributes attrs{attributes::encode(wanted, source, values), values.written()};
  // Cookie and name.
  const std::size_t name_bytes = 8 + xdr::opaque_size(name.size());
  const std::size_t bytes = 4 + name_bytes + encoded_size(attrs);
  if (bytes > bytes_left_ || (count_ > 0 && name_bytes > name_bytes_left_)) return false;
  out_.boolean(true);
  out_.u64(cookie);
  out_.text(name);
  encode(out_, attrs);
  if (!out_.ok()) return false;
  bytes_left_ -= bytes;
  name_bytes_left_ -= std::min(name_bytes_left_, name_bytes);
  ++count_;
  return true;
}

}  // namespace braid::nfs4::ops
