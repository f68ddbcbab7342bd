#include "nfs4/ops/callback_parameters.h"

#include <algorithm>

#include "rpc/session.h"

namespace braid::nfs4::ops {

Result4<state::CallbackParameters> callback_parameters(std::uint32_t program,
                                                       std::span<const callback_sec_parms4> offered) {
  state::CallbackParameters out{.program = program, .auth = rpc::AuthNone{}};
  if (offered.empty()) return out;
  for (const callback_sec_parms4& one : offered) {
    if (one.cb_secflavor == SECINFO_AUTH_NONE) return out;
    const authsys_parms* parms = one.cbsp_sys_cred();
    if (parms == nullptr) continue;
    rpc::AuthSys sys{.stamp = parms->stamp, .machinename = {}, .uid = parms->uid, .gid = parms->gid};
    sys.group_count =
        static_cast<std::uint32_t>(std::min(parms->gids.size(), std::size_t{rpc::AuthSys::groups_max}));
    std::ranges::copy_n(parms->gids.begin(), sys.group_count, sys.group_list.begin());
    out.auth = sys;
    return out;
  }
  return refuse(nfsstat4::NFS4ERR_ENCR_ALG_UNSUPP);
}

state::BackConnection connection_of(const rpc::Call& call) {
  if (call.session == nullptr) return {};
  return {.id = call.session->number(), .channel = call.session->back_channel()};
}

}  // namespace braid::nfs4::ops
