#include "nfs4/ops/open_for_io.h"

#include "nfs4/ops/authorize_io.h"
#include "nfs4/ops/file_operations.h"
#include "nfs4/ops/open_support.h"
#include "nfs4/state/opens/share.h"

namespace braid::nfs4::ops {

Op4<vfs::OpenFileRef> open_for_io(Compound& compound, const Place& at, const stateid4& id,
                                  vfs::OpenAccess access) {
  const bool writes = vfs::includes(access, vfs::OpenAccess::write);
  state::IoGrant grant =
      co_await authorize_io_at(compound, at, id, writes ? state::share_write : state::share_read);
  if (grant.open != nullptr) co_return std::move(grant.open);
  // The owner override is that of READ and WRITE: a client may have opened the file before its mode changed.
  auto open = co_await at.fs().open(at.who, at.file, access, vfs::OpenRule::owner_override).as_result();
  if (!open) co_await refuse_on_file(compound, at, open.error());
  co_return std::move(*open);
}

Op4<> break_delegations(Compound& compound, const Place& at) {
  const state::ClientRef by = compound.client();
  const vfs::FileHandle file = at.file->handle();
  const auto attempt = [&](state::States& states,
                           state::DeferredWork& after) -> base::Result<bool, state::Refusal> {
    auto broken = states.delegations().break_for(file, by.get(), true, compound.now(), after);
    if (!broken) return base::fail(std::move(broken.error()));
    return true;
  };
  const auto done = co_await with_states<bool, state::Refusal>(compound, attempt).as_result();
  if (!done) co_await refuse(done.error().status);
}

}  // namespace braid::nfs4::ops
