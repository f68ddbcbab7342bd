// An OPEN on its way (RFC 8881 18.16, RFC 7530 16.16): what its parts hand on to each other.
#pragma once

#include <optional>
#include <string_view>

#include "nfs4/attributes/bitmap.h"
#include "nfs4/compound/compound.h"
#include "nfs4/op4.h"
#include "nfs4/state/states.h"
#include "vfs/open_file.h"

namespace braid::nfs4::ops {

struct Opening {
  state::ClientRef client;
  std::string_view owner;
  state::Share share;
  bool reclaim = false;
  // The claim is a delegation of the client's own (CLAIM_DELEGATE_CUR and its kin).
  bool delegated = false;

  // Delegations (delegation_of_open.h).
  state::DelegationWish wish = state::DelegationWish::none;
  why_no_delegation4 no_wish = why_no_delegation4::WND4_NOT_WANTED;  // why it is none
  std::optional<open_delegation_type4> reclaimed;                    // READ or WRITE
  bool timestamps = false;                                           // RFC 9754 5
  bool instead = false;  // a delegation in place of the open (RFC 9754 4)

  // What the claim leads to; for one by name, what name in which directory of an export that was.
  Place at;
  Place directory;
  std::string_view name;
  std::optional<vfs::Attributes> seen;  // of what is at `at`
  vfs::OpenFileRef descriptor;
  change_info4 cinfo;
  Bitmap attrset;
  // An existing file is to become empty; not before nobody denies that (UNCHECKED4 with size 0).
  bool truncate = false;

  [[nodiscard]] vfs::OpenAccess access() const { return static_cast<vfs::OpenAccess>(share.access); }
  // The holder of a write delegation reads, too.
  [[nodiscard]] bool might_write_delegated() const {
    return reclaimed == open_delegation_type4::OPEN_DELEGATE_WRITE ||
           (wish == state::DelegationWish::any && (share.access & state::share_write) != 0);
  }
};

// Opens the file at opening.at. ISDIR, SYMLINK, INVAL or WRONG_TYPE for what is no regular file.
Op4<> open_place(Compound& compound, Opening& opening);
// Creates or opens `name` in `dir`, which is in an export, as `how` says (open_create.cc).
Op4<> create_name(Compound& compound, const Place& dir, std::string_view name, const createhow4& how,
                  Opening& opening);

}  // namespace braid::nfs4::ops
