// Who calls: the client's address and identity as exports judge them.
#pragma once

#include "rpc/call.h"
#include "vfs/export.h"

namespace braid::nfs {

vfs::Address address_of(const rpc::PeerAddress& peer);

// The identity that the caller has by `rule`: AUTH_SYS as squashed there, AUTH_NONE as its anonymous user.
vfs::Credentials credentials_of(const rpc::Auth& auth, const vfs::ExportRule& rule);

}  // namespace braid::nfs
