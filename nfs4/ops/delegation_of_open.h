// The delegation that OPEN gives, or the reason why it gives none (RFC 8881 10.4, 18.16; RFC 9754).
#pragma once

#include "nfs4/compound/compound.h"
#include "nfs4/op4.h"
#include "nfs4/ops/opening.h"

namespace braid::nfs4::ops {

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
