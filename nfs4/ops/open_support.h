// What the parts of OPEN share, and hand on to each other (RFC 8881 18.16, RFC 7530 16.16).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "nfs4/attributes/bitmap.h"
#include "nfs4/compound/compound.h"
#include "nfs4/op4.h"
#include "nfs4/server_state.h"
#include "nfs4/state/states.h"
#include "vfs/open_file.h"

namespace braid::nfs4::ops {

// RFC 8881 9.7, RFC 7530 16.16.2: INVAL unless the values are combinations of reading and writing.
Result4<state::Share> share_of(std::uint32_t access, std::uint32_t deny);

// An OPEN on its way.
struct Opening {
  state::ClientRef client;
  std::string_view owner;
  state::Share share;
  bool reclaim = false;
  // The claim is a delegation of the client's own (CLAIM_DELEGATE_CUR and its kin).
  bool delegated = false;

  // Delegations (delegation_of_open.cc).
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
  bool made = false;  // the file, by this OPEN

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

// Where little is left: whether the client has more states of this kind than its share. Logged and counted.
bool over_share(Compound& compound, const state::Client& client, state::StateKind kind);
// Where only a few more files can be opened, those are for clients that have few open, or come later.
Op4<> leave_room(Compound& compound, const vfs::FileSystem& fs, const state::ClientRef& client);

// No descriptor is left: the client that has been silent longest makes room. False: all are alive.
Op4<bool> evict_for_room(Compound& compound);

// The delegation that OPEN gives, or the reason why it gives none (RFC 8881 10.4; RFC 9754), in
// delegation_of_open.cc.

// Somebody waits for the file system's leases on this file or directory. Any thread.
void recall_all(const ServerState& server, const vfs::FileHandle& file);

// What the client wants, and what it may have: fills in that part of `opening`.
void plan_delegation(const Compound& compound, const OPEN4args& args, Opening& opening);

struct GivenDelegation {
  open_delegation4 wire;
  stateid4 id;  // of the delegation, if `given`
  bool given = false;
};
// After the open has been noted. Takes the lease of the file system that the delegation rests on.
// RECLAIM_BAD: a reclaimed one that the file's changes have overtaken; the open is to be undone.
Op4<GivenDelegation> give_delegation(Compound& compound, const OPEN4args& args, Opening& opening,
                                     const state::OpenAnswer& noted);

}  // namespace braid::nfs4::ops
