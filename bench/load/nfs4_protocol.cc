#include "bench/load/nfs4_protocol.h"

#include <array>
#include <utility>

namespace braid::load {

namespace {

using enum nfs4::nfs_opnum4;
using enum nfs4::nfsstat4;
using nfs4::nfs_opnum4;
using Keep = Nfs4Client::Keep;
using Turn = Nfs4Client::Turn;

// What the Linux client asks for by default.
constexpr std::uint32_t readdir_bytes_max = 32 * base::KiB;

template <std::size_t n>
constexpr std::array<std::uint32_t, 2> bitmap(const std::array<std::uint32_t, n>& attributes) {
  std::array<std::uint32_t, 2> words{};
  for (const std::uint32_t attribute : attributes) words.at(attribute / 32) |= 1U << attribute % 32;
  return words;
}

// Of a file that the client knows nothing of, of one that it has written to, and of what is in a directory.
constexpr auto all_attributes = bitmap(std::array{
    nfs4::FATTR4_TYPE, nfs4::FATTR4_CHANGE, nfs4::FATTR4_SIZE, nfs4::FATTR4_FSID, nfs4::FATTR4_FILEID,
    nfs4::FATTR4_MODE, nfs4::FATTR4_NUMLINKS, nfs4::FATTR4_OWNER, nfs4::FATTR4_OWNER_GROUP,
    nfs4::FATTR4_RAWDEV, nfs4::FATTR4_SPACE_USED, nfs4::FATTR4_TIME_ACCESS, nfs4::FATTR4_TIME_METADATA,
    nfs4::FATTR4_TIME_MODIFY, nfs4::FATTR4_MOUNTED_ON_FILEID});
constexpr auto changing_attributes =
    bitmap(std::array{nfs4::FATTR4_CHANGE, nfs4::FATTR4_SIZE, nfs4::FATTR4_SPACE_USED,
                      nfs4::FATTR4_TIME_METADATA, nfs4::FATTR4_TIME_MODIFY});
constexpr std::array<std::uint32_t, 2> entry_attributes{
    all_attributes[0] | 1U << nfs4::FATTR4_RDATTR_ERROR | 1U << nfs4::FATTR4_FILEHANDLE, all_attributes[1]};
constexpr auto mode_attribute = bitmap(std::array{nfs4::FATTR4_MODE});

constexpr std::uint32_t all_rights = nfs4::ACCESS4_READ | nfs4::ACCESS4_MODIFY | nfs4::ACCESS4_EXTEND |
                                     nfs4::ACCESS4_DELETE | nfs4::ACCESS4_EXECUTE;

io::Payload mode_value(io::SlabPool& pool, std::uint32_t mode) {
  io::SlabCursor cursor(pool);
  xdr::Encoder out(cursor);
  out.u32(mode);
  return out.finish().bytes;
}

auto put_fh(const Handle& handle) { return step(OP_PUTFH, nfs4::PUTFH4args{.object = handle.view()}); }
template <std::size_t n>
auto get_attributes(const std::array<std::uint32_t, n>& wanted) {
  return step(OP_GETATTR, nfs4::GETATTR4args{.attr_request = wanted});
}

// A GETATTR's result that has something in it.
bool has_attributes(Results& results) {
  nfs4::GETATTR4resok body;
  return results.next(OP_GETATTR, body) && !body.obj_attributes.attr_vals.empty();
}
bool has_handle(Results& results, Handle& out) {
  nfs4::GETFH4resok body;
  if (!results.next(OP_GETFH, body)) return false;
  out = Handle(body.object);
  return true;
}

nfs4::stable_how4 stable_how4_of(Stability stability) {
  switch (stability) {
    case Stability::unstable:
      return nfs4::stable_how4::UNSTABLE4;
    case Stability::data_sync:
      return nfs4::stable_how4::DATA_SYNC4;
    case Stability::file_sync:
      return nfs4::stable_how4::FILE_SYNC4;
  }
  return nfs4::stable_how4::UNSTABLE4;
}

// RFC 7530 9.1.7: an owner's sequence goes on after an operation in it, unless it ended in one of these ways.
void advance(Lane& owner, nfs4::nfsstat4 status) {
  switch (status) {
    case NFS4ERR_STALE_CLIENTID:
    case NFS4ERR_STALE_STATEID:
    case NFS4ERR_BAD_STATEID:
    case NFS4ERR_BAD_SEQID:
    case NFS4ERR_BADXDR:
    case NFS4ERR_RESOURCE:
    case NFS4ERR_NOFILEHANDLE:
    case NFS4ERR_MOVED:
      return;
    default:
      ++owner.seqid;
  }
}

}  // namespace

Nfs4Protocol::Nfs4Protocol(Connection& connection, std::uint32_t minor_version, std::string name,
                           unsigned width, Connector connector)
    : client_(connection, minor_version, std::move(name), width,
              connector ? Nfs4Client::Part::layouts : Nfs4Client::Part::plain),
      connector_(std::move(connector)),
      file_mode_(mode_value(connection.pool(), 0644)),
      directory_mode_(mode_value(connection.pool(), 0755)) {}

bool Nfs4Protocol::usable() const {
  const auto works = [](const Nfs4Client& client) {
    return client.connection().connected() && !client.lost();
  };
  return works(client_) && std::ranges::all_of(data_clients_, [&](const auto& one) { return works(*one); });
}

LoadOp<> Nfs4Protocol::end() {
  for (const auto& one : data_clients_) co_await one->end();
  co_await client_.end();
}

LoadOp<> Nfs4Protocol::reach_data_servers() {
  const Turn turn(client_);
  const std::vector<rpc::PeerAddress> servers = co_await client_.call<std::vector<rpc::PeerAddress>>(
      *turn, Keep::no, steps(get_device(*data_->layout)), take_device);
  for (const rpc::PeerAddress& server : servers) {
    Connection* const connection = co_await connector_(server);
    data_clients_.push_back(std::make_unique<Nfs4Client>(*connection, client_.minor_version(), client_.name(),
                                                         client_.width(), Nfs4Client::Part::data));
    co_await data_clients_.back()->begin();
  }
}

Nfs4Protocol::Aim Nfs4Protocol::aim(Extent extent) {
  if (!data_->layout) return {client_, data_->file};
  const std::size_t index = data_->layout->index_of(extent.offset);
  return {*data_clients_.at(index), data_->layout->handles.at(index)};
}

LoadOp<Handle> Nfs4Protocol::find_export(std::string_view path) {
  const Turn turn(client_);
  Handle at;
  const auto take_root = [&at](Results& results) -> base::Result<Done, Fault> {
    if (!results.next(OP_PUTROOTFH) || !has_handle(results, at)) return base::fail(results.fault());
    return Done{};
  };
  co_await client_.call<Done>(*turn, Keep::no, steps(step(OP_PUTROOTFH), step(OP_GETFH)), take_root);
  const auto take_child = [&at](Results& results) -> base::Result<Done, Fault> {
    if (!results.next(OP_PUTFH) || !results.next(OP_LOOKUP) || !has_handle(results, at))
      return base::fail(results.fault());
    return Done{};
  };
  while (!path.empty()) {
    const std::string_view name = path.substr(0, path.find('/'));
    path.remove_prefix(std::min(name.size() + 1, path.size()));
    if (name.empty()) continue;
    const Handle parent = at;
    co_await client_.call<Done>(
        *turn, Keep::no, steps(put_fh(parent), step(OP_LOOKUP, nfs4::LOOKUP4args{name}), step(OP_GETFH)),
        take_child);
  }
  co_return at;
}

LoadOp<Handle> Nfs4Protocol::make_directory(const Handle& parent, std::string_view name) {
  const Turn turn(client_);
  Handle made;
  const nfs4::CREATE4args args{.objtype = nfs4::createtype4::with_NF4SOCK(nfs4::nfs_ftype4::NF4DIR),
                               .objname = name,
                               .createattrs = {.attrmask = mode_attribute, .attr_vals = directory_mode_}};
  const auto take = [&made](Results& results) -> base::Result<Done, Fault> {
    nfs4::CREATE4resok body;
    if (!results.next(OP_PUTFH) || !results.next(OP_CREATE, body) || !has_handle(results, made))
      return base::fail(results.fault());
    return Done{};
  };
  co_await client_.call<Done>(*turn, Keep::yes, steps(put_fh(parent), step(OP_CREATE, args), step(OP_GETFH)),
                              take);
  co_return made;
}

LoadOp<Handle> Nfs4Protocol::make_file(const Handle& parent, std::string_view name) {
  const Turn turn(client_);
  const Opened opened = co_await make_and_open(*turn, parent, name, nfs4::createmode4::GUARDED4);
  co_await close(*turn, opened);
  co_return opened.file;
}

LoadOp<> Nfs4Protocol::remove_directory(const Handle& parent, std::string_view name) {
  co_await remove(parent, name);
}

LoadOp<> Nfs4Protocol::open_data(const Handle& parent, std::string_view name, const Handle& /*file*/) {
  {
    const Turn turn(client_);
    const nfs4::OPEN4args args = open_args(*turn, name, nfs4::OPEN4_SHARE_ACCESS_BOTH);
    data_ = co_await open(*turn, parent, args);
  }
  if (data_->layout) co_await reach_data_servers();
}

LoadOp<> Nfs4Protocol::close_data() {
  if (!data_) co_return;
  const Turn turn(client_);
  const Opened opened = *std::exchange(data_, std::nullopt);
  co_await close(*turn, opened);
}

nfs4::OPEN4args Nfs4Protocol::open_args(const Lane& lane, std::string_view name, std::uint32_t access) const {
  const bool may_say_wish = client_.minor_version() > 0;
  return {.seqid = lane.seqid,
          .share_access = access | (may_say_wish ? nfs4::OPEN4_SHARE_ACCESS_WANT_NO_DELEG : 0),
          .share_deny = nfs4::OPEN4_SHARE_DENY_NONE,
          .owner = {.clientid = client_.id(), .owner = base::bytes_of(lane.owner)},
          .openhow = nfs4::openflag4::with_default(nfs4::opentype4::OPEN4_NOCREATE),
          .claim = nfs4::open_claim4::with_file(name)};
}

nfs4::openflag4 Nfs4Protocol::creating(nfs4::createmode4 mode) const {
  return nfs4::openflag4::with_how(nfs4::createhow4::with_createattrs(
      mode, nfs4::fattr4{.attrmask = mode_attribute, .attr_vals = file_mode_}));
}

LoadOp<Nfs4Protocol::Opened> Nfs4Protocol::make_and_open(Lane& lane, const Handle& parent,
                                                         std::string_view name, nfs4::createmode4 mode) {
  nfs4::OPEN4args args = open_args(lane, name, nfs4::OPEN4_SHARE_ACCESS_WRITE);
  args.openhow = creating(mode);
  co_return co_await open(lane, parent, std::move(args));
}

LoadOp<Nfs4Protocol::Opened> Nfs4Protocol::open(Lane& lane, const Handle& parent, nfs4::OPEN4args args) {
  const bool with_layout = connector_ != nullptr;
  Opened opened{.file = {}, .id = {}, .owner = &lane, .confirmed = true, .layout = {}};
  const auto take = [&opened, &lane, with_layout](Results& results) -> base::Result<Done, Fault> {
    if (!results.next(OP_PUTFH)) return base::fail(results.fault());
    nfs4::OPEN4resok body;
    nfs4::ACCESS4resok rights;
    const bool done = results.next(OP_OPEN, body);
    advance(lane, results.status());
    if (!done || !has_handle(results, opened.file) || !results.next(OP_ACCESS, rights) ||
        !has_attributes(results))
      return base::fail(results.fault());
    opened.id = body.stateid;
    opened.confirmed = (body.rflags & nfs4::OPEN4_RESULT_CONFIRM) == 0;
    if (!with_layout) return Done{};
    auto layout = take_layout(results);
    if (!layout) return base::fail(layout.error());
    opened.layout = std::move(*layout);
    return Done{};
  };
  const auto list = steps(put_fh(parent), step(OP_OPEN, std::move(args)), step(OP_GETFH),
                          step(OP_ACCESS, nfs4::ACCESS4args{all_rights}), get_attributes(all_attributes));
  if (with_layout) {
    const auto longer =
        std::apply([](const auto&... each) { return steps(each..., get_layout()); }, list.list);
    co_await client_.call<Done>(lane, Keep::no, longer, take);
    co_return opened;
  }
  co_await client_.call<Done>(lane, Keep::yes, list, take);
  if (!opened.confirmed) co_await confirm(lane, opened);
  co_return opened;
}

// RFC 7530 16.18: the first time that the server sees an owner.
LoadOp<> Nfs4Protocol::confirm(Lane& lane, Opened& opened) {
  const nfs4::OPEN_CONFIRM4args args{.open_stateid = opened.id, .seqid = lane.seqid};
  const auto take = [&opened, &lane](Results& results) -> base::Result<Done, Fault> {
    if (!results.next(OP_PUTFH)) return base::fail(results.fault());
    nfs4::OPEN_CONFIRM4resok body;
    const bool done = results.next(OP_OPEN_CONFIRM, body);
    advance(lane, results.status());
    if (!done) return base::fail(results.fault());
    opened.id = body.open_stateid;
    return Done{};
  };
  co_await client_.call<Done>(lane, Keep::yes, steps(put_fh(opened.file), step(OP_OPEN_CONFIRM, args)), take);
}

// As Linux does: a layout that is to be returned on close goes back in the same COMPOUND.
LoadOp<> Nfs4Protocol::close_with_layout(Lane& lane, const Opened& opened) {
  const nfs4::CLOSE4args args{.seqid = 0, .open_stateid = opened.id};
  const auto take = [](Results& results) -> base::Result<Done, Fault> {
    nfs4::layoutreturn_stateid left;
    nfs4::stateid4 body;
    if (!results.next(OP_PUTFH) || !results.next(OP_LAYOUTRETURN, left) || !has_attributes(results) ||
        !results.next(OP_CLOSE, body))
      return base::fail(results.fault());
    return Done{};
  };
  co_await client_.call<Done>(lane, Keep::yes,
                              steps(put_fh(opened.file), return_layout(*opened.layout),
                                    get_attributes(changing_attributes), step(OP_CLOSE, args)),
                              take);
}

LoadOp<> Nfs4Protocol::close(Lane& lane, const Opened& opened) {
  if (opened.layout) {
    co_await close_with_layout(lane, opened);
    co_return;
  }
  Lane& owner = *opened.owner;
  const nfs4::CLOSE4args args{.seqid = owner.seqid, .open_stateid = opened.id};
  const auto take = [&owner](Results& results) -> base::Result<Done, Fault> {
    if (!results.next(OP_PUTFH) || !has_attributes(results)) return base::fail(results.fault());
    nfs4::stateid4 body;
    const bool done = results.next(OP_CLOSE, body);
    advance(owner, results.status());
    if (!done) return base::fail(results.fault());
    return Done{};
  };
  co_await client_.call<Done>(
      lane, Keep::yes, steps(put_fh(opened.file), get_attributes(changing_attributes), step(OP_CLOSE, args)),
      take);
}

LoadOp<Done> Nfs4Protocol::null() {
  return client_.connection().call_null({nfs4::NFS4_PROGRAM, nfs4::NFS_V4, 0});
}

LoadOp<Done> Nfs4Protocol::getattr(const Handle& file) {
  const Turn turn(client_);
  co_return co_await client_.call<Done>(*turn, Keep::no, steps(put_fh(file), get_attributes(all_attributes)),
                                        [](Results& results) -> base::Result<Done, Fault> {
                                          if (!results.next(OP_PUTFH) || !has_attributes(results))
                                            return base::fail(results.fault());
                                          return Done{};
                                        });
}

LoadOp<Done> Nfs4Protocol::lookup(const Handle& parent, std::string_view name) {
  const Turn turn(client_);
  co_return co_await client_.call<Done>(*turn, Keep::no,
                                        steps(put_fh(parent), step(OP_LOOKUP, nfs4::LOOKUP4args{name}),
                                              step(OP_GETFH), get_attributes(all_attributes)),
                                        [](Results& results) -> base::Result<Done, Fault> {
                                          Handle found;
                                          if (!results.next(OP_PUTFH) || !results.next(OP_LOOKUP) ||
                                              !has_handle(results, found) || !has_attributes(results))
                                            return base::fail(results.fault());
                                          return Done{};
                                        });
}

LoadOp<Done> Nfs4Protocol::access(const Handle& file) {
  const Turn turn(client_);
  co_return co_await client_.call<Done>(*turn, Keep::no,
                                        steps(put_fh(file), step(OP_ACCESS, nfs4::ACCESS4args{all_rights})),
                                        [](Results& results) -> base::Result<Done, Fault> {
                                          nfs4::ACCESS4resok body;
                                          if (!results.next(OP_PUTFH) || !results.next(OP_ACCESS, body))
                                            return base::fail(results.fault());
                                          return Done{};
                                        });
}

LoadOp<Done> Nfs4Protocol::read(Extent extent) {
  const Aim at = aim(extent);
  const Turn turn(at.client);
  nfs4::stateid4 id = data_->id;
  // RFC 8881 8.2.2: the current value, whatever it is.
  if (client_.minor_version() > 0) id.seqid = 0;
  const nfs4::READ4args args{.stateid = id, .offset = extent.offset, .count = extent.count};
  co_return co_await at.client.call<Done>(
      *turn, Keep::no, steps(put_fh(at.file), step(OP_READ, args)),
      [count = extent.count](Results& results) -> base::Result<Done, Fault> {
        nfs4::READ4resok body;
        if (!results.next(OP_PUTFH) || !results.next(OP_READ, body)) return base::fail(results.fault());
        if (body.data.size() != count) return base::fail(Fault{"short READ"});
        return Done{.bytes = count};
      });
}

LoadOp<Done> Nfs4Protocol::write(Extent extent, const io::Payload& data, Stability stability) {
  const Aim at = aim(extent);
  const bool at_data_server = &at.client != &client_;
  const Turn turn(at.client);
  nfs4::stateid4 id = data_->id;
  if (client_.minor_version() > 0) id.seqid = 0;
  const nfs4::WRITE4args args{
      .stateid = id, .offset = extent.offset, .stable = stable_how4_of(stability), .data = data};
  const auto take = [count = extent.count, asked = args.stable,
                     at_data_server](Results& results) -> base::Result<Done, Fault> {
    nfs4::WRITE4resok body;
    if (!results.next(OP_PUTFH) || !results.next(OP_WRITE, body)) return base::fail(results.fault());
    if (!at_data_server && !has_attributes(results)) return base::fail(results.fault());
    if (body.count != count) return base::fail(Fault{"short WRITE"});
    if (body.committed < asked) return base::fail(Fault{"WRITE less stable than asked"});
    return Done{.bytes = count};
  };
  // A data server has no attributes to tell of.
  if (at_data_server)
    co_return co_await at.client.call<Done>(*turn, Keep::no, steps(put_fh(at.file), step(OP_WRITE, args)),
                                            take);
  co_return co_await at.client.call<Done>(
      *turn, Keep::no, steps(put_fh(at.file), step(OP_WRITE, args), get_attributes(changing_attributes)),
      take);
}

LoadOp<> Nfs4Protocol::commit_at(Nfs4Client& client, const Handle& file) {
  const Turn turn(client);
  co_await client.call<Done>(*turn, Keep::no, steps(put_fh(file), step(OP_COMMIT, nfs4::COMMIT4args{0, 0})),
                             [](Results& results) -> base::Result<Done, Fault> {
                               nfs4::COMMIT4resok body;
                               if (!results.next(OP_PUTFH) || !results.next(OP_COMMIT, body))
                                 return base::fail(results.fault());
                               return Done{};
                             });
}

LoadOp<> Nfs4Protocol::commit_layout() {
  const Turn turn(client_);
  co_await client_.call<Done>(*turn, Keep::yes,
                              steps(put_fh(data_->file), load::commit_layout(*data_->layout)),
                              [](Results& results) -> base::Result<Done, Fault> {
                                nfs4::LAYOUTCOMMIT4resok body;
                                if (!results.next(OP_PUTFH) || !results.next(OP_LAYOUTCOMMIT, body))
                                  return base::fail(results.fault());
                                return Done{};
                              });
}

LoadOp<> Nfs4Protocol::commit() {
  if (!data_->layout) {
    co_await commit_at(client_, data_->file);
    co_return;
  }
  for (std::size_t i = 0; i < data_clients_.size(); ++i)
    co_await commit_at(*data_clients_[i], data_->layout->handles.at(i));
  co_await commit_layout();
}

LoadOp<Done> Nfs4Protocol::create(const Handle& parent, std::string_view name) {
  const Turn turn(client_);
  const Opened opened = co_await make_and_open(*turn, parent, name, nfs4::createmode4::UNCHECKED4);
  co_await close(*turn, opened);
  co_return Done{};
}

LoadOp<Done> Nfs4Protocol::remove(const Handle& parent, std::string_view name) {
  const Turn turn(client_);
  co_return co_await client_.call<Done>(*turn, Keep::yes,
                                        steps(put_fh(parent), step(OP_REMOVE, nfs4::REMOVE4args{name})),
                                        [](Results& results) -> base::Result<Done, Fault> {
                                          nfs4::REMOVE4resok body;
                                          if (!results.next(OP_PUTFH) || !results.next(OP_REMOVE, body))
                                            return base::fail(results.fault());
                                          return Done{};
                                        });
}

LoadOp<Done> Nfs4Protocol::list(const Handle& parent, Listing& listing) {
  const Turn turn(client_);
  const nfs4::READDIR4args args{.cookie = listing.cookie,
                                .cookieverf = listing.verifier,
                                .dircount = readdir_bytes_max,
                                .maxcount = readdir_bytes_max,
                                .attr_request = entry_attributes};
  co_return co_await client_.call<Done>(
      *turn, Keep::no, steps(put_fh(parent), step(OP_READDIR, args)),
      [&listing](Results& results) -> base::Result<Done, Fault> {
        nfs4::READDIR4resok body;
        if (!results.next(OP_PUTFH) || !results.next(OP_READDIR, body)) return base::fail(results.fault());
        const auto entries = body.reply.entries;
        if (entries.empty() && !body.reply.eof) return base::fail(Fault{"READDIR without progress"});
        listing = body.reply.eof ? Listing{} : Listing{entries.back().cookie, body.cookieverf};
        return Done{.bytes = 0, .entries = static_cast<std::uint32_t>(entries.size())};
      });
}

}  // namespace braid::load
