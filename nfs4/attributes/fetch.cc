#include "nfs4/attributes/fetch.h"

#include <climits>
#include <limits>
#include <vector>

#include "nfs4/attributes/acl.h"
#include "nfs4/attributes/table.h"
#include "nfs4/idmap/id_map.h"
#include "nfs4/pseudo/pseudo_tree.h"

namespace braid::nfs4::attributes {
namespace {

std::optional<std::string_view> keep(Compound& compound, std::string_view text) {
  return compound.keep(base::bytes_of(text));
}

// The "who" of an ACE as clients read it.
Op4<std::string_view> text_of(Compound& compound, const Who& who) {
  switch (who.kind) {
    case Who::Kind::owner:
      co_return std::string_view("OWNER@");
    case Who::Kind::group:
      co_return std::string_view("GROUP@");
    case Who::Kind::everyone:
      co_return std::string_view("EVERYONE@");
    case Who::Kind::user:
    case Who::Kind::named_group:
      break;
  }
  const IdKind kind = who.kind == Who::Kind::user ? IdKind::user : IdKind::group;
  const auto text = co_await compound.server().ids.text_of(kind, who.id, compound.now()).as_result();
  if (!text) co_await refuse(nfsstat4::NFS4ERR_DELAY);
  const auto kept = keep(compound, text->view());
  if (!kept) co_await refuse(nfsstat4::NFS4ERR_DELAY);
  co_return *kept;
}

Op4<> fetch_acl(Compound& compound, const Place& at, AttributeSource& out) {
  const auto acl = co_await at.fs().get_acl(at.file).as_result();
  if (!acl) {
    // Then the attribute is not supported, and supported() says so.
    if (acl.error() == vfs::Error::notsupp) co_return;
    co_await refuse(acl.error());
  }
  const std::vector<Ace> aces = aces_of(*acl, out.object);
  bool fits = false;
  const auto wire = compound.arena().make<nfsace4>(aces.size(), fits);
  if (!fits) co_await refuse(nfsstat4::NFS4ERR_DELAY);
  for (std::size_t i = 0; i < aces.size(); ++i) {
    const std::string_view who = co_await text_of(compound, aces[i].who);
    wire[i] = {aces[i].type, aces[i].flag, aces[i].mask, who};
  }
  out.acl = wire;
}

// RFC 8881 section 5.8.2.23: the directory of the pseudo file system that the export covers. An export that
// is the root covers nothing.
std::uint64_t mounted_on(const Compound& compound, const vfs::Export& from, std::uint64_t fileid) {
  const PseudoNode* node = compound.pseudo_tree().node_of(from);
  return node == nullptr || node->parent == nullptr ? fileid : node->fileid;
}

void put_pseudo(const Compound& compound, const PseudoNode& node, AttributeSource& out) {
  out.object = compound.pseudo_tree().attributes_of(node);
  out.fsid = {};
  out.mounted_on_fileid = node.fileid;
  out.limits.file_bytes_max = std::numeric_limits<std::int64_t>::max();
  out.limits.link_max = 1;
  out.limits.name_bytes_max = NAME_MAX;
}

}  // namespace

AttributeSource source_of(const Compound& compound, const Place& at) {
  AttributeSource source;
  source.minor = compound.minor_version();
  source.server = &compound.server().facts;
  source.handle = at.handle();
  source.fs_root = at.pseudo() ? std::string_view("/") : std::string_view(at.from->path);
  return source;
}

void put_object(const vfs::Export& from, const vfs::Attributes& object, AttributeSource& out) {
  out.object = object;
  // One file system may be offered twice, by different rules: these are two to a client. The pseudo file
  // system is 0, 0.
  out.fsid = {object.fsid, from.id.value()};
  out.mounted_on_fileid = object.fileid;
}

bool names_now(const Compound& compound, std::uint32_t facts, AttributeSource& out) {
  const IdMap& ids = compound.server().ids;
  std::optional<OwnerText> owner = out.owner;
  std::optional<OwnerText> group = out.group;
  if ((facts & Facts::owner) != 0) owner = ids.text_now(IdKind::user, out.object.uid, compound.now());
  if ((facts & Facts::group) != 0) group = ids.text_now(IdKind::group, out.object.gid, compound.now());
  if (!owner || !group) return false;
  out.owner = *owner;
  out.group = *group;
  return true;
}

Op4<> fetch_names(Compound& compound, std::uint32_t facts, AttributeSource& out) {
  IdMap& ids = compound.server().ids;
  if ((facts & Facts::owner) != 0) {
    const auto text = co_await ids.text_of(IdKind::user, out.object.uid, compound.now()).as_result();
    if (text) out.owner = *text;
  }
  if ((facts & Facts::group) != 0) {
    const auto text = co_await ids.text_of(IdKind::group, out.object.gid, compound.now()).as_result();
    if (text) out.group = *text;
  }
}

Op4<> fetch(Compound& compound, const Place& at, const Bitmap& wanted, std::optional<vfs::Attributes>& seen,
            AttributeSource& out) {
  const std::uint32_t facts = facts_of(wanted);
  if (at.pseudo()) {
    put_pseudo(compound, *at.node, out);
    co_return co_await fetch_names(compound, facts, out);
  }
  if ((facts & Facts::object) != 0) {
    if (!seen) {
      const auto object = co_await at.attributes().as_result();
      if (!object) co_await refuse(object.error());
      seen = *object;
    }
    put_object(*at.from, *seen, out);
    if (wanted.has(FATTR4_MOUNTED_ON_FILEID) && at.export_root())
      out.mounted_on_fileid = mounted_on(compound, *at.from, seen->fileid);
  }
  if ((facts & Facts::limits) != 0) {
    const auto limits = co_await at.fs().limits(at.file).as_result();
    if (!limits) co_await refuse(limits.error());
    out.limits = *limits;
  }
  if ((facts & Facts::space) != 0) {
    const auto space = co_await at.fs().status(at.file).as_result();
    if (!space) co_await refuse(space.error());
    out.space = *space;
  }
  if ((facts & (Facts::owner | Facts::group)) != 0 && !names_now(compound, facts, out))
    co_await fetch_names(compound, facts, out);
  if ((facts & Facts::acl) != 0 && out.limits.acls) co_await fetch_acl(compound, at, out);
}

}  // namespace braid::nfs4::attributes
