// ACLs: what is said in one model means the same, or less, in the other. Judged by evaluating both as their
// definitions say: acl(5), and RFC 8881 section 6.2.1.
#include "nfs4/attributes/acl.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <vector>

namespace braid::nfs4::attributes {
namespace {

using vfs::AclEntries;
using vfs::AclTag;
using enum nfsstat4;
using Kind = Who::Kind;

constexpr std::uint32_t owner_uid = 1, owner_gid = 10;

struct Requester {
  std::uint32_t uid = 0;
  std::set<std::uint32_t> gids;
};

std::vector<Requester> requesters() {
  std::vector<Requester> all;
  for (const std::uint32_t uid : {1U, 2U, 3U, 4U})
    for (unsigned groups = 0; groups < 8; ++groups) {
      Requester one{uid, {}};
      for (unsigned i = 0; i < 3; ++i)
        if ((groups >> i & 1U) != 0) one.gids.insert(owner_gid + i);
      all.push_back(one);
    }
  return all;
}

// acl(5), ACCESS CHECK ALGORITHM, for one permission.
bool posix_grants(const AclEntries& acl, const Requester& who, unsigned permission) {
  unsigned mask = 7;
  for (const auto& entry : acl)
    if (entry.tag == AclTag::mask) mask = entry.permissions;
  const auto find = [&](AclTag tag, std::uint32_t id) {
    return std::ranges::find_if(acl, [&](const auto& entry) { return entry.tag == tag && entry.id == id; });
  };
  if (who.uid == owner_uid) return (find(AclTag::user_obj, 0)->permissions & permission) != 0;
  if (const auto user = find(AclTag::user, who.uid); user != acl.end())
    return (user->permissions & mask & permission) != 0;
  bool member = false;
  for (const auto& entry : acl) {
    const bool fits = (entry.tag == AclTag::group_obj && who.gids.contains(owner_gid)) ||
                      (entry.tag == AclTag::group && who.gids.contains(entry.id));
    if (fits && (entry.permissions & mask & permission) != 0) return true;
    member = member || fits;
  }
  if (member) return false;
  return (find(AclTag::other, 0)->permissions & permission) != 0;
}

bool means(const Who& who, const Requester& requester) {
  switch (who.kind) {
    case Kind::owner:
      return requester.uid == owner_uid;
    case Kind::group:
      return requester.gids.contains(owner_gid);
    case Kind::everyone:
      return true;
    case Kind::user:
      return requester.uid == who.id;
    case Kind::named_group:
      return requester.gids.contains(who.id);
  }
  return false;
}

// RFC 8881 section 6.2.1: ACEs in order, until each right is allowed or one is denied.
bool nfs4_grants(const std::vector<Ace>& aces, const Requester& who, unsigned permission, bool directory) {
  acemask4 missing = permission == 4   ? ACE4_READ_DATA
                     : permission == 1 ? ACE4_EXECUTE
                                       : ACE4_WRITE_DATA | ACE4_APPEND_DATA;
  if (permission == 2 && directory) missing |= ACE4_DELETE_CHILD;
  for (const Ace& ace : aces) {
    if ((ace.flag & ACE4_INHERIT_ONLY_ACE) != 0 || !means(ace.who, who)) continue;
    if (ace.type == ACE4_ACCESS_DENIED_ACE_TYPE && (ace.mask & missing) != 0) return false;
    if (ace.type == ACE4_ACCESS_ALLOWED_ACE_TYPE) missing &= ~ace.mask;
    if (missing == 0) return true;
  }
  return false;
}

class Random {
 public:
  unsigned below(unsigned n) { return static_cast<unsigned>(engine_() % n); }
  std::uint8_t permissions() { return static_cast<std::uint8_t>(below(8)); }

  AclEntries posix() {
    AclEntries acl{{AclTag::user_obj, permissions()}};
    const unsigned users = below(3);
    const unsigned groups = below(3);
    for (unsigned i = 0; i < users; ++i) acl.push_back({AclTag::user, permissions(), 1 + i});
    acl.push_back({AclTag::group_obj, permissions()});
    for (unsigned i = 0; i < groups; ++i) acl.push_back({AclTag::group, permissions(), owner_gid + 1 + i});
    if (users + groups > 0) acl.push_back({AclTag::mask, permissions()});
    acl.push_back({AclTag::other, permissions()});
    return acl;
  }
  Ace ace() {
    Ace ace;
    ace.type = below(2) == 0 ? ACE4_ACCESS_ALLOWED_ACE_TYPE : ACE4_ACCESS_DENIED_ACE_TYPE;
    ace.mask =
        below(128) & (ACE4_READ_DATA | ACE4_WRITE_DATA | ACE4_APPEND_DATA | ACE4_EXECUTE | ACE4_DELETE_CHILD);
    ace.who.kind = static_cast<Kind>(below(5));
    if (ace.who.kind == Kind::user) ace.who.id = 1 + below(3);
    if (ace.who.kind == Kind::named_group) {
      ace.who.id = owner_gid + below(3);
      ace.flag = ACE4_IDENTIFIER_GROUP;
    }
    return ace;
  }

