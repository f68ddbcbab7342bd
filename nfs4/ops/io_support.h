// The content of files under the stateid that an operation brings: who may read and write it, and through
// what.
#pragma once

#include <cstdint>

#include "nfs4/compound/compound.h"
#include "nfs4/compound/place.h"
#include "nfs4/op4.h"
#include "nfs4/state/states.h"
#include "vfs/open_file.h"

namespace braid::nfs4::ops {

// Whether the caller may do with this file what `access` (state::share_read, share_write) says; whoever may
// execute it may read it.
Op4<bool> may_use(const Place& at, std::uint8_t access);

// For an operation on the current filehandle, which is in an export. `access`: state::share_read or
// share_write. With an open in the grant, I/O goes through it; without one it goes through a borrowed file,
// and the caller's own rights count (GrantedFile). BAD_STATEID, OLD_STATEID, STALE_STATEID,
// EXPIRED, ADMIN_REVOKED, DELEG_REVOKED; OPENMODE: not opened for this; LOCKED: no stateid, and somebody
// denies this; GRACE: no stateid, and somebody may yet reclaim such an open; DELAY: a delegation is being
// recalled; ACCESS: somebody else has opened the file, and the caller might not. Where the server has an
// IoAuthorizer, that decides.
Op4<state::IoGrant> authorize_io(Compound& compound, const stateid4& id, std::uint8_t access);
// The same for the saved filehandle and another file than the current one: `at` outlives the result.
Op4<state::IoGrant> authorize_io_at(Compound& compound, const Place& at, const stateid4& id,
                                    std::uint8_t access);

// For times of the current filehandle, which is in an export, that the holder of the delegation `id` says
// (RFC 9754 section 5). `access`: state::share_write if the mtime is among them, else share_read. INVAL: no
// delegation that keeps times; OPENMODE: one for reading, which says nothing of the mtime; ACCESS: somebody
// else's, and the caller might not; and what there is to say of a stateid.
Op4<state::IoGrant> authorize_times(Compound& compound, const stateid4& id, std::uint8_t access);

// The open that `id` stands for on `at`, which is in an export and outlives the result; under a special
// stateid, or where the stateid's open has no descriptor of this kind, one that is made for this operation.
// Errors as those of authorize_io(), and of opening the file.
Op4<vfs::OpenFileRef> open_for_io(Compound& compound, const Place& at, const stateid4& id,
                                  vfs::OpenAccess access);

// What READ, WRITE and SETATTR of the size go through: the open that their stateid stands for, or, under a
// special stateid, what is borrowed for this operation. `grant` and `at` outlive it.
class GrantedFile {
 public:
  GrantedFile(const state::IoGrant& grant, const Place& at)
      : lent_(grant.open != nullptr ? vfs::Borrowed() : at.fs().borrow(at.who, at.file)),
        file_(grant.open != nullptr ? *grant.open : *lent_) {}
  vfs::OpenFile* operator->() const { return &file_; }

 private:
  const vfs::Borrowed lent_;
  vfs::OpenFile& file_;
};

// A change of bytes that is under way for a client: whoever ends that client waits for it before others get
// what it held. `grant`: null for an operation that only clients with sessions have.
class ByteChange {
 public:
  ByteChange(const Compound& compound, const state::IoGrant* grant);
  explicit ByteChange(state::ClientRef client);
  ~ByteChange();
  ByteChange(const ByteChange&) = delete;
  ByteChange& operator=(const ByteChange&) = delete;
  // EXPIRED: the client is gone; DELAY: what it holds is being revoked. Nothing may be changed then.
  [[nodiscard]] Result4<void> admitted() const;

 private:
  const state::ClientRef client_;
  const bool begun_;
};

}  // namespace braid::nfs4::ops
