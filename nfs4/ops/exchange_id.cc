#include <algorithm>
#include <array>
#include <string>

#include "nfs4/attributes/source.h"
#include "nfs4/clients.h"
#include "nfs4/ops/client_operations.h"

namespace braid::nfs4::ops {
namespace {

constexpr std::uint32_t flags_41 = EXCHGID4_FLAG_SUPP_MOVED_REFER | EXCHGID4_FLAG_SUPP_MOVED_MIGR |
                                   EXCHGID4_FLAG_BIND_PRINC_STATEID | EXCHGID4_FLAG_MASK_PNFS |
                                   EXCHGID4_FLAG_UPD_CONFIRMED_REC_A;
constexpr std::uint32_t flags_42 = flags_41 | EXCHGID4_FLAG_SUPP_FENCE_OPS;

constexpr std::array<nfs_impl_id4, 1> implementation{
    {{.nii_domain = "braid", .nii_name = "braid", .nii_date = {}}}};

std::array<std::uint32_t, state::MachineOperations::words> words_of(const bitmap4& bitmap) {
  std::array<std::uint32_t, state::MachineOperations::words> out{};
  std::ranges::copy_n(bitmap.begin(), static_cast<std::ptrdiff_t>(std::min(bitmap.size(), out.size())),
                      out.begin());
  return out;
}

// RFC 8881 18.35.3. SP4_MACH_CRED asks for RPCSEC_GSS with integrity; with SP4_SSV the first thing that would
// have to be agreed on are algorithms, and we have none.
Result4<std::optional<state::MachineOperations>> protection_of(const state_protect4_a& wanted,
                                                               const state::Principal& who) {
  if (wanted.spa_how == state_protect_how4::SP4_NONE) return std::nullopt;
  if (wanted.spa_how == state_protect_how4::SP4_SSV) return refuse(nfsstat4::NFS4ERR_ENCR_ALG_UNSUPP);
  if (who.flavor != state::Principal::gss) return refuse(nfsstat4::NFS4ERR_INVAL);
  const state_protect_ops4& ops = *wanted.spa_mach_ops();
  return state::MachineOperations{.enforce = words_of(ops.spo_must_enforce),
                                  .allow = words_of(ops.spo_must_allow)};
}

Result4<bitmap4> bitmap_of(Compound& compound, const std::array<std::uint32_t, 3>& words) {
  bool fits = false;
  const std::span<std::uint32_t> copy = compound.arena().make<std::uint32_t>(words.size(), fits);
  if (!fits) return refuse(nfsstat4::NFS4ERR_DELAY);
  std::ranges::copy(words, copy.begin());
  return bitmap4(copy);
}

std::string implementation_of(const EXCHANGE_ID4args& args) {
  constexpr std::size_t shown_max = 128;
  if (args.eia_client_impl_id.empty()) return {};
  return std::string(args.eia_client_impl_id.front().nii_name.substr(0, shown_max));
}

}  // namespace

// RFC 8881 18.35
Op4<EXCHANGE_ID4resok> exchange_id(Compound& compound, const EXCHANGE_ID4args& args) {
  const std::uint32_t known = compound.minor_version() == 1 ? flags_41 : flags_42;
  if ((args.eia_flags & ~known) != 0) co_return refuse(nfsstat4::NFS4ERR_INVAL);
  state::Principal who = state::principal_of(compound.call().auth);
  const auto machine = co_await protection_of(args.eia_state_protect, who);
  const base::BytesView owner = args.eia_clientowner.co_ownerid;
  state::Introduction introduction{.minor_version = compound.minor_version(),
                                   .owner = base::Bytes(owner.begin(), owner.end()),
                                   .verifier = args.eia_clientowner.co_verifier,
                                   .principal = std::move(who),
                                   .address = compound.call().peer.bytes,
                                   .peer = compound.call().peer.text(),
                                   .implementation = implementation_of(args),
                                   .machine = machine};
  const bool update = (args.eia_flags & EXCHGID4_FLAG_UPD_CONFIRMED_REC_A) != 0;
  Clients& clients = compound.server().clients;
  const state::ExchangeIdOutcome client = co_await clients.with([&](state::ClientTable& table) {
    return table.exchange_id(std::move(introduction), update, compound.now());
  });

  EXCHANGE_ID4resok out{.eir_clientid = client.client, .eir_sequenceid = client.sequence};
  out.eir_flags = compound.server().facts.role_flags | (client.confirmed ? EXCHGID4_FLAG_CONFIRMED_R : 0);
  if (client.machine) {
    const bitmap4 enforce = co_await bitmap_of(compound, client.machine->enforce);
    const bitmap4 allow = co_await bitmap_of(compound, client.machine->allow);
    out.eir_state_protect =
        state_protect4_r::with_spr_mach_ops({.spo_must_enforce = enforce, .spo_must_allow = allow});
  }
  out.eir_server_owner.so_major_id = base::bytes_of(clients.server_owner());
  out.eir_server_scope = base::bytes_of(clients.server_owner());
  out.eir_server_impl_id = implementation;
  co_return out;
}

}  // namespace braid::nfs4::ops
