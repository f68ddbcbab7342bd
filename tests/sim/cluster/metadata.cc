// What a model client asks of the metadata server.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>
#include <utility>

#include "base/big_endian.h"
#include "pnfs/file_layout.x.h"
#include "tests/sim/cluster/client.h"
#include "tests/sim/cluster/options.h"

namespace braid::sim::cluster {
namespace {

using enum nfsstat4;
using std::chrono::milliseconds;

constexpr auto files_type = static_cast<std::uint32_t>(layouttype4::LAYOUT4_NFSV4_1_FILES);
constexpr std::uint64_t all = std::numeric_limits<std::uint64_t>::max();
constexpr std::array<std::uint32_t, 1> size_alone{1U << FATTR4_SIZE};

// Of a call that is answered NFS4ERR_DELAY.
constexpr int attempts_max = 30;

io::Payload payload_of_number(std::uint64_t number) {
  base::Bytes bytes(sizeof number);
  base::store_be<std::uint64_t>(bytes, 0, number);
  return payload_of(bytes);
}

}  // namespace

Request Client::at(const std::string& handle) {
  Request out;
  out.add(nfs_opnum4::OP_PUTFH, PUTFH4args{base::bytes_of(handle)});
  return out;
}

SessionOp<> Client::open() {
  const std::string name = fmt::format("f{}", random_.below(world_.names));
  const std::string open_owner = fmt::format("owner-{}", boot_);
  OPEN4args args;
  args.share_access = OPEN4_SHARE_ACCESS_BOTH | OPEN4_SHARE_ACCESS_WANT_NO_DELEG;
  args.owner = {.clientid = 0, .owner = base::bytes_of(open_owner)};
  args.openhow = openflag4::with_how(createhow4::with_createattrs(createmode4::UNCHECKED4, {}));
  args.claim = open_claim4::with_file(name);
  Request request;
  request.add(nfs_opnum4::OP_PUTROOTFH).add(nfs_opnum4::OP_OPEN, args).add(nfs_opnum4::OP_GETFH);
  Answer done = co_await metadata_.call(std::move(request));
  const nfsstat4 status = status_behind(done, 1);
  const auto given = status == NFS4_OK ? done.response.body<OPEN4resok>() : std::nullopt;
  if (!given) {
    world_.trace.add(traits_.index, {}, "opens {}: {}", name, name_of(status));
    co_return;
  }
  const stateid4 id = given->stateid;
  const auto next = done.response.next();
  const auto found = next && next->status == NFS4_OK ? done.response.body<GETFH4resok>() : std::nullopt;
  if (!found) co_return;
  auto opened = std::make_shared<Opened>();
  opened->name = name;
  opened->handle = std::string(base::text_of(found->object));
  opened->file = world_.oracle.file_of(opened->handle);
  opened->open = id;
  opened->instance = done.client;
  world_.trace.add(traits_.index, opened->file, "has opened {}", name);
  OpenedRef& known = opens_[name];
  if (known != nullptr && known->handle == opened->handle && known->instance == opened->instance) {
    known->open = id;
    co_return;
  }
  // The name has gone to another file; that one is closed.
  if (OpenedRef before = std::exchange(known, std::move(opened))) co_await close(std::move(before));
}

class Client::LayoutEnds {
 public:
  explicit LayoutEnds(Client& client) : client_(client) { ++client_.ends_; }
  LayoutEnds(const LayoutEnds&) = delete;
  LayoutEnds& operator=(const LayoutEnds&) = delete;
  ~LayoutEnds() {
    --client_.ends_;
    client_.last_end_ = client_.world_.scheduler.now();
  }

