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
  co_await truncations_.deliver(*number, in_contact ? What::left_out : What::all);
  const bool had_contact = co_await servers_.heard(id, heartbeat);
  if (had_contact) co_return;
  // Whoever looked before that has left the server out.
  const base::Result<void, vfs::Error> told = co_await truncations_.deliver(*number, What::all).as_result();
  if (!told) servers_.unheard(id);
  co_await base::Result<void, vfs::Error>(told);
}

}  // namespace braid::pnfs_mds
