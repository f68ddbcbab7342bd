// The layout operations but LAYOUTGET, and the table of all of them.
#include "pnfs_mds/layouts/layout_operations.h"

#include <array>
#include <limits>
#include <numeric>
#include <utility>

#include "base/assert.h"
#include "nfs4/clients.h"
#include "nfs4/compound/operation_handler.h"
#include "nfs4/ops/extended_operations.h"
#include "nfs4/ops/state_access.h"
#include "rpc/session.h"

namespace braid::pnfs_mds::layouts {

using enum nfs4::nfsstat4;
using nfs4::Compound;
using nfs4::layoutiomode4;
using nfs4::layoutreturn_type4;
using nfs4::Op4;
using nfs4::Place;
using nfs4::refuse;
using nfs4::state::DeferredWork;
using nfs4::state::States;

namespace {

constexpr auto files_type = static_cast<std::uint32_t>(nfs4::layouttype4::LAYOUT4_NFSV4_1_FILES);
constexpr std::uint64_t all_bytes = std::numeric_limits<std::uint64_t>::max();

// RFC 8881 18.42.3. Layouts are not reclaimed after a restart of the server; what was written under one is
// asked of the data servers. Linux asks for the attributes right behind it.
Op4<nfs4::LAYOUTCOMMIT4resok> settled_size(Compound& compound, const Place& at) {
  const auto now = co_await at.attributes().as_result();
  if (!now) co_await refuse(now.error());
  compound.seen() = *now;
  co_return nfs4::LAYOUTCOMMIT4resok{.locr_newsize = nfs4::newsize4::with_ns_size(now->size)};
}

std::vector<std::uint32_t> granted_notifications(nfs4::bitmap4 asked) {
  // NOTIFY_DEVICEID4_CHANGE and NOTIFY_DEVICEID4_DELETE: without them Linux does not keep a device.
  constexpr std::uint32_t known = 1U << 1U | 1U << 2U;
  if (asked.empty() || (asked[0] & known) == 0) return {};
  return {asked[0] & known};
}

rpc::Transport transport_of(const rpc::Call& call) {
  return call.session == nullptr ? rpc::Transport::tcp : call.session->transport();
}

// Of each server the addresses that the client is told. Nothing: one of them cannot be reached.
std::optional<Device> describe(std::vector<std::vector<Address>> servers) {
  Device out;
  out.servers = std::move(servers);
  out.addresses.reserve(out.servers.size());
  for (const std::vector<Address>& server : out.servers) {
    if (server.empty()) return std::nullopt;
    std::vector<pnfs::layout_address>& addresses = out.addresses.emplace_back();
    addresses.reserve(server.size());
    for (const Address& address : server)
      addresses.push_back({.na_r_netid = address.netid, .na_r_addr = address.uaddr});
  }
  out.lists.reserve(out.addresses.size());
  for (const auto& addresses : out.addresses) out.lists.push_back({.addresses = addresses});
  out.indices.resize(out.servers.size());
  std::iota(out.indices.begin(), out.indices.end(), 0U);
  out.body = {.nflda_stripe_indices = out.indices, .nflda_multipath_ds_list = out.lists};
  return out;
}

}  // namespace

Layouts& layouts_of(Compound& compound) {
  Layouts* const layouts =
      compound.server().states.with([](const States& states) { return Layouts::among(states.kinds()); });
  base::check(layouts != nullptr, "whoever has these operations has layouts");
  return *layouts;
}

Op4<nfs4::LAYOUTCOMMIT4resok> layoutcommit(Compound& compound, const nfs4::LAYOUTCOMMIT4args& args) {
  const Place& at = *co_await compound.current_in_export(NFS4ERR_BADLAYOUT);
  const nfs4::Clients& clients = compound.server().clients;
  if (args.loca_reclaim) {
    if (!clients.in_grace()) co_await refuse(NFS4ERR_NO_GRACE);
    co_return co_await settled_size(compound, at);
  }
  const nfs4::stateid4 named = co_await compound.named(args.loca_stateid);
  const vfs::FileHandle file = at.file->handle();
  const nfs4::state::StateUse use = nfs4::ops::use_of(compound, named, file);
  Layouts& layouts = layouts_of(compound);
  co_await nfs4::ops::with_own_state<bool>(
      compound, [&](States& /*states*/, DeferredWork& /*work*/) -> nfs4::Result4<bool> {
        const auto layout = layouts.find(use);
        if (!layout) return refuse(layout.error());
        if (!(*layout)->writes) return refuse(NFS4ERR_BADIOMODE);
        (*layout)->hold->note_commit();
        return true;
      });
  co_return co_await settled_size(compound, at);
}

Op4<nfs4::layoutreturn_stateid> layoutreturn(Compound& compound, const nfs4::LAYOUTRETURN4args& args) {
  if (args.lora_layout_type != files_type) co_await refuse(NFS4ERR_UNKNOWN_LAYOUTTYPE);
  // Nothing of an earlier run of the server is known.
  if (args.lora_reclaim) {
    if (!compound.server().clients.in_grace()) co_await refuse(NFS4ERR_NO_GRACE);
    co_return nfs4::layoutreturn_stateid::with_FALSE();
  }
  const nfs4::state::ClientRef client = compound.client();
  Layouts& layouts = layouts_of(compound);
  const layoutreturn_type4 what = args.lora_layoutreturn.lr_returntype;
  if (what != layoutreturn_type4::LAYOUTRETURN4_FILE) {
    std::optional<vfs::ExportId> only;
    if (what == layoutreturn_type4::LAYOUTRETURN4_FSID)
      only = (*co_await compound.current_in_export(NFS4ERR_INVAL)).from->id;
    co_await nfs4::ops::with_own_state<bool>(compound, [&](States& /*states*/, DeferredWork& work) {
      layouts.give_back_all(client->id, only, work);
      return nfs4::Result4<bool>(true);
    });
    co_return nfs4::layoutreturn_stateid::with_FALSE();
  }
  const Place& at = *co_await compound.current_in_export(NFS4ERR_BAD_STATEID);
  const nfs4::layoutreturn_file4& file = *args.lora_layoutreturn.lr_layout();
  const nfs4::stateid4 named = co_await compound.named(file.lrf_stateid);
  const vfs::FileHandle handle = at.file->handle();
  const nfs4::state::StateUse use = nfs4::ops::use_of(compound, named, handle);
  // A layout is of the whole file: whoever returns a part of it has the rest, and the part.
  const bool all = file.lrf_offset == 0 && file.lrf_length == all_bytes;
  const bool any = args.lora_iomode == layoutiomode4::LAYOUTIOMODE4_ANY;
  const bool reads = all && (any || args.lora_iomode == layoutiomode4::LAYOUTIOMODE4_READ);
  const bool writes = all && (any || args.lora_iomode == layoutiomode4::LAYOUTIOMODE4_RW);
  const std::optional<nfs4::stateid4> left =
      co_await nfs4::ops::with_own_state<std::optional<nfs4::stateid4>>(
          compound,
          [&](States& /*states*/, DeferredWork& work) -> nfs4::Result4<std::optional<nfs4::stateid4>> {
            const auto layout = layouts.find(use);
            if (!layout) return refuse(layout.error());
            return layouts.give_back(**layout, reads, writes, work);
          });
  if (!left) co_return nfs4::layoutreturn_stateid::with_FALSE();
  compound.set_current_stateid(*left);
  co_return nfs4::layoutreturn_stateid::with_lrs_stateid(*left);
}

Op4<Device, TooSmall> getdeviceinfo(Compound& compound, const nfs4::GETDEVICEINFO4args& args) {
  if (args.gdia_layout_type != files_type)
    co_return nfs4::refuse_without<TooSmall>(NFS4ERR_UNKNOWN_LAYOUTTYPE);
  Layouts& layouts = layouts_of(compound);
  const auto numbers = layouts.devices().find(args.gdia_device_id);
  if (!numbers) co_return nfs4::refuse_without<TooSmall>(NFS4ERR_NOENT);
  std::vector<std::vector<Address>> servers;
  servers.reserve(numbers->size());
  for (const pnfs::ServerNumber number : *numbers) {
    const auto server = layouts.cluster().servers().find(number);
    if (!server) co_return nfs4::refuse_without<TooSmall>(NFS4ERR_NOENT);
    servers.push_back(layouts.addresses_for(transport_of(compound.call()), *server));
  }
  auto device = describe(std::move(servers));
  if (!device) co_return nfs4::refuse_without<TooSmall>(NFS4ERR_NOENT);
  device->notifications = granted_notifications(args.gdia_notify_types);
  // RFC 8881 18.40.3: a count of 0 asks for the notifications alone, and for how much there is.
  const auto bytes = static_cast<std::uint32_t>(encoded_size(device->body));
  if (args.gdia_maxcount < bytes) co_return refuse(NFS4ERR_TOOSMALL, TooSmall{bytes});
  co_return std::move(*device);
}

// A client learns of devices from layouts.
Op4<nfs4::GETDEVICELIST4resok> getdevicelist(Compound& compound, const nfs4::GETDEVICELIST4args& args) {
  if (args.gdla_layout_type != files_type) co_await refuse(NFS4ERR_UNKNOWN_LAYOUTTYPE);
  co_await compound.current_in_export(NFS4ERR_NOTSUPP);
  if (args.gdla_cookie != 0) co_await refuse(NFS4ERR_BAD_COOKIE);
  nfs4::GETDEVICELIST4resok none;
  none.gdlr_eof = true;
  co_return none;
}

void encode(xdr::Encoder& out, const Device& device) {
  out.u32(files_type);
  out.u32(static_cast<std::uint32_t>(encoded_size(device.body)));
  encode(out, device.body);
  nfs4::encode_bitmap4(out, device.notifications);
}

std::size_t encoded_size(const Device& device) {
  return 4 + 4 + encoded_size(device.body) + 4 + 4 * device.notifications.size();
}

std::span<const nfs4::Operation> layout_operations() {
  using enum nfs4::nfs_opnum4;
  constexpr nfs4::OperationFlags none{};
  constexpr nfs4::OperationFlags on_current{.needs_current = true};
  // It drops what was seen itself.
  constexpr nfs4::OperationFlags after_looks{.needs_current = true, .looks = true};
  static constexpr std::array rows{
      nfs4::row<getdeviceinfo>(OP_GETDEVICEINFO, "GETDEVICEINFO", nfs4::from_41, none, 0, "RFC 8881 18.40"),
      nfs4::row<getdevicelist>(OP_GETDEVICELIST, "GETDEVICELIST", nfs4::only_41, on_current, 0,
                               "RFC 8881 18.41"),
      nfs4::row<layoutcommit>(OP_LAYOUTCOMMIT, "LAYOUTCOMMIT", nfs4::from_41, on_current, 0,
                              "RFC 8881 18.42"),
      nfs4::row<layoutget>(OP_LAYOUTGET, "LAYOUTGET", nfs4::from_41, after_looks, 0, "RFC 8881 18.43"),
      nfs4::row<layoutreturn>(OP_LAYOUTRETURN, "LAYOUTRETURN", nfs4::from_41, on_current, 0,
                              "RFC 8881 18.44"),
  };
  return rows;
}

}  // namespace braid::pnfs_mds::layouts
