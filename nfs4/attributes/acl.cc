#include "nfs4/attributes/acl.h"

#include <algorithm>
#include <optional>

namespace braid::nfs4::attributes {
namespace {

using vfs::AclEntries;
using vfs::AclEntry;
using vfs::AclTag;

constexpr std::uint8_t read_bit = 4, write_bit = 2, execute_bit = 1, all_bits = 7;

// What anybody may do, whatever the ACL says, and what the owner may besides.
constexpr acemask4 anybody_mask = ACE4_READ_ATTRIBUTES | ACE4_READ_ACL | ACE4_SYNCHRONIZE;
constexpr acemask4 owner_mask = ACE4_WRITE_ATTRIBUTES | ACE4_WRITE_ACL;

constexpr aceflag4 inheritance = ACE4_FILE_INHERIT_ACE | ACE4_DIRECTORY_INHERIT_ACE;
constexpr aceflag4 known_flags = inheritance | ACE4_INHERIT_ONLY_ACE | ACE4_IDENTIFIER_GROUP;

acemask4 write_mask(bool directory) {
  return ACE4_WRITE_DATA | ACE4_APPEND_DATA | (directory ? ACE4_DELETE_CHILD : 0U);
}

acemask4 mask_of(unsigned permissions, bool directory) {
  acemask4 mask = 0;
  if ((permissions & read_bit) != 0) mask |= ACE4_READ_DATA;
  if ((permissions & write_bit) != 0) mask |= write_mask(directory);
  if ((permissions & execute_bit) != 0) mask |= ACE4_EXECUTE;
  return mask;
}

// A permission only if every right that it stands for is there.
std::uint8_t permissions_of(acemask4 mask, bool directory) {
  unsigned permissions = 0;
  if ((mask & ACE4_READ_DATA) != 0) permissions |= read_bit;
  if ((mask & write_mask(directory)) == write_mask(directory)) permissions |= write_bit;
  if ((mask & ACE4_EXECUTE) != 0) permissions |= execute_bit;
  return static_cast<std::uint8_t>(permissions);
}

AclEntries entries_of_mode(std::uint32_t mode) {
  const auto part = [mode](unsigned shift) { return static_cast<std::uint8_t>(mode >> shift & all_bits); };
  return {{AclTag::user_obj, part(6)}, {AclTag::group_obj, part(3)}, {AclTag::other, part(0)}};
}

Who who_of(const AclEntry& entry) {
  switch (entry.tag) {
    case AclTag::user_obj:
      return {Who::Kind::owner, 0};
    case AclTag::user:
      return {Who::Kind::user, entry.id};
    case AclTag::group_obj:
      return {Who::Kind::group, 0};
    case AclTag::group:
      return {Who::Kind::named_group, entry.id};
    case AclTag::mask:
    case AclTag::other:
      break;
  }
  return {Who::Kind::everyone, 0};
}

// Writes one POSIX ACL as ACEs. POSIX takes the first of owner, named user, groups, other that fits, and of
// several groups any that grants; ACEs are gone through in order. So whatever a later entry would grant to
// somebody whom an earlier one means is denied right behind the earlier one; for groups, behind all of them.
class AceWriter {
 public:
  AceWriter(const AclEntries& entries, bool directory, aceflag4 flags, std::vector<Ace>& out)
      : entries_(entries), directory_(directory), flags_(flags), out_(out) {
    for (const AclEntry& entry : entries)
      if (entry.tag == AclTag::mask) limit_ = entry.permissions;
    for (const AclEntry& entry : entries) {
      if (entry.tag == AclTag::user) users_ |= effective(entry);
      if (entry.tag == AclTag::group || entry.tag == AclTag::group_obj) groups_ |= effective(entry);
      if (entry.tag == AclTag::other) other_ |= effective(entry);
    }
  }

  void run() {
    each({AclTag::user_obj}, [&](const AclEntry& entry) {
      deny(entry, users_ | groups_ | other_);
      allow(entry, anybody_mask | owner_mask);
    });
    each({AclTag::user}, [&](const AclEntry& entry) {
      deny(entry, groups_ | other_);
      allow(entry, anybody_mask);
    });
    each({AclTag::group_obj, AclTag::group}, [&](const AclEntry& entry) { allow(entry, anybody_mask); });
    each({AclTag::group_obj, AclTag::group}, [&](const AclEntry& entry) { deny(entry, other_); });
    each({AclTag::other}, [&](const AclEntry& entry) { allow(entry, anybody_mask); });
  }