 private:
  Client& client_;
};

// What is not committed is lost for the client, as after a failed fsync.
SessionOp<> Client::close(OpenedRef opened) {
  if (!is_current(*opened)) co_return;
  if (random_.percent(90)) co_await commit_by_layout(opened);
  if (!is_current(*opened)) co_return;
  opened->ending = true;
  while (opened->io > 0) co_await pause_between(milliseconds(5), milliseconds(50));
  hoard(opened);
  const LayoutRef layout = std::exchange(opened->layout, nullptr);
  if (const auto found = opens_.find(opened->name); found != opens_.end() && found->second == opened)
    opens_.erase(found);
  world_.trace.add(traits_.index, opened->file, "is about to close");
  const LayoutEnds ends(*this);
  Request request = at(opened->handle);
  request.add(nfs_opnum4::OP_CLOSE, CLOSE4args{0, opened->open});
  Answer done = co_await metadata_.call(std::move(request));
  const nfsstat4 status = status_behind(done, 1);
  world_.trace.add(traits_.index, opened->file, "closes: {}", name_of(status));
  if (layout != nullptr && status == NFS4_OK) layout->given_up = world_.scheduler.now();
}

// One at a time for a file, as Linux does until it has the file's layout stateid: another one with the
// stateid of the open would end what the first one brings.
SessionOp<> Client::get_layout(OpenedRef opened, bool writes) {
  if (std::exchange(opened->asking, true)) co_return;
  const auto done = co_await ask_for_layout(opened, writes).as_result();
  opened->asking = false;
  co_await done;
}

namespace {

// Null: it says something else.
LayoutRef layout_of(const LAYOUTGET4resok& given, bool writes) {
  if (given.logr_layout.size() != 1) return nullptr;
  const io::Payload body = payload_of(given.logr_layout[0].lo_content.loc_body);
  xdr::Arena arena;
  xdr::Decoder in(body, arena);
  pnfs::nfsv4_1_file_layout4 files;
  if (!decode(in, files)) return nullptr;
  auto layout = std::make_shared<Layout>();
  layout->writes = writes;
  for (const pnfs::layout_handle& one : files.nfl_fh_list)
    layout->handles.emplace_back(one.data.begin(), one.data.end());
  layout->dense = (files.nfl_util & pnfs::NFL4_UFLG_DENSE) != 0;
  layout->unit = files.nfl_util & ~std::uint32_t{63};
  layout->first = files.nfl_first_stripe_index;
  std::ranges::copy(files.nfl_deviceid, layout->device.begin());
  return layout;
}

}  // namespace

SessionOp<> Client::ask_for_layout(OpenedRef opened, bool writes) {
  LAYOUTGET4args args;
  args.loga_layout_type = files_type;
  args.loga_iomode = writes ? layoutiomode4::LAYOUTIOMODE4_RW : layoutiomode4::LAYOUTIOMODE4_READ;
  args.loga_length = all;
  args.loga_minlength = 4096;
  args.loga_stateid = opened->layout != nullptr ? opened->layout_id : opened->open;
  args.loga_maxcount = 4096;
  world_.trace.add(traits_.index, opened->file, "is about to ask for a {} layout, by {}",
                   writes ? "rw" : "read", opened->layout != nullptr ? "that layout" : "its open");
  const LayoutRef before = opened->layout;
  const std::optional<base::TimePoint> recalled = opened->recalled;
  const base::TimePoint sent = opened->asked_at = world_.scheduler.now();
  Request request = at(opened->handle);
  request.add(nfs_opnum4::OP_LAYOUTGET, args);
  Answer done = co_await metadata_.call(std::move(request));
  const bool beside_an_end = ends_ > 0 || last_end_ >= sent;
  const nfsstat4 status = status_behind(done, 1);
  if (opened->layout == before) check_layout(*opened, before, done, status);
  // RFC 8881 12.5.5.2
  if (before != nullptr && recalled && status == NFS4_OK)
    world_.oracle.violation("granted_in_recall", traits_.index, opened->file,
                            "a layout was granted although the one that there is has been asked for");
  world_.trace.add(traits_.index, opened->file, "asks for a {} layout: {}", writes ? "rw" : "read",
                   name_of(status));
  const auto given = status == NFS4_OK ? done.response.body<LAYOUTGET4resok>() : std::nullopt;
  if (!given) {
    if (status == NFS4ERR_BAD_STATEID) opened->layout = nullptr;
    co_return;
  }
  const LayoutRef layout = layout_of(*given, writes);
  if (layout == nullptr) co_return;
  layout->asked = sent;
  layout->granted = world_.scheduler.now();
  layout->beside_an_end = beside_an_end;
  layout->life = done.life;
  layout->instance = done.client;
  layout->lapses = metadata_.lapses();
  const stateid4 id = given->logr_stateid;
  const bool known = co_await learn_device(layout->device);
  if (!known || !is_current(*opened) || done.client != opened->instance) co_return;
  layout->servers = devices_.at(layout->device);
  opened->layout = layout;
  opened->layout_id = id;
  opened->recalled.reset();
  if (opened->put_off && *opened->put_off < sent) opened->put_off.reset();
  if (world_.plant == Plant::imagined_recalls && random_.percent(20))
    opened->recalled = world_.scheduler.now();
  if (world_.plant == Plant::secret_returns && random_.percent(20)) co_await send_return(opened);
}

SessionOp<bool> Client::learn_device(const std::array<std::byte, 16>& id) {
  if (devices_.contains(id)) co_return true;
  GETDEVICEINFO4args args;
  std::ranges::copy(id, args.gdia_device_id.begin());
  args.gdia_layout_type = files_type;
  args.gdia_maxcount = 4096;
  Request request;
  request.add(nfs_opnum4::OP_GETDEVICEINFO, args);
  Answer done = co_await metadata_.call(std::move(request));
  const nfsstat4 status = status_behind(done, 0);
  const auto given = status == NFS4_OK ? done.response.body<GETDEVICEINFO4resok>() : std::nullopt;
  if (!given) co_return false;
  const io::Payload body = payload_of(given->gdir_device_addr.da_addr_body);
  xdr::Arena arena;
  xdr::Decoder in(body, arena);
  pnfs::nfsv4_1_file_layout_ds_addr4 device;
  if (!decode(in, device)) co_return false;
  std::vector<std::uint32_t> servers;
  for (const std::uint32_t index : device.nflda_stripe_indices)
    servers.push_back(data_number(std::string(device.nflda_multipath_ds_list[index].addresses[0].na_r_addr)));
  devices_[id] = std::move(servers);
  co_return true;
}

SessionOp<> Client::return_layout(OpenedRef opened) {
  if (opened->layout == nullptr || opened->ending) co_return;
  opened->ending = true;
  // Not beside a LAYOUTGET, which would bring what this has given back.
  while (opened->io > 0 || opened->asking) co_await pause_between(milliseconds(5), milliseconds(50));
  hoard(opened);
  const LayoutRef layout = std::exchange(opened->layout, nullptr);
  opened->disowned = false;
  world_.trace.add(traits_.index, opened->file, "is about to return its layout");
  const LayoutEnds ends(*this);
  auto done = co_await send_return(opened).as_result();
  opened->ending = false;
  co_await base::Result<void, Fault>(done ? base::Result<void, Fault>() : base::fail(done.error()));
  const nfsstat4 status = status_behind(*done, 1);
  world_.trace.add(traits_.index, opened->file, "returns its layout: {}", name_of(status));
  if (layout != nullptr && status == NFS4_OK) layout->given_up = world_.scheduler.now();
  if (!opened->disowned) check_layout(*opened, layout, *done, status);
}

SessionOp<Answer> Client::send_return(OpenedRef opened) {
  LAYOUTRETURN4args args;
  args.lora_layout_type = files_type;
  args.lora_iomode = layoutiomode4::LAYOUTIOMODE4_ANY;
  args.lora_layoutreturn = layoutreturn4::with_lr_layout(
      {.lrf_offset = 0, .lrf_length = all, .lrf_stateid = opened->layout_id, .lrf_body = {}});
  Request request = at(opened->handle);
  request.add(nfs_opnum4::OP_LAYOUTRETURN, args);
  co_return co_await metadata_.call(std::move(request));
}

void Client::check_layout(const Opened& opened, const LayoutRef& layout, const Answer& answer,
                          nfsstat4 status) {
  if (status != NFS4ERR_BAD_STATEID && status != NFS4ERR_EXPIRED && status != NFS4ERR_ADMIN_REVOKED &&
      status != NFS4ERR_DELEG_REVOKED && status != NFS4ERR_BADLAYOUT)
    return;
  const base::TimePoint now = world_.scheduler.now();
  const bool current = layout != nullptr && answer.once && answer.client == layout->instance &&
                       metadata_.lapses() == layout->lapses;
  // The first calls may have been lost: the server counts from when it sent them.
  constexpr base::Duration unheard = std::chrono::seconds(5);
  const auto over = [&](const std::optional<base::TimePoint>& asked) {
    return asked && now >= *asked + lease_time - unheard;
  };
  if (!current || over(opened.recalled) || over(opened.put_off)) return;
  world_.oracle.violation("layout_kept", traits_.index, opened.file,
                          fmt::format("{} for a layout within the client's lease{}", name_of(status),
                                      opened.recalled ? ", which was asked for less than that ago" : ""));
}

SessionOp<> Client::commit_layout(OpenedRef opened) {
  if (opened->layout == nullptr || !opened->layout->writes) co_return;
  LAYOUTCOMMIT4args args;
  args.loca_length = all;
  args.loca_stateid = opened->layout_id;
  args.loca_layoutupdate.lou_type = files_type;
  Request request = at(opened->handle);
  request.add(nfs_opnum4::OP_LAYOUTCOMMIT, args);
  const LayoutRef layout = opened->layout;
  Answer done = co_await metadata_.call(std::move(request));
  world_.trace.add(traits_.index, opened->file, "LAYOUTCOMMIT: {}", name_of(done.response.status()));
  if (opened->layout == layout) check_layout(*opened, layout, done, done.response.status());
}

SessionOp<> Client::remove() {
  const std::string name = fmt::format("f{}", random_.below(world_.names));
  Request request;
  request.add(nfs_opnum4::OP_PUTROOTFH).add(nfs_opnum4::OP_REMOVE, REMOVE4args{name});
  Answer done = co_await metadata_.call(std::move(request));
  world_.trace.add(traits_.index, {}, "removes {}: {}", name, name_of(done.response.status()));
}

SessionOp<Client::Repeated> Client::repeat(OpenedRef opened, Request operation, std::string what) {
  for (int attempt = 1;; ++attempt) {
    Request request = at(opened->handle);
    request.append(operation);
    auto answer = co_await metadata_.call(std::move(request)).as_result();
    if (!answer) {
      world_.trace.add(traits_.index, opened->file, "{}: no answer", what);
      co_await base::fail(answer.error());
    }
    const nfsstat4 status = status_behind(*answer, 1);
    world_.trace.add(traits_.index, opened->file, "{}: {}", what, name_of(status));
    if (status != NFS4ERR_DELAY || attempt == attempts_max) co_return Repeated{status, std::move(*answer)};
    co_await pause_between(milliseconds(100), milliseconds(1500));
  }
}

SessionOp<> Client::truncate(OpenedRef opened) {
  const std::uint32_t cell = some_cell();
  std::uint64_t size = 0;
  if (random_.percent(70)) size = random_.percent(50) ? offset_of(cell) : end_of(cell);
  Request operation;
  operation.add(nfs_opnum4::OP_SETATTR,
                SETATTR4args{opened->open, {.attrmask = size_alone, .attr_vals = payload_of_number(size)}});
  Cut& cut = world_.oracle.cut_begins(traits_.index, opened->file, size);
  const auto done =
      co_await repeat(opened, std::move(operation), fmt::format("truncates to {}", size)).as_result();
  if (!done) {
    world_.oracle.cut_abandoned(cut);
    co_await base::fail(done.error());
  }
  world_.oracle.cut_answered(cut, done->status == NFS4_OK);
}

SessionOp<> Client::overwrite(OpenedRef opened) {
  if (opened->layout == nullptr || !opened->layout->writes) co_await get_layout(opened, true);
  const LayoutRef layout = opened->layout;
  co_await truncate(opened);
  if (layout != nullptr && layout->writes && opened->layout == layout)
    co_await write_by_layout(opened, layout);
}

SessionOp<> Client::look(OpenedRef opened) {
  Request request = at(opened->handle);
  request.add(nfs_opnum4::OP_GETATTR, GETATTR4args{size_alone});
  const base::TimePoint sent = world_.scheduler.now();
  Answer done = co_await metadata_.call(std::move(request));
  const nfsstat4 status = status_behind(done, 1);
  const auto given = status == NFS4_OK ? done.response.body<GETATTR4resok>() : std::nullopt;
  if (!given || given->obj_attributes.attr_vals.size() != sizeof(std::uint64_t)) {
    world_.trace.add(traits_.index, opened->file, "asks for the size: {}", name_of(status));
    co_return;
  }
  const base::Bytes bytes = bytes_of(given->obj_attributes.attr_vals);
  const auto size = base::load_be<std::uint64_t>(bytes, 0);
  world_.trace.add(traits_.index, opened->file, "finds {} bytes", size);
  world_.oracle.size_seen(traits_.index, opened->file, sent, size);
}

// --- In-band.

SessionOp<> Client::write_in_band(OpenedRef opened) {
  const std::uint32_t cell = some_cell();
  WriteIntent what{.client = traits_.index, .file = opened->file, .cells = {cell}};
  // Over the border of a stripe unit.
  if (random_.percent(25) && cell + 1 < world_.cells) what.cells.push_back(cell + 1);
  Write& write = world_.oracle.write_begins(std::move(what));
  base::Bytes data(end_of(write.what.cells.back()) - offset_of(cell));
  for (const std::uint32_t one : write.what.cells)
    base::store_be<std::uint64_t>(data, offset_of(one) - offset_of(cell), write.tag);
  const bool stable = random_.percent(60);
  WRITE4args args;
  args.stateid = opened->open;
  args.offset = offset_of(cell);
  args.stable = stable ? stable_how4::FILE_SYNC4 : stable_how4::UNSTABLE4;
  args.data = payload_of(data);
  Request operation;
  operation.add(nfs_opnum4::OP_WRITE, args);
  auto done = co_await repeat(
                  opened, std::move(operation),
                  fmt::format("writes {} in-band to cell {}{}{}", write.tag, cell,
                              write.what.cells.size() > 1 ? " and the next" : "", stable ? ", stable" : ""))
                  .as_result();
  if (!done) {
    world_.oracle.write_abandoned(write);
    co_await base::fail(done.error());
  }
  WRITE4resok given;
  const nfsstat4 status = done->status;
  if (const auto body = status == NFS4_OK ? done->answer.response.body<WRITE4resok>() : std::nullopt)
    given = *body;
  const bool whole = status == NFS4_OK && given.count == data.size();
  std::ranges::copy(given.writeverf, write.verifier.begin());
  world_.oracle.write_answered(write, whole, given.committed == stable_how4::FILE_SYNC4, true, false);
}

SessionOp<> Client::commit_in_band(OpenedRef opened) {
  Request request = at(opened->handle);
  request.add(nfs_opnum4::OP_COMMIT, COMMIT4args{0, 0});
  const base::TimePoint sent = world_.scheduler.now();
  Answer done = co_await metadata_.call(std::move(request));
  const nfsstat4 status = status_behind(done, 1);
  world_.trace.add(traits_.index, opened->file, "commits in-band: {}", name_of(status));
  const auto given = status == NFS4_OK ? done.response.body<COMMIT4resok>() : std::nullopt;
  if (!given) co_return;
  std::array<std::byte, cell_bytes> verifier{};
  std::ranges::copy(given->writeverf, verifier.begin());
  world_.oracle.committed(opened->file, std::nullopt, sent, verifier);
}

SessionOp<std::optional<std::uint64_t>> Client::read_in_band(OpenedRef opened, std::uint32_t cell) {
  Request request = at(opened->handle);
  request.add(nfs_opnum4::OP_READ, READ4args{opened->open, offset_of(cell), cell_bytes});
  const base::TimePoint sent = world_.scheduler.now();
  Answer done = co_await metadata_.call(std::move(request));
  const nfsstat4 status = status_behind(done, 1);
  const auto given = status == NFS4_OK ? done.response.body<READ4resok>() : std::nullopt;
  if (!given) {
    world_.trace.add(traits_.index, opened->file, "reads cell {} in-band: {}", cell, name_of(status));
    co_return std::nullopt;
  }
  co_return taken(opened->file, cell, sent, *given, "in-band");
}

// --- Recalls.

nfsstat4 Client::recalled(const LayoutRecall& recall) {
  const base::TimePoint since = metadata_.back_path().untold_since(world_.scheduler.now());
  bool any = false;
  for (const auto& [name, opened] : opens_) {
    if (opened->instance != metadata_.instance()) continue;
    if (!recall.handle.empty() && recall.handle != opened->handle) continue;
    // It may be on its way.
    if (opened->asking) {
      if (!opened->put_off) opened->put_off = std::max(since, opened->asked_at);
      return NFS4ERR_DELAY;
    }
    opened->disowned = opened->layout == nullptr;
    if (opened->disowned) continue;
    any = true;
    if (!recall.handle.empty()) opened->layout_id = recall.id;
    // Not before it was asked for.
    if (!opened->recalled) opened->recalled = std::max(since, opened->layout->asked);
    world_.trace.add(traits_.index, opened->file, "is asked to return its layout");
    if (!traits_.stubborn) io::spawn(gate_, return_recalled(opened));
  }
  return any ? NFS4_OK : NFS4ERR_NOMATCHING_LAYOUT;
}

SessionOp<> Client::return_recalled(OpenedRef opened) {
  (void)co_await commit_by_layout(opened).as_result();
  (void)co_await return_layout(opened).as_result();
}

}  // namespace braid::sim::cluster
