#include <algorithm>
#include <vector>

#include "nfs4/attributes/fetch.h"
#include "nfs4/attributes/table.h"
#include "nfs4/ops/attribute_operations.h"
#include "nfs4/options.h"
#include "nfs4/pseudo/pseudo_tree.h"

namespace braid::nfs4::ops {
namespace {

using attributes::Facts;

// cookieverf and eof of an empty listing: nothing fits in less.
constexpr std::size_t reply_bytes_min = NFS4_VERIFIER_SIZE + 4 + 4;

// What lies over the directory by the export table and comes after `cookie`, in the order of cookies.
std::vector<const PseudoNode*> nodes_after(const Compound& compound, const Place& at, std::uint64_t cookie) {
  std::vector<const PseudoNode*> nodes;
  const bool begun = cookie != 0 && !WireCookie::is_of_export(cookie);
  if (begun || (!at.pseudo() && !at.export_root())) return nodes;
  const PseudoNode* node = at.pseudo() ? at.node : compound.pseudo_tree().node_of(*at.from);
  if (node == nullptr) return nodes;
  for (const auto& child : node->children)
    if (WireCookie::of_export(child->fileid) > cookie) nodes.push_back(child.get());
  std::ranges::sort(nodes, {}, [](const PseudoNode* child) { return WireCookie::of_export(child->fileid); });
  return nodes;
}

// The part of the listing that the file system has; true at its end.
Op4<bool> list_files(const Place& at, std::uint64_t position, DirectoryPage& page) {
  const vfs::EntrySink sink = [&page](const vfs::DirectoryEntry& entry) { return page.take(entry); };
  while (true) {
    const vfs::ReadDirectoryRequest from{position, page.looks()};
    const auto end = co_await at.fs().readdir(at.who, at.file, from, sink).as_result();
    if (!end) co_await refuse(end.error());
    co_await page.settle();
    if (page.full()) co_return false;
    if (*end) co_return true;
    position = page.position();
  }
}

Op4<bool> list(Compound& compound, const Place& at, std::uint64_t cookie, DirectoryPage& page) {
  for (const PseudoNode* node : nodes_after(compound, at, cookie)) {
    co_await page.add_node(*node);
    if (page.full()) co_return false;
  }
  if (at.pseudo()) co_return true;
  const std::uint64_t position = WireCookie::is_of_export(cookie) ? 0 : WireCookie::position_of(cookie);
  co_return co_await list_files(at, position, page);
}

// What all entries have in common is asked for once.
Op4<attributes::AttributeSource> common_source(Compound& compound, const Place& at, const Bitmap& wanted) {
  attributes::AttributeSource source = attributes::source_of(compound, at);
  source.handle = {};
  const std::uint32_t facts = attributes::facts_of(wanted);
  if (at.pseudo()) co_return source;
  if ((facts & Facts::limits) != 0) {
    const auto limits = co_await at.fs().limits(at.file).as_result();
    if (!limits) co_await refuse(limits.error());
    source.limits = *limits;
  }
  if ((facts & Facts::space) != 0) {
    const auto space = co_await at.fs().status(at.file).as_result();
    if (!space) co_await refuse(space.error());
    source.space = *space;
  }
  co_return source;
}

}  // namespace

Op4<DirectoryListing> readdir(Compound& compound, const READDIR4args& args) {
  const std::uint32_t minor = compound.minor_version();
  const Bitmap asked = Bitmap::of_wire(args.attr_request);
  if (asked.intersects(attributes::write_only(minor))) co_await refuse(nfsstat4::NFS4ERR_INVAL);
  // RFC 8881 18.23.3: these are never given out. Cookies do not end, so there is one verifier.
  if (args.cookie == 1 || args.cookie == 2) co_await refuse(nfsstat4::NFS4ERR_BAD_COOKIE);
  if (args.cookie != 0 && args.cookieverf != verifier4{}) co_await refuse(nfsstat4::NFS4ERR_NOT_SAME);
  const std::size_t reply_bytes = std::min<std::size_t>(
      {args.maxcount, compound.reply_bytes_left(), compound.server().options.directory_bytes_max});
  const PageLimits limits{reply_bytes, args.dircount};
  if (limits.reply_bytes < reply_bytes_min) co_await refuse(nfsstat4::NFS4ERR_TOOSMALL);
  const Place& at = compound.current();
  const Bitmap wanted = asked & attributes::supported_in(minor);
  const attributes::AttributeSource common = co_await common_source(compound, at, wanted);
  DirectoryPage page(compound, at, wanted, common, limits);
  const bool eof = co_await list(compound, at, args.cookie, page);
  if (!page.ok()) co_await refuse(nfsstat4::NFS4ERR_DELAY);
  if (page.empty() && !eof) co_await refuse(nfsstat4::NFS4ERR_TOOSMALL);
  co_return DirectoryListing{page.finish(), eof};
}

}  // namespace braid::nfs4::ops