 private:
  template <class F>
  void each(std::initializer_list<AclTag> tags, F f) {
    for (const AclTag tag : tags)
      for (const AclEntry& entry : entries_)
        if (entry.tag == tag) f(entry);
  }
  [[nodiscard]] unsigned effective(const AclEntry& entry) const {
    const bool limited = entry.tag != AclTag::user_obj && entry.tag != AclTag::other;
    return entry.permissions & (limited ? limit_ : all_bits);
  }
  void allow(const AclEntry& entry, acemask4 always) {
    put(ACE4_ACCESS_ALLOWED_ACE_TYPE, entry, mask_of(effective(entry), directory_) | always);
  }
  void deny(const AclEntry& entry, unsigned granted_later) {
    const unsigned refused = ~effective(entry) & granted_later;
    if (refused != 0) put(ACE4_ACCESS_DENIED_ACE_TYPE, entry, mask_of(refused, directory_));
  }
  void put(acetype4 type, const AclEntry& entry, acemask4 mask) {
    const aceflag4 group = entry.tag == AclTag::group ? ACE4_IDENTIFIER_GROUP : 0U;
    out_.push_back({type, flags_ | group, mask, who_of(entry)});
  }

  const AclEntries& entries_;
  const bool directory_;
  const aceflag4 flags_;
  std::vector<Ace>& out_;
  unsigned limit_ = all_bits;
  unsigned users_ = 0, groups_ = 0, other_ = 0;
};

// What the ACEs so far allow and deny somebody. The first ACE that speaks of a right decides.
struct Decided {
  acemask4 allowed = 0;
  acemask4 denied = 0;
  void allow(acemask4 mask) { allowed |= mask & ~denied; }
  void deny(acemask4 mask) { denied |= mask & ~allowed; }
};

// Goes through ACEs in order and keeps what they decide for each entry of the POSIX ACL to be. Somebody may
// be meant by several: the owner by a user's ACE, a user by those of groups. What these deny is denied to
// them, what these allow is not allowed to them, so the result never grants too much.
class AclBuilder {
 public:
  explicit AclBuilder(bool directory) : directory_(directory) {}

  void add(const Ace& ace) {
    empty_ = false;
    if (ace.type == ACE4_ACCESS_ALLOWED_ACE_TYPE)
      allow(ace.who, ace.mask);
    else
      deny(ace.who, ace.mask);
  }
  [[nodiscard]] bool empty() const { return empty_; }

  // Nothing if something is denied that cannot be.
  [[nodiscard]] std::optional<AclEntries> take() {
    AclEntries out;
    bool possible = deniable(owner_.denied, anybody_mask | owner_mask);
    out.push_back({AclTag::user_obj, permissions_of(owner_.allowed, directory_)});
    acemask4 limit = group_.allowed;
    const auto put = [&](AclTag tag, const Decided& decided, std::uint32_t id) {
      possible = possible && deniable(decided.denied, anybody_mask);
      out.push_back({tag, permissions_of(decided.allowed, directory_), id});
    };
    const auto by_id = [](const Named& a, const Named& b) { return a.id < b.id; };
    std::ranges::sort(users_, by_id);
    std::ranges::sort(groups_, by_id);
    for (const Named& user : users_) {
      put(AclTag::user, user.decided, user.id);
      limit |= user.decided.allowed;
    }
    put(AclTag::group_obj, group_, 0);
    for (const Named& group : groups_) {
      put(AclTag::group, group.decided, group.id);
      limit |= group.decided.allowed;
    }
    if (!users_.empty() || !groups_.empty()) out.push_back({AclTag::mask, permissions_of(limit, directory_)});
    put(AclTag::other, other_, 0);
    if (!possible) return std::nullopt;
    return out;
  }

 private:
  struct Named {
    std::uint32_t id = 0;
    Decided decided;
  };

  // SYNCHRONIZE means nothing here, so its denial does no harm.
  static bool deniable(acemask4 denied, acemask4 always) {
    return (denied & always & ~std::uint32_t{ACE4_SYNCHRONIZE}) == 0;
  }

