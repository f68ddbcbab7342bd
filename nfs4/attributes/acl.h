// NFSv4 ACLs on file systems that hold POSIX ACLs, after draft-ietf-nfsv4-acl-mapping-05 and what Linux'
// server does.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "nfs4/op4.h"
#include "vfs/acl.h"
#include "vfs/types.h"

namespace braid::nfs4::attributes {

// Whom an ACE is about, with names translated to numbers.
struct Who {
  enum class Kind : std::uint8_t {
    owner,     // OWNER@
    group,     // GROUP@
    everyone,  // EVERYONE@
    user,
    named_group,
  } kind = Kind::everyone;
  std::uint32_t id = 0;  // of user and named_group
  friend bool operator==(const Who&, const Who&) = default;
};

// An nfsace4.
struct Ace {
  acetype4 type = ACE4_ACCESS_ALLOWED_ACE_TYPE;
  aceflag4 flag = 0;
  acemask4 mask = 0;
  Who who;
  friend bool operator==(const Ace&, const Ace&) = default;
};

// ACEs of one ACL that are mapped at most.
constexpr std::size_t aces_mapped_max = 1024;

// What `acl` grants and denies, exactly; its mask entry is applied to those it limits. An empty access list
// stands for the mode. The inherited list becomes inherit-only ACEs.
std::vector<Ace> aces_of(const vfs::PosixAcl& acl, const vfs::Attributes& object);

// A POSIX ACL that grants nothing that the ACEs do not, since not every NFSv4 ACL can be said in it. Of a
// directory both lists are set, of other objects the access list. NFS4ERR_ATTRNOTSUPP for what POSIX ACLs do
// not have at all: audit and alarm ACEs, inheritance by files, denial of what anybody may do (read
// attributes and ACL). NFS4ERR_FBIG for more than aces_mapped_max.
Result4<vfs::SetAcl> posix_acl_of(std::span<const Ace> aces, bool directory);

}  // namespace braid::nfs4::attributes
