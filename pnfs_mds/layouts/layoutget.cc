// LAYOUTGET (RFC 8881 section 18.43).
#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "base/arith.h"
#include "nfs/caller.h"
#include "nfs4/callback/callbacks.h"
#include "nfs4/clients.h"
#include "nfs4/ops/state_access.h"
#include "pnfs_mds/layouts/layout_operations.h"

namespace braid::pnfs_mds::layouts {

using enum nfs4::nfsstat4;
using nfs4::Compound;
using nfs4::LAYOUTGET4args;
using nfs4::layoutiomode4;
using nfs4::Op4;
using nfs4::Place;
using nfs4::refuse;

namespace {

constexpr std::uint64_t whole = std::numeric_limits<std::uint64_t>::max();

std::size_t head_bytes() {
  // logr_return_on_close, logr_stateid, one layout4: offset, length, iomode, type, and the body's length.
  return 4 + nfs4::stateid4::encoded_bytes_max + 4 + 8 + 8 + 4 + 4 + 4;
}

// RFC 8881 18.43.3; lengths of all ones mean "to the end".
nfs4::Result4<void> check(const LAYOUTGET4args& args) {
  if (args.loga_layout_type != static_cast<std::uint32_t>(nfs4::layouttype4::LAYOUT4_NFSV4_1_FILES))
    return refuse(NFS4ERR_UNKNOWN_LAYOUTTYPE);
  if (args.loga_iomode != layoutiomode4::LAYOUTIOMODE4_READ &&
      args.loga_iomode != layoutiomode4::LAYOUTIOMODE4_RW)
    return refuse(NFS4ERR_BADIOMODE);
  const auto fits = [&](std::uint64_t length) {
    return length == whole || base::end_of<std::uint64_t>(args.loga_offset, length).has_value();
  };
  if (args.loga_length == 0 || args.loga_length < args.loga_minlength) return refuse(NFS4ERR_INVAL);
  if (!fits(args.loga_length) || !fits(args.loga_minlength)) return refuse(NFS4ERR_INVAL);
  return {};
}

struct Striped {
  LayoutHold held;
  std::optional<vfs::Attributes> looked;  // when somebody had to look before it was placed
};

// What the file's bytes are, and the file itself, held. An empty file is placed, for whoever is about to
// write it, or waits for what others write. `seen`: the attributes, if this COMPOUND has just looked.
Op4<Striped> striped_file(Layouts& layouts, const Place& at, std::optional<vfs::Attributes> seen) {
  std::optional<vfs::Attributes> looked;
  auto content = co_await at.fs().content(at.file).as_result();
  if (content && *content == nullptr) {
    if (!seen) {
      const auto now = co_await at.attributes().as_result();
      if (!now) co_await refuse(now.error());
      seen = *now;
    }
    if (seen->type != vfs::FileType::regular || seen->size != 0) co_await refuse(NFS4ERR_LAYOUTUNAVAILABLE);
    looked = seen;
    content = co_await at.fs().place(at.file, layouts.cluster().source(), {}).as_result();
  }
  if (!content) {
    const bool later = content.error() == vfs::Error::delay;
    const bool never = content.error() == vfs::Error::notsupp || content.error() == vfs::Error::exist ||
                       content.error() == vfs::Error::inval || content.error() == vfs::Error::isdir;
    if (later) co_await refuse(NFS4ERR_LAYOUTTRYLATER);
    if (never) co_await refuse(NFS4ERR_LAYOUTUNAVAILABLE);
    co_await refuse(content.error());
  }
  if (layouts.cluster().source().of(*content) == nullptr) co_await refuse(NFS4ERR_LAYOUTUNAVAILABLE);
  co_return Striped{
      .held = LayoutHold(std::static_pointer_cast<StripedContent>(std::move(*content)), at.from->file_system),
      .looked = looked};
}

// As they are now; of a file that is written to its servers are asked. Who is about to write one that has
// just been placed needs none of that.
Op4<vfs::Attributes> attributes_of(const Place& at, const Striped& striped, bool writes) {
  if (writes && striped.looked) co_return *striped.looked;
  const auto now = co_await at.attributes().as_result();
  if (!now)
    co_await refuse(now.error() == vfs::Error::delay ? NFS4ERR_LAYOUTTRYLATER : nfs4::status_of(now.error()));
  co_return *now;
}

// Its servers, all of which have contact. TRYLATER: one is away, and so is what lies there.
nfs4::Result4<std::vector<Devices::Member>> servers_of(Layouts& layouts, const pnfs::LayoutRecord& record) {
  std::vector<Devices::Member> servers;
  servers.reserve(record.servers.size());
  for (const pnfs::ServerNumber number : record.servers) {
    const auto server = layouts.cluster().servers().standing(number);
    if (!server || !server->in_contact) return refuse(NFS4ERR_LAYOUTTRYLATER);
    servers.push_back({number, server->generation});
  }
  return servers;
}

// A device lists its servers in the order of their numbers, so that few devices are enough: files begin at
// different ones of them. This is the object on the first one of the list; 0 where that is not the record's
// order, which begins anew at most once.
std::uint32_t first_of_device(const std::vector<pnfs::ServerNumber>& servers) {
  const auto lowest = std::ranges::min_element(servers);
  if (!std::ranges::is_sorted(servers.begin(), lowest) || !std::ranges::is_sorted(lowest, servers.end()))
    return 0;
  if (lowest != servers.begin() && servers.back() > servers.front()) return 0;
  return static_cast<std::uint32_t>(lowest - servers.begin());
}

// One handle for each server: given a single one, Linux does not split I/O at the stripe unit.
LayoutGranted describe(Layouts& layouts, const pnfs::LayoutRecord& record,
                       std::vector<Devices::Member> servers, pnfs::DataHandle handle) {
  const std::uint32_t width = record.striping.width;
  const std::uint32_t begin = first_of_device(record.servers);
  std::ranges::rotate(servers, servers.begin() + begin);
  LayoutGranted out;
  out.handles.reserve(width);
  for (std::uint32_t i = 0; i < width; ++i) {
    handle.index = (i + begin) % width;
    out.handles.push_back(layouts.cluster().seal(record.servers[handle.index], handle));
  }
  out.views.reserve(width);
  for (const vfs::FileHandle& each : out.handles) out.views.push_back({.data = each.view()});
  const bool dense = record.striping.packing == pnfs::Packing::dense;
  out.body = {.nfl_deviceid = layouts.devices().id_of(servers),
              .nfl_util = record.striping.unit | (dense ? pnfs::NFL4_UFLG_DENSE : 0U),
              .nfl_first_stripe_index = (record.striping.first + width - begin) % width,
              .nfl_pattern_offset = 0,
              .nfl_fh_list = out.views};
  return out;
}

// What is written under the next epoch is not to be cut any more, nor what is written by a layout to be
// overwritten by what was sent before.
bool unfinished(const LayoutHold& held, bool writes) {
  return held->truncating() || (writes && held->change_unanswered());
}

AskedFrom asked_from(const Compound& compound, const nfs4::fsid4& fsid) {
  return {.address = nfs::address_of(compound.call().peer),
          .fsid = fsid,
          .session = compound.in_session->session};
}

// The stateid that the client sent is to be good before anything is done, and again when it is granted.
Op4<> admit(Compound& compound, Layouts& layouts, const nfs4::state::StateUse& use, bool writes) {
  co_await nfs4::ops::with_own_state<bool>(compound,
                                           [&](nfs4::state::States& states, nfs4::state::DeferredWork& work) {
                                             return nfs4::ops::done(layouts.admit(states, use, writes, work));
                                           });
}

Op4<LayoutGranted> grant(Compound& compound, const LAYOUTGET4args& args) {
  const Place& at = *co_await compound.current_in_export(NFS4ERR_LAYOUTUNAVAILABLE);
  co_await check(args);
  Layouts& layouts = layouts_of(compound);
  const nfs4::state::ClientRef client = compound.client();
  co_await compound.server().clients.admit_new(*client);
  const bool writes = args.loga_iomode == layoutiomode4::LAYOUTIOMODE4_RW;
  const nfs4::stateid4 named = co_await compound.named(args.loga_stateid);
  const vfs::FileHandle file = at.file->handle();
  const nfs4::state::StateUse use = nfs4::ops::use_of(compound, named, file);
  co_await admit(compound, layouts, use, writes);
  // What cannot be recalled is not granted.
  const nfs4::callback::Callbacks* const callbacks = compound.server().callbacks;
  if (callbacks == nullptr || !callbacks->reachable(client->id)) co_await refuse(NFS4ERR_LAYOUTUNAVAILABLE);

  const Striped striped = co_await striped_file(layouts, at, std::exchange(compound.seen(), std::nullopt));
  const LayoutHold& held = striped.held;
  // Grants: the number first, then the epoch.
  LiveGrants::Hold live = layouts.grants().begin();
  const auto number = co_await layouts.cluster().grants().next(1).as_result();
  if (!number) co_await refuse(NFS4ERR_LAYOUTTRYLATER);
  live.narrow(*number);
  const EpochHolders holders = held->holders();
  const EpochHolders::Moment since = holders.moment();
  const vfs::Attributes now = co_await attributes_of(at, striped, writes);
  const auto writing = writes ? std::optional(*number) : std::nullopt;
  const std::uint64_t told = holders.note(vfs::LeaseHolder(client->id), writing, now.size, since);
  const pnfs::LayoutRecord record = held->record();
  if (unfinished(held, writes)) co_await refuse(NFS4ERR_LAYOUTTRYLATER);
  std::vector<Devices::Member> servers = co_await servers_of(layouts, record);
  LayoutGranted out = describe(layouts, record, std::move(servers),
                               {.object = record.object,
                                .index = 0,
                                .striping = record.striping,
                                .iomode = writes ? pnfs::Iomode::read_write : pnfs::Iomode::read,
                                .export_id = at.from->id,
                                .client = layouts.client_tags().of(*client),
                                .grant = *number,
                                .epoch = record.epoch,
                                .size = told});
  out.iomode = args.loga_iomode;
  if (encoded_size(out) > args.loga_maxcount) co_await refuse(NFS4ERR_TOOSMALL);
  // A LAYOUTGET in the COMPOUND of an OPEN, whose reply is kept: the client asks once more, alone.
  if (encoded_size(out) > compound.reply_bytes_left()) co_await refuse(NFS4ERR_LAYOUTTRYLATER);
  LayoutRequest request{
      .use = use,
      .writes = writes,
      .file = held,
      .from = asked_from(compound, {now.fsid, at.from->id.value()}),
      .grant = std::move(live),
      .asked_in = {.slot = compound.in_session->slot, .sequence = compound.in_session->sequence}};
  const nfs4::ServerState& server = compound.server();
  out.id = co_await nfs4::ops::with_own_state<nfs4::stateid4>(
      compound, [&](nfs4::state::States& states, nfs4::state::DeferredWork& work) {
        return layouts.grant(states, *server.exports.current(), request, work);
      });
  compound.set_current_stateid(out.id);
  co_return out;
}

}  // namespace

void encode(xdr::Encoder& out, const LayoutGranted& granted) {
  out.boolean(true);  // logr_return_on_close
  encode(out, granted.id);
  out.u32(1);
  out.u64(0);
  out.u64(whole);
  out.u32(static_cast<std::uint32_t>(granted.iomode));
  out.u32(static_cast<std::uint32_t>(nfs4::layouttype4::LAYOUT4_NFSV4_1_FILES));
  out.u32(static_cast<std::uint32_t>(encoded_size(granted.body)));
  encode(out, granted.body);
}

std::size_t encoded_size(const LayoutGranted& granted) { return head_bytes() + encoded_size(granted.body); }

Op4<LayoutGranted, TryLater> layoutget(Compound& compound, const LAYOUTGET4args& args) {
  auto granted = co_await grant(compound, args).as_result();
  if (granted) co_return std::move(*granted);
  if (granted.error() == NFS4ERR_LAYOUTTRYLATER) co_return refuse(granted.error(), TryLater{});
  co_return nfs4::refuse_without<TryLater>(granted.error());
}

}  // namespace braid::pnfs_mds::layouts
