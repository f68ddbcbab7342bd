#include "nfs4/state/clients/ids.h"

namespace braid::nfs4::state {

Principal principal_of(const rpc::Auth& auth) {
  const auto* sys = std::get_if<rpc::AuthSys>(&auth);
  if (sys == nullptr) return {};
  return {.flavor = Principal::sys, .uid = sys->uid, .gid = sys->gid, .name = {}};
}

}  // namespace braid::nfs4::state
