#include "pnfs_mds/admission.h"

#include <optional>

namespace braid::pnfs_mds {

vfs::VfsOp<> Admission::heard(pnfs::ServerId id, Heartbeat heartbeat) {
  const std::optional<pnfs::ServerNumber> number = servers_.number_of(id);
  if (!number) co_await base::fail(vfs::Error::noent);
  Turns& turns = *turns_.with([&](auto& all) {
    std::unique_ptr<Turns>& known = all[id];
    if (known == nullptr) known = std::make_unique<Turns>();
    return known.get();
  });
  const Turns::Hold hold = co_await turns.alone();
  using What = Truncations::What;
  const std::optional<ServerStanding> standing = servers_.standing(*number);
  const bool in_contact = standing && standing->in_contact;
  co_await deliver(*number, in_contact ? What::left_out : What::all);
  const bool had_contact = co_await servers_.heard(id, heartbeat);
  // Whoever looked before that has left the server out, or taken it for one that has barred itself.
  const base::Result<void, vfs::Error> told = had_contact ? co_await fences_.deliver(*number).as_result()
                                                          : co_await deliver(*number, What::all).as_result();
  if (!told) servers_.unheard(id);
  co_await base::Result<void, vfs::Error>(told);
}

vfs::VfsOp<> Admission::deliver(pnfs::ServerNumber server, Truncations::What what) {
  co_await truncations_.deliver(server, what);
  co_await fences_.deliver(server);
}

}  // namespace braid::pnfs_mds
