// OPEN with OPEN4_CREATE: the create modes.
#include <utility>

#include "nfs4/attributes/creation.h"
#include "nfs4/ops/file_operations.h"
#include "nfs4/ops/open_support.h"

namespace braid::nfs4::ops {

namespace {

using Mode = vfs::CreateHow::Mode;

// How often a name may come and go between our attempts to make it and to open it.
constexpr int attempts_max = 4;

// The attributes of the result are those that were set, of a new file only.
struct Plan {
  attributes::Creation creation;
  vfs::CreateHow how;
};

Op4<Plan> plan_of(Compound& compound, const Place& dir, const createhow4& how) {
  Plan plan;
  const fattr4* wanted = how.createattrs();
  attributes::CreationMode kind = attributes::CreationMode::ordinary;
  switch (how.mode) {
    case createmode4::UNCHECKED4:
      plan.how.mode = Mode::unchecked;
      break;
    case createmode4::GUARDED4:
      plan.how.mode = Mode::guarded;
      break;
    case createmode4::EXCLUSIVE4:
      plan.how.mode = Mode::exclusive;
      plan.how.verifier.bytes = *how.createverf();
      plan.creation.attrset = attributes::verifier_attributes;
      co_return plan;
    case createmode4::EXCLUSIVE4_1:
      if (compound.minor_version() == 0) co_return refuse(nfsstat4::NFS4ERR_BADXDR);
      plan.how.mode = Mode::exclusive_with_attributes;
      plan.how.verifier.bytes = how.ch_createboth()->cva_verf;
      wanted = &how.ch_createboth()->cva_attrs;
      kind = attributes::CreationMode::exclusive;
      break;
  }
  plan.creation = co_await attributes::begin_creation(compound, dir, *wanted, false, kind);
  plan.how.attributes = plan.creation.set;
  // RFC 8881 18.16.3: the attributes that keep the verifier are the client's to set afterwards.
  if (how.mode == createmode4::EXCLUSIVE4_1)
    plan.creation.attrset = plan.creation.attrset | attributes::verifier_attributes;
  co_return plan;
}

// What an open of the name for creation has brought: null if the name must be opened as it is.
Op4<bool> make(Compound& compound, const Place& dir, std::string_view name, const Plan& plan,
               Opening& opening) {
  co_await break_directory_delegations(compound, dir, name, EntryChange::comes);
  co_await leave_room(compound, dir.fs(), opening.client);
  vfs::Wcc wcc;
  const auto access = opening.might_write_delegated() ? vfs::OpenAccess::both : opening.access();
  auto made = co_await dir.fs().open_create(dir.who, dir.file, name, access, plan.how, wcc).as_result();
  if (!made && made.error() == vfs::Error::too_many_open_files) {
    const bool room = co_await evict_for_room(compound);
    if (!room) co_await refuse(state::limit_status(compound.minor_version()));
    made = co_await dir.fs().open_create(dir.who, dir.file, name, access, plan.how, wcc).as_result();
  }
  if (!made) {
    if (made.error() == vfs::Error::exist) co_return false;
    if (made.error() == vfs::Error::notdir) co_await refuse_in_directory(compound, dir, made.error());
    co_return refuse(made.error());
  }
  opening.at = Place{dir.from, dir.who, std::move(made->file), nullptr};
  opening.descriptor = std::move(made->open);
  opening.cinfo = change_info_of(wcc);
  const bool exclusive = plan.how.mode == Mode::exclusive || plan.how.mode == Mode::exclusive_with_attributes;
  if (made->created || exclusive) opening.attrset = plan.creation.attrset;
  opening.made = made->created;
  if (made->created) co_await attributes::finish_creation(compound, opening.at, plan.creation);
  if (!plan.creation.acl) opening.seen = made->attributes;
  co_return true;
}

Op4<> open_existing(Compound& compound, const Place& dir, std::string_view name, Opening& opening) {
  const auto before = co_await dir.attributes().as_result();
  if (!before) co_await refuse(before.error());
  LookedUp there = co_await compound.look_up(dir, name);
  opening.at = std::move(there.place);
  opening.seen = there.seen;
  co_await open_place(compound, opening);
  opening.cinfo = {.atomic_ = true, .before = before->change, .after = before->change};
}

}  // namespace

Op4<> create_name(Compound& compound, const Place& dir, std::string_view name, const createhow4& how,
                  Opening& opening) {
  const bool unchecked = how.mode == createmode4::UNCHECKED4;
  co_await compound.check_no_junction(
      dir, name, unchecked ? nfsstat4::NFS4ERR_ISDIR : nfsstat4::NFS4ERR_EXIST, nfsstat4::NFS4ERR_ACCESS);
  opening.directory = dir;
  opening.name = name;
  Plan plan = co_await plan_of(compound, dir, how);
  // An existing file is not truncated before we know that nobody denies writing, so it must not be the file
  // system that does both at once.
  if (unchecked) plan.how.mode = Mode::guarded;
  // A client that has all it may is told before anything is made: afterwards it would find what it made in
  // its own way.
  const auto admitted = compound.server().states.with(
      [&](state::States& states) { return states.opens().admit_one_more(*opening.client, opening.owner); });
  if (!admitted && !unchecked) co_await refuse(admitted.error());
  for (int attempt = 0; attempt < attempts_max; ++attempt) {
    if (admitted) {
      const bool made = co_await make(compound, dir, name, plan, opening);
      if (made) co_return;
      if (!unchecked) co_await refuse(nfsstat4::NFS4ERR_EXIST);
    }
    const auto opened = co_await open_existing(compound, dir, name, opening).as_result();
    if (opened) {
      if (plan.how.attributes.size == 0) {
        opening.truncate = true;
        opening.attrset = Bitmap{FATTR4_SIZE};
      }
      co_return;
    }
    if (opened.error() != nfsstat4::NFS4ERR_NOENT) co_await refuse(opened.error());
    if (!admitted) co_await refuse(admitted.error());
  }
  co_await refuse(nfsstat4::NFS4ERR_DELAY);
}

}  // namespace braid::nfs4::ops