  Decided& named(std::vector<Named>& list, std::uint32_t id) {
    for (Named& item : list)
      if (item.id == id) return item.decided;
    // Whatever was said of everyone holds for who is named only now.
    return list.emplace_back(Named{id, unnamed_}).decided;
  }

  void allow(const Who& who, acemask4 mask) {
    switch (who.kind) {
      case Who::Kind::owner:
        owner_.allow(mask);
        return;
      case Who::Kind::user:
        named(users_, who.id).allow(mask);
        return;
      case Who::Kind::group:
        group_.allow(mask);
        return;
      case Who::Kind::named_group:
        named(groups_, who.id).allow(mask);
        return;
      case Who::Kind::everyone:
        other_.allow(mask);
        for_everybody_else([mask](Decided& decided) { decided.allow(mask); });
        return;
    }
  }

  void deny(const Who& who, acemask4 mask) {
    switch (who.kind) {
      case Who::Kind::owner:
        owner_.deny(mask);
        return;
      case Who::Kind::user: {
        Decided& user = named(users_, who.id);
        user.deny(mask);
        owner_.deny(user.denied);
        return;
      }
      case Who::Kind::group:
      case Who::Kind::named_group: {
        Decided& group = who.kind == Who::Kind::group ? group_ : named(groups_, who.id);
        group.deny(mask);
        // A copy: the loop below changes the group as well.
        const acemask4 denied = group.denied;
        for_everybody_else([denied](Decided& decided) { decided.deny(denied); });
        return;
      }
      case Who::Kind::everyone:
        other_.deny(mask);
        for_everybody_else([mask](Decided& decided) { decided.deny(mask); });
        return;
    }
  }

  template <class F>
  void for_everybody_else(F f) {
    f(owner_);
    f(group_);
    f(unnamed_);
    for (Named& user : users_) f(user.decided);
    for (Named& group : groups_) f(group.decided);
  }

  const bool directory_;
  bool empty_ = true;
  Decided owner_, group_, other_;
  Decided unnamed_;  // for users and groups that no ACE has named yet
  std::vector<Named> users_, groups_;
};

}  // namespace

std::vector<Ace> aces_of(const vfs::PosixAcl& acl, const vfs::Attributes& object) {
  const bool directory = object.type == vfs::FileType::directory;
  std::vector<Ace> aces;
  aces.reserve(2 * (acl.access.size() + acl.inherited.size() + 3));
  const AclEntries access = acl.access.empty() ? entries_of_mode(object.mode) : acl.access;
  AceWriter(access, directory, 0, aces).run();
  if (directory && !acl.inherited.empty())
    AceWriter(acl.inherited, directory, inheritance | ACE4_INHERIT_ONLY_ACE, aces).run();
  return aces;
}

Result4<vfs::SetAcl> posix_acl_of(std::span<const Ace> aces, bool directory) {
  if (aces.size() > aces_mapped_max) return base::fail(nfsstat4::NFS4ERR_FBIG);
  AclBuilder access(directory);
  AclBuilder inherited(directory);
  for (const Ace& ace : aces) {
    const bool known =
        (ace.type == ACE4_ACCESS_ALLOWED_ACE_TYPE || ace.type == ACE4_ACCESS_DENIED_ACE_TYPE) &&
        (ace.flag & ~known_flags) == 0;
    const bool inherits = (ace.flag & inheritance) != 0;
    if (!known || (inherits && !directory)) return base::fail(nfsstat4::NFS4ERR_ATTRNOTSUPP);
    // POSIX does not tell files from directories here: one of the two flags stands for both.
    if (inherits) inherited.add(ace);
    if (!inherits || (ace.flag & ACE4_INHERIT_ONLY_ACE) == 0) access.add(ace);
  }
  vfs::SetAcl set;
  set.access = access.take();
  if (!set.access) return base::fail(nfsstat4::NFS4ERR_ATTRNOTSUPP);
  if (!directory) return set;
  // No inheritable ACE: what is made in the directory gets its mode alone.
  set.inherited = inherited.empty() ? AclEntries() : inherited.take();
  if (!set.inherited) return base::fail(nfsstat4::NFS4ERR_ATTRNOTSUPP);
  return set;
}

}  // namespace braid::nfs4::attributes
