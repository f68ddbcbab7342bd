// One reply of READDIR or READDIRPLUS: entries are encoded as the file system hands them out, within limits
// that are exact to the byte.
#pragma once

#include <cstdint>

#include "io/payload.h"
#include "io/slab.h"
#include "nfs3/attributes.h"
#include "nfs3/nfs3.x.h"
#include "nfs3/op3.h"
#include "nfs3/request.h"
#include "vfs/file_system.h"
#include "xdr/encoder.h"

namespace braid::nfs3 {

// READDIR3resok or READDIRPLUS3resok with its entries already encoded. The cookie verifier is always zero:
// cookies of a vfs::FileSystem stay valid for ever, so there is nothing to tell apart.
struct DirectoryListing {
  post_op_attr dir_attributes;
  io::Payload entries;  // each with the TRUE that announces it
  bool eof = false;
};
void encode(xdr::Encoder& out, const DirectoryListing& listing);

struct DirectoryQuery {
  nfs_fh3 dir;
  cookie3 cookie = 0;
  cookieverf3 cookieverf{};
  bool plus = false;
  std::uint32_t reply_bytes_max = 0;  // of the whole resok structure
  // Of fileids, names and cookies alone. A client sizes its buffer by reply_bytes_max; this one says where to
  // stop, so the first entry is not held to it and every reply makes progress.
  std::uint32_t name_bytes_max = 0;
};

// Collects entries in memory of its own, so add() may run on any thread, also while its owner is suspended.
class DirectoryPage {
 public:
  DirectoryPage(io::SlabPool& pool, const DirectoryQuery& query);

  // False, and nothing is added, when the entry does not fit or memory is out.
  bool add(const vfs::DirectoryEntry& entry);
  [[nodiscard]] bool empty() const { return count_ == 0; }
  // False once memory for an entry could not be had.
  [[nodiscard]] bool ok() const { return out_.ok(); }
  // The encoded entries; the page is empty afterwards.
  [[nodiscard]] io::Payload take() { return out_.finish().bytes; }

 private:
  io::SlabCursor cursor_;
  xdr::Encoder out_;
  bool plus_;
  std::size_t bytes_left_;
  std::size_t name_bytes_left_;
  std::size_t count_ = 0;
};

// What READDIR and READDIRPLUS do; their failing arms look alike.
template <class Fail>
Op3<DirectoryListing, Fail> list_directory(Request& request, DirectoryQuery query) {
  const Target dir = co_await request.target(query.dir);
  // RFC 1813 3.3.16: a cookie that came with another verifier is not ours.
  if (query.cookie != 0 && query.cookieverf != cookieverf3{})
    co_return refuse<Fail>(nfsstat3::NFS3ERR_BAD_COOKIE);
  DirectoryPage page(request.cursor().pool(), query);
  const vfs::EntrySink sink = [&page](const vfs::DirectoryEntry& entry) { return page.add(entry); };
  const vfs::ReadDirectoryRequest from{query.cookie, query.plus};
  const auto end = co_await dir.fs().readdir(dir.who, dir.file, from, sink).as_result();
  const post_op_attr attributes = post_op_attr_of(co_await dir.attributes().as_result());
  if (!end) co_return refuse(end.error(), Fail{attributes});
  if (!page.ok()) co_return refuse(nfsstat3::NFS3ERR_JUKEBOX, Fail{attributes});
  if (page.empty() && !*end) co_return refuse(nfsstat3::NFS3ERR_TOOSMALL, Fail{attributes});
  co_return DirectoryListing{attributes, page.take(), *end};
}

}  // namespace braid::nfs3
