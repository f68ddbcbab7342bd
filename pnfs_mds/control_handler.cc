#include "pnfs_mds/control_handler.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/log.h"
#include "pnfs_mds/control_calls.h"
#include "xdr/arena.h"

namespace braid::pnfs_mds {

using enum pnfs::control_status;

pnfs::control_status MetadataControl::look_at(const pnfs::control_hello& hello,
                                              const rpc::PeerAddress& peer) {
  const auto owner = cluster_.servers().id_of(std::string(hello.name));
  if (!owner || *owner == hello.server) return CONTROL_OK;
  base::log_event(base::Level::error, "data_server_refused",
                  "peer={} name={}: this name belongs to a server with another object store", peer.text(),
                  hello.name);
  return CONTROL_OTHER_SERVER;
}

pnfs::ControlOp<> MetadataControl::admit(const pnfs::ControlCaller& caller) {
  std::vector<Address> addresses;
  addresses.reserve(caller.hello.addresses.size());
  for (const pnfs::Introduction::Address& address : caller.hello.addresses)
    addresses.push_back({address.netid, address.uaddr});
  const auto number = co_await cluster_.servers()
                          .admit(caller.hello.server, caller.hello.name, std::move(addresses))
                          .as_result();
  if (number) co_return;
  switch (number.error()) {
    case vfs::Error::exist:
      co_await base::fail(CONTROL_OTHER_SERVER);
      break;
    case vfs::Error::nospc:
      co_await base::fail(CONTROL_BUSY);
      break;
    default:
      co_await base::fail(CONTROL_DELAY);
      break;
  }
}

pnfs::ControlOp<pnfs::to_metadata_res> MetadataControl::heartbeat(pnfs::ServerId server,
                                                                  pnfs::HEARTBEATargs args) {
  Heartbeat beat;
  beat.room = {.bytes_total = args.bytes_total,
               .bytes_free = args.bytes_free,
               .bytes_available = args.bytes_available,
               .objects_free = args.objects_free,
               .file_system = {}};
  std::ranges::copy(args.file_system, beat.room.file_system.begin());
  beat.load = args.load;
  std::ranges::copy(args.verifier, beat.verifier.bytes.begin());
  cluster_.pending_fences().forget_below(cluster_.lowest_grant());
  const auto heard = co_await cluster_.admission().heard(server, beat).as_result();
  if (!heard) co_await base::fail(CONTROL_DELAY);
  co_return pnfs::to_metadata_res::with_heartbeat({.sent = args.sent,
                                                   // Now: the grace period may just have ended.
                                                   .lowest_grant = cluster_.lowest_grant().value(),
                                                   .key_oldest = cluster_.oldest_key().value(),
                                                   .key_newest = cluster_.newest_key().value(),
                                                   .good_for_ms = cluster_.contact_ms()});
}

pnfs::ControlOp<pnfs::to_metadata_res> MetadataControl::file_facts(pnfs::FILE_FACTSargs args) {
  const auto facts = co_await cluster_.file_facts(pnfs::ObjectId(args.object)).as_result();
  pnfs::FILE_FACTSres out;
  if (facts) {
    out = pnfs::FILE_FACTSres::with_facts({facts->size, facts->owner.uid, facts->owner.gid});
  } else {
    out.status = status_of_error(facts.error());
    out.body = std::monostate{};
  }
  co_return pnfs::to_metadata_res::with_file_facts(out);
}

pnfs::ControlOp<pnfs::to_metadata_res> MetadataControl::dirty(pnfs::DIRTYargs args, xdr::Arena& arena) {
  std::vector<pnfs::ObjectId> objects;
  objects.reserve(args.objects.size());
  for (const std::uint64_t object : args.objects) objects.emplace_back(object);
  bool fits = false;
  // There is room: a call has at most OBJECTS_MAX objects.
  const std::span<pnfs::data_status> statuses = arena.make<pnfs::data_status>(objects.size(), fits);
  const auto told = co_await cluster_.written(std::move(objects)).as_result();
  if (!told) co_await base::fail(CONTROL_DELAY);
  for (std::size_t i = 0; i < statuses.size(); ++i)
    statuses[i] = (*told)[i] ? 0 : status_of_error((*told)[i].error());
  co_return pnfs::to_metadata_res::with_dirty({statuses});
}

pnfs::ControlOp<pnfs::ControlAnswer> MetadataControl::handle(const pnfs::ControlRequest& request) {
  xdr::Arena arena;
  pnfs::to_metadata_args args;
  if (!pnfs::decode_body(request.body, arena, args)) co_await base::fail(CONTROL_BAD_BODY);
  pnfs::to_metadata_res result;
  if (const pnfs::HEARTBEATargs* const beat = args.heartbeat())
    result = co_await heartbeat(request.from.hello.server, *beat);
  else if (const pnfs::FILE_FACTSargs* const facts = args.file_facts())
    result = co_await file_facts(*facts);
  else
    result = co_await dirty(*args.dirty(), arena);
  co_return co_await pnfs::answer_of(result, request.memory);
}

pnfs::Introduction introduction_of(const Cluster& cluster) {
  return {.role = pnfs::control_role::ROLE_METADATA,
          .cluster = cluster.id(),
          .server = {},
          .name = "metadata",
          .addresses = {}};
}

}  // namespace braid::pnfs_mds