 private:
  std::mt19937 engine_{20261120};
};

vfs::Attributes object_of(vfs::FileType type, std::uint32_t mode = 0644) {
  vfs::Attributes object;
  object.type = type;
  object.mode = mode;
  return object;
}

TEST(Acl, a_posix_acl_grants_exactly_the_same_as_aces) {
  Random random;
  for (int round = 0; round < 2000; ++round) {
    const bool directory = random.below(2) == 0;
    const vfs::PosixAcl acl{random.posix(), {}};
    const auto type = directory ? vfs::FileType::directory : vfs::FileType::regular;
    const std::vector<Ace> aces = aces_of(acl, object_of(type));
    for (const Requester& who : requesters())
      for (const unsigned permission : {4U, 2U, 1U})
        ASSERT_EQ(nfs4_grants(aces, who, permission, directory), posix_grants(acl.access, who, permission))
            << "round " << round << " uid " << who.uid << " permission " << permission;
  }
}

TEST(Acl, a_posix_acl_comes_back_with_the_same_effect) {
  Random random;
  for (int round = 0; round < 2000; ++round) {
    const vfs::PosixAcl acl{random.posix(), random.posix()};
    const auto set = posix_acl_of(aces_of(acl, object_of(vfs::FileType::directory)), true);
    ASSERT_TRUE(set && set->access && set->inherited);
    for (const Requester& who : requesters())
      for (const unsigned permission : {4U, 2U, 1U}) {
        ASSERT_EQ(posix_grants(*set->access, who, permission), posix_grants(acl.access, who, permission));
        ASSERT_EQ(posix_grants(*set->inherited, who, permission),
                  posix_grants(acl.inherited, who, permission));
      }
  }
}

TEST(Acl, aces_never_grant_more_once_they_are_a_posix_acl) {
  Random random;
  int granted = 0;
  for (int round = 0; round < 5000; ++round) {
    const bool directory = random.below(2) == 0;
    std::vector<Ace> aces;
    for (unsigned i = random.below(7); i > 0; --i) aces.push_back(random.ace());
    const auto set = posix_acl_of(aces, directory);
    ASSERT_TRUE(set && set->access);
    for (const Requester& who : requesters())
      for (const unsigned permission : {4U, 2U, 1U}) {
        if (!posix_grants(*set->access, who, permission)) continue;
        ++granted;
        ASSERT_TRUE(nfs4_grants(aces, who, permission, directory))
            << "round " << round << " uid " << who.uid << " permission " << permission;
      }
  }
  EXPECT_GT(granted, 1000) << "an ACL that grants nothing would prove nothing";
}

TEST(Acl, what_the_kernel_demands_of_an_acl_holds) {
  Random random;
  for (int round = 0; round < 2000; ++round) {
    std::vector<Ace> aces;
    for (unsigned i = random.below(9); i > 0; --i) aces.push_back(random.ace());
    const auto set = posix_acl_of(aces, false);
    ASSERT_TRUE(set && set->access);
    const AclEntries& acl = *set->access;
    EXPECT_FALSE(set->inherited) << "files pass nothing on";
    EXPECT_TRUE(std::ranges::is_sorted(
        acl, [](const auto& a, const auto& b) { return a.tag != b.tag ? a.tag < b.tag : a.id < b.id; }));
    const auto count = [&](AclTag tag) {
      return std::ranges::count_if(acl, [&](const auto& entry) { return entry.tag == tag; });
    };
    EXPECT_EQ(count(AclTag::user_obj) * count(AclTag::group_obj) * count(AclTag::other), 1);
    EXPECT_EQ(count(AclTag::mask), count(AclTag::user) + count(AclTag::group) > 0 ? 1 : 0);
  }
}

// The example of draft-ietf-nfsv4-acl-mapping: mode 0640 as ACEs.
TEST(Acl, without_an_acl_the_mode_speaks) {
  const std::vector<Ace> aces = aces_of({}, object_of(vfs::FileType::regular, 0640));
  const acemask4 anybody = ACE4_READ_ATTRIBUTES | ACE4_READ_ACL | ACE4_SYNCHRONIZE;
  const acemask4 write = ACE4_WRITE_DATA | ACE4_APPEND_DATA;
  const std::vector<Ace> expected{
      {ACE4_ACCESS_ALLOWED_ACE_TYPE,
       0,
       anybody | ACE4_READ_DATA | write | ACE4_WRITE_ATTRIBUTES | ACE4_WRITE_ACL,
       {Kind::owner, 0}},
      {ACE4_ACCESS_ALLOWED_ACE_TYPE, 0, anybody | ACE4_READ_DATA, {Kind::group, 0}},
      {ACE4_ACCESS_ALLOWED_ACE_TYPE, 0, anybody, {Kind::everyone, 0}},
  };
  EXPECT_EQ(aces, expected);
}

TEST(Acl, less_for_the_owner_than_for_others_takes_a_denial) {
  const std::vector<Ace> aces = aces_of({}, object_of(vfs::FileType::regular, 0074));
  ASSERT_EQ(aces.size(), 4U);
  EXPECT_EQ(aces[0].type, acetype4{ACE4_ACCESS_DENIED_ACE_TYPE});
  EXPECT_EQ(aces[0].who.kind, Kind::owner);
  EXPECT_EQ(aces[0].mask, acemask4{ACE4_READ_DATA | ACE4_WRITE_DATA | ACE4_APPEND_DATA | ACE4_EXECUTE});
}

TEST(Acl, inherited_entries_are_inherit_only_and_come_back_as_such) {
  const vfs::PosixAcl acl{{}, {{AclTag::user_obj, 7}, {AclTag::group_obj, 5}, {AclTag::other, 0}}};
  const std::vector<Ace> aces = aces_of(acl, object_of(vfs::FileType::directory, 0750));
  const auto inherit_only = std::ranges::count_if(aces, [](const Ace& ace) {
    return ace.flag == (ACE4_FILE_INHERIT_ACE | ACE4_DIRECTORY_INHERIT_ACE | ACE4_INHERIT_ONLY_ACE);
  });
  EXPECT_EQ(inherit_only, 3);
  EXPECT_EQ(aces.size(), 6U);
  const auto set = posix_acl_of(aces, true);
  ASSERT_TRUE(set);
  EXPECT_EQ(set->inherited, acl.inherited);
  EXPECT_EQ(set->access, (AclEntries{{AclTag::user_obj, 7}, {AclTag::group_obj, 5}, {AclTag::other, 0}}));
}

TEST(Acl, a_directory_without_inheritable_aces_loses_its_inherited_acl) {
  const Ace ace{ACE4_ACCESS_ALLOWED_ACE_TYPE, 0, ACE4_READ_DATA, {Kind::owner, 0}};
  const auto set = posix_acl_of(std::vector{ace}, true);
  ASSERT_TRUE(set && set->inherited);
  EXPECT_TRUE(set->inherited->empty());
}

TEST(Acl, what_posix_acls_do_not_have_is_not_supported) {
  const auto status = [](const Ace& ace, bool directory) {
    const auto set = posix_acl_of(std::vector{ace}, directory);
    return set ? NFS4_OK : set.error();
  };
  const Ace allow{ACE4_ACCESS_ALLOWED_ACE_TYPE, 0, ACE4_READ_DATA, {Kind::everyone, 0}};
  EXPECT_EQ(status(allow, false), NFS4_OK);
  for (const acetype4 type : {ACE4_SYSTEM_AUDIT_ACE_TYPE, ACE4_SYSTEM_ALARM_ACE_TYPE, 4U}) {
    Ace ace = allow;
    ace.type = type;
    EXPECT_EQ(status(ace, false), NFS4ERR_ATTRNOTSUPP);
  }
  for (const aceflag4 flag : {ACE4_NO_PROPAGATE_INHERIT_ACE, ACE4_SUCCESSFUL_ACCESS_ACE_FLAG,
                              ACE4_FAILED_ACCESS_ACE_FLAG, ACE4_INHERITED_ACE, 0x100U}) {
    Ace ace = allow;
    ace.flag = flag;
    EXPECT_EQ(status(ace, true), NFS4ERR_ATTRNOTSUPP) << flag;
  }
  Ace inherit = allow;
  inherit.flag = ACE4_FILE_INHERIT_ACE;
  EXPECT_EQ(status(inherit, false), NFS4ERR_ATTRNOTSUPP);
  EXPECT_EQ(status(inherit, true), NFS4_OK);
  const Ace blind{ACE4_ACCESS_DENIED_ACE_TYPE, 0, ACE4_READ_ATTRIBUTES, {Kind::everyone, 0}};
  EXPECT_EQ(status(blind, false), NFS4ERR_ATTRNOTSUPP);
  const Ace bound{ACE4_ACCESS_DENIED_ACE_TYPE, 0, ACE4_WRITE_ACL, {Kind::owner, 0}};
  EXPECT_EQ(status(bound, false), NFS4ERR_ATTRNOTSUPP);
}

TEST(Acl, too_many_aces_are_refused_before_work_is_done_for_them) {
  std::vector<Ace> aces(aces_mapped_max, Ace{0, 0, ACE4_READ_DATA, {Kind::everyone, 0}});
  EXPECT_TRUE(posix_acl_of(aces, false));
  aces.push_back(aces.front());
  EXPECT_EQ(posix_acl_of(aces, false).error(), NFS4ERR_FBIG);
}

}  // namespace
}  // namespace braid::nfs4::attributes
