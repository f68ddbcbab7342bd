#include "nfs/caller.h"

#include <algorithm>

namespace braid::nfs {

vfs::Address address_of(const rpc::PeerAddress& peer) { return {peer.bytes}; }

vfs::Credentials credentials_of(const rpc::Auth& auth, const vfs::ExportRule& rule) {
  static_assert(vfs::Credentials::groups_max >= rpc::AuthSys::groups_max);
  vfs::Credentials who;
  const auto* sys = std::get_if<rpc::AuthSys>(&auth);
  if (sys == nullptr) {
    who.uid = rule.anon_uid;
    who.gid = rule.anon_gid;
    who.read_only = rule.read_only;
    return who;
  }
  who.uid = sys->uid;
  who.gid = sys->gid;
  who.group_count = sys->group_count;
  std::ranges::copy(sys->groups(), who.group_list.begin());
  return rule.squashed(who);
}

}  // namespace braid::nfs
