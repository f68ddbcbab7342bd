#include "nfs4/clients.h"
#include "nfs4/ops/client_operations.h"

namespace braid::nfs4::ops {
namespace {

std::string_view kept(Compound& compound, const std::string& text) {
  return compound.keep(base::bytes_of(text)).value_or(std::string_view());
}

}  // namespace

// RFC 7530 16.33
Op4<SETCLIENTID4resok, clientaddr4> setclientid(Compound& compound, const SETCLIENTID4args& args) {
  const base::BytesView id = args.client.id;
  state::Introduction introduction{.minor_version = 0,
                                   .owner = base::Bytes(id.begin(), id.end()),
                                   .verifier = args.client.verifier,
                                   .principal = state::principal_of(compound.call().auth),
                                   .address = compound.call().peer.bytes,
                                   .peer = compound.call().peer.text(),
                                   .implementation = {},
                                   .machine = std::nullopt};
  const state::CallbackAddress callback{.program = args.callback.cb_program,
                                        .ident = args.callback_ident,
                                        .netid = std::string(args.callback.cb_location.na_r_netid),
                                        .address = std::string(args.callback.cb_location.na_r_addr),
                                        .from = compound.call().peer.bytes};
  const auto made = compound.server().clients.with([&](state::ClientTable& table) {
    return table.set_client_id(std::move(introduction), callback, compound.now());
  });
  if (!made) {
    return refuse(made.error().status, clientaddr4{.na_r_netid = kept(compound, made.error().netid),
                                                   .na_r_addr = kept(compound, made.error().address)});
  }
  return SETCLIENTID4resok{.clientid = made->client, .setclientid_confirm = made->confirm};
}

}  // namespace braid::nfs4::ops
