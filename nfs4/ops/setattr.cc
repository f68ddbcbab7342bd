#include <optional>
#include <utility>

#include "nfs4/attributes/creation.h"
#include "nfs4/attributes/fetch.h"
#include "nfs4/attributes/table.h"
#include "nfs4/ops/attribute_operations.h"
#include "nfs4/ops/delegated_attributes.h"
#include "nfs4/ops/io_support.h"
#include "nfs4/ops/state_access.h"
#include "nfs4/state/opens/share.h"

namespace braid::nfs4::ops {
namespace {

using attributes::SetRequest;

constexpr Bitmap delegated_times{FATTR4_TIME_DELEG_ACCESS, FATTR4_TIME_DELEG_MODIFY};

// One SETATTR: what is to be done, and what has been done so far. Lives in the frame of the operation.
struct Change {
  Place at;
  stateid4 id;
  attributes::AttributeSource source;
  SetRequest request{};
  vfs::SetAttributes set{};
  std::optional<vfs::SetAcl> acl{};
  state::IoGrant grant{};
  Bitmap done{};
};

// RFC 8881 18.30.4: only regular files have a size to set.
Result4<void> check_size(vfs::FileType type) {
  if (type == vfs::FileType::regular) return {};
  return refuse(type == vfs::FileType::directory ? nfsstat4::NFS4ERR_ISDIR : nfsstat4::NFS4ERR_INVAL);
}

Op4<> understand(Compound& compound, const fattr4& wire, Change& change) {
  const Bitmap named = Bitmap::of_wire(wire.attrmask);
  const auto object = co_await change.at.attributes().as_result();
  if (!object) co_await refuse(object.error());
  attributes::put_object(*change.at.from, *object, change.source);
  if (named.has(FATTR4_ACL)) {
    const auto limits = co_await change.at.fs().limits(change.at.file).as_result();
    if (!limits) co_await refuse(limits.error());
    change.source.limits = *limits;
  }
  change.request = co_await attributes::decode_settable(
      wire, attributes::supported(change.source), attributes::settable_by_setattr(compound.minor_version()),
      compound.arena());
  if (change.request.size) co_await check_size(object->type);
  change.set = co_await attributes::file_attributes(compound, change.request);
  if (const auto& masked = change.request.mode_masked)
    change.set.mode =
        (object->mode & ~masked->mm_mask_bits) | (masked->mm_value_to_set & masked->mm_mask_bits);
  if (change.request.acl)
    change.acl = co_await attributes::file_acl(compound, *change.request.acl,
                                               object->type == vfs::FileType::directory);
}

// A stateid matters only to a change of the size (RFC 8881 18.30.3), and to times that the holder of a
// delegation says (RFC 9754 section 5). Whoever else has a delegation must give it back first.
Op4<> gain_access(Compound& compound, Change& change) {
  const vfs::FileHandle& file = change.at.file->handle();
  if (change.request.size) change.grant = co_await authorize_io(compound, change.id, state::share_write);
  if (change.request.named.intersects(delegated_times)) {
    const bool modified = change.request.named.has(FATTR4_TIME_DELEG_MODIFY);
    const std::uint8_t access = modified ? state::share_write : state::share_read;
    const state::IoGrant holding = co_await authorize_times(compound, change.id, access);
    change.at.who.holder = vfs::LeaseHolder(holding.client->id);
    co_return;
  }
  if (change.grant.client != nullptr) change.at.who.holder = vfs::LeaseHolder(change.grant.client->id);
  const state::ClientRef by = change.grant.client != nullptr ? change.grant.client : compound.client();
  const auto give_way = [&](state::States& states,
                            state::DeferredWork& after) -> base::Result<bool, state::Refusal> {
    auto broken = states.delegations().break_for(file, by.get(), true, compound.now(), after);
    if (!broken) return base::fail(std::move(broken.error()));
    return true;
  };
  const auto way = co_await with_states<bool, state::Refusal>(compound, give_way).as_result();
  if (!way) co_await refuse(way.error().status);
}

// The size goes first and by itself, since it may be changed with the rights of an open. The server's time as
// mtime goes with it: whoever may write need not own the file.
Op4<> set_size(const Compound& compound, Change& change) {
  if (!change.set.size) co_return;
  vfs::SetAttributes sizing;
  sizing.size = change.set.size;
  Bitmap bits{FATTR4_SIZE};
  change.set.size.reset();
  if (change.set.mtime.how == vfs::SetTime::How::server) {
    sizing.mtime = change.set.mtime;
    change.set.mtime = {};
    bits.add(FATTR4_TIME_MODIFY_SET);
  }
  const GrantedFile file(change.grant, change.at);
  const ByteChange under_way(compound, &change.grant);
  co_await under_way.admitted();
  const auto set = co_await file->set(change.at.who, sizing).as_result();
  if (!set) co_await refuse(set.error());
  change.done = change.done | bits;
}

// The holder of a delegation need not own the file either.
Op4<> set_delegated_times(const Compound& compound, Change& change) {
  const Bitmap bits = change.request.named & delegated_times;
  if (bits.empty()) co_return;
  const vfs::Attributes& known = change.source.object;
  const base::WallTime now = compound.server().clock.wall();
  vfs::SetAttributes times;
  times.atime = delegated_time(change.request.delegated_atime, known.atime, now);
  times.mtime = delegated_time(change.request.delegated_mtime, known.mtime, now);
  vfs::Credentials server;
  server.holder = change.at.who.holder;
  const auto set =
      co_await change.at.fs().setattr(server, change.at.file, times, std::nullopt, nullptr).as_result();
  if (!set) co_await refuse(set.error());
  change.done = change.done | bits;
}

Op4<> set_others(Change& change) {
  const Bitmap bits = change.request.named - change.done - Bitmap{FATTR4_ACL};
  if (bits.empty()) co_return;
  const auto set = co_await change.at.fs()
                       .setattr(change.at.who, change.at.file, change.set, std::nullopt, nullptr)
                       .as_result();
  if (!set) co_await refuse(set.error());
  change.done = change.done | bits;
}

// RFC 8881 6.4.1.3: after the mode.
Op4<> set_acl(Change& change) {
  if (!change.acl) co_return;
  const auto set =
      co_await change.at.fs().set_acl(change.at.who, change.at.file, *change.acl, nullptr).as_result();
  if (!set) co_await refuse(set.error());
  change.done.add(FATTR4_ACL);
}

Op4<> run(Compound& compound, const fattr4& wire, Change& change) {
  co_await understand(compound, wire, change);
  co_await gain_access(compound, change);
  co_await set_size(compound, change);
  co_await set_delegated_times(compound, change);
  co_await set_others(change);
  co_await set_acl(change);
}

}  // namespace

void encode(xdr::Encoder& out, const AttributesSet& set) { encode_bitmap4(out, set.done.wire()); }

std::size_t encoded_size(const AttributesSet& set) { return 4 + 4 * set.done.wire().size(); }

Op4<AttributesSet, AttributesSet> setattr(Compound& compound, const SETATTR4args& args) {
  const Place& at = compound.current();
  if (at.pseudo()) co_return refuse(nfsstat4::NFS4ERR_ROFS, AttributesSet{});
  Change change{.at = at, .id = args.stateid, .source = attributes::source_of(compound, at)};
  const auto ran = co_await run(compound, args.obj_attributes, change).as_result();
  // That nothing was set need not be written: it may yet be, if this is executed again.
  if (!ran && change.done.empty()) co_return refuse_without<AttributesSet>(ran.error());
  // Nor may it be executed again when something was: the size would cut what others have written meanwhile.
  const bool would_repeat = !ran && ran.error() == nfsstat4::NFS4ERR_DELAY;
  if (!ran) co_return refuse(would_repeat ? nfsstat4::NFS4ERR_IO : ran.error(), AttributesSet{change.done});
  co_return AttributesSet{change.done};
}

}  // namespace braid::nfs4::ops
