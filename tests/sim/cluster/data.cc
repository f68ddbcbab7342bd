// What a model client does to data servers.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/big_endian.h"
#include "tests/sim/cluster/client.h"

namespace braid::sim::cluster {
namespace {

using enum nfsstat4;

Request at_object(const base::Bytes& handle) {
  Request out;
  out.add(nfs_opnum4::OP_PUTFH, PUTFH4args{handle});
  return out;
}

// RFC 8881 13.9.1: of whatever seqid.
stateid4 for_data_server(stateid4 id) {
  id.seqid = 0;
  return id;
}

// Counts I/O by a layout, as long as it lives.
class Running {
 public:
  explicit Running(OpenedRef opened) : opened_(std::move(opened)) { ++opened_->io; }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  ~Running() { --opened_->io; }

 private:
  const OpenedRef opened_;
};

}  // namespace

void Client::check_contact(std::uint32_t server, base::TimePoint sent, base::TimePoint limit,
                           FileNumber file) {
  if (limit != world_.contact_ends.at(server) || sent <= limit) return;
  world_.oracle.violation("contact", traits_.index, file,
                          fmt::format("data server {} serves after it has been cut off from the metadata "
                                      "server for half a lease",
                                      server));
}

void Client::hoard(const OpenedRef& opened) {
  if (!traits_.stubborn || opened->layout == nullptr) return;
  constexpr std::size_t hoard_max = 6;
  hoard_.emplace_back(opened, opened->layout);
  if (hoard_.size() > hoard_max) hoard_.pop_front();
}

// Linux drops the layout, and returns nothing.
void Client::refused(Opened& opened, const LayoutRef& layout) {
  if (opened.layout == layout) opened.layout = nullptr;
}

SessionOp<> Client::write_by_layout(OpenedRef opened, LayoutRef layout) {
  const std::uint32_t cell = some_cell();
  const Layout::Place place = layout->place_of(offset_of(cell));
  const std::uint32_t server = layout->servers.at(place.index);
  const bool rogue = opened->layout != layout || !within_lease() || layout->instance != metadata_.instance();
  const Running running(opened);
  Write& write = world_.oracle.write_begins({.client = traits_.index,
                                             .file = opened->file,
                                             .cells = {cell},
                                             .by_layout = true,
                                             .server = server,
                                             .granted = layout->granted,
                                             .given_up = layout->given_up,
                                             .rogue = rogue});
  base::Bytes data(cell_bytes);
  base::store_be<std::uint64_t>(data, 0, write.tag);
  const bool stable = random_.percent(50);
  WRITE4args args;
  args.stateid = for_data_server(opened->open);
  args.offset = place.offset;
  args.stable = stable ? stable_how4::FILE_SYNC4 : stable_how4::UNSTABLE4;
  args.data = payload_of(data);
  Request request = at_object(layout->handles[place.index]);
  request.add(nfs_opnum4::OP_WRITE, args);
  const base::TimePoint limit = world_.contact_ends.at(server);
  auto done = co_await data_session(server).call(std::move(request)).as_result();
  if (!done) {
    world_.oracle.write_abandoned(write);
    refused(*opened, layout);
    world_.trace.add(traits_.index, opened->file, "writes {} at server {} to cell {}: no answer", write.tag,
                     server, cell);
    co_await base::fail(done.error());
  }
  const nfsstat4 status = status_behind(*done, 1);
  const auto given = status == NFS4_OK ? done->response.body<WRITE4resok>() : std::nullopt;
  world_.trace.add(traits_.index, opened->file, "writes {} at server {} to cell {}{}{}: {}", write.tag,
                   server, cell, stable ? ", stable" : "", rogue ? ", with an old layout" : "",
                   name_of(status));
  if (given) std::ranges::copy(given->writeverf, write.verifier.begin());
  const bool trusted = !rogue && within_lease() && layout->instance == metadata_.instance();
  write.what.rogue = write.what.rogue || !trusted;
  const bool whole = given && given->count == cell_bytes;
  world_.oracle.write_answered(write, whole, whole && given->committed == stable_how4::FILE_SYNC4, trusted,
                               done->once && status != NFS4_OK);
  if (given) check_contact(server, write.span.begun, limit, opened->file);
  if (given && given->committed != stable_how4::FILE_SYNC4)
    opened->uncommitted[server] = layout->handles[place.index];
  if (given) co_return;
  const bool current = opened->layout == layout && trusted && metadata_.lapses() == layout->lapses;
  if (current && status == NFS4ERR_PNFS_NO_LAYOUT)
    check_refusal(*opened, *layout, server, layout->handles[place.index]);
  refused(*opened, layout);
}

// A new epoch that nobody else has brought about leaves the client its layout.
void Client::check_refusal(const Opened& opened, const Layout& layout, std::uint32_t server,
                           const base::Bytes& handle) {
  if (!layout.writes || layout.life != world_.metadata_life || !world_.is_fenced(server, handle)) return;
  if (layout.beside_an_end) return;
  if (!world_.oracle.keeps_layout(traits_.index, opened.file, {layout.asked, layout.granted})) return;
  world_.oracle.violation(
      "own_truncation", traits_.index, opened.file,
      fmt::format("data server {} refuses the layout of who has truncated the file itself", server));
}

SessionOp<> Client::commit_by_layout(OpenedRef opened) {
  while (!opened->uncommitted.empty()) {
    const auto [server, handle] = *opened->uncommitted.begin();
    opened->uncommitted.erase(opened->uncommitted.begin());
    Request request = at_object(handle);
    request.add(nfs_opnum4::OP_COMMIT, COMMIT4args{0, 0});
    const base::TimePoint sent = world_.scheduler.now();
    Answer done = co_await data_session(server).call(std::move(request));
    const nfsstat4 status = status_behind(done, 1);
    world_.trace.add(traits_.index, opened->file, "commits at server {}: {}", server, name_of(status));
    const auto given = status == NFS4_OK ? done.response.body<COMMIT4resok>() : std::nullopt;
    if (!given) continue;
    std::array<std::byte, cell_bytes> verifier{};
    std::ranges::copy(given->writeverf, verifier.begin());
    world_.oracle.committed(opened->file, server, sent, verifier);
  }
}

// What a READ of a cell has brought.
std::uint64_t Client::taken(FileNumber file, std::uint32_t cell, base::TimePoint sent,
                            const READ4resok& given, std::string_view how) {
  std::uint64_t tag = 0;
  if (given.data.size() == cell_bytes) {
    const base::Bytes bytes = bytes_of(given.data);
    tag = base::load_be<std::uint64_t>(bytes, 0);
  } else if (world_.oracle.size_min(file, sent) >= end_of(cell)) {
    world_.oracle.violation("wrong_size", traits_.index, file,
                            fmt::format("a read of cell {} {} has {} bytes although the file is longer", cell,
                                        how, given.data.size()));
  } else if (!given.data.empty() || !given.eof) {
    world_.oracle.violation(
        "wrong_size", traits_.index, file,
        fmt::format("a read of cell {} {} has {} bytes, eof {}", cell, how, given.data.size(), given.eof));
  }
  world_.trace.add(traits_.index, file, "reads cell {} {}: {}{}", cell, how, tag,
                   given.data.empty() ? " (end)" : "");
  world_.oracle.cell_read(traits_.index, file, cell, sent, tag);
  return tag;
}

SessionOp<std::optional<std::uint64_t>> Client::read_by_layout(OpenedRef opened, LayoutRef layout,
                                                               std::uint32_t cell) {
  const Layout::Place place = layout->place_of(offset_of(cell));
  const std::uint32_t server = layout->servers.at(place.index);
  const Running running(opened);
  Request request = at_object(layout->handles[place.index]);
  request.add(nfs_opnum4::OP_READ, READ4args{for_data_server(opened->open), place.offset, cell_bytes});
  const base::TimePoint sent = world_.scheduler.now();
  const base::TimePoint limit = world_.contact_ends.at(server);
  auto done = co_await data_session(server).call(std::move(request)).as_result();
  if (!done) {
    refused(*opened, layout);
    co_await base::fail(done.error());
  }
  const nfsstat4 status = status_behind(*done, 1);
  const auto given = status == NFS4_OK ? done->response.body<READ4resok>() : std::nullopt;
  if (!given) {
    world_.trace.add(traits_.index, opened->file, "reads cell {} at server {}: {}", cell, server,
                     name_of(status));
    refused(*opened, layout);
    co_return std::nullopt;
  }
  check_contact(server, sent, limit, opened->file);
  // What is read without a right to it need not be true.
  if (!within_lease() || layout->instance != metadata_.instance()) co_return std::nullopt;
  co_return taken(opened->file, cell, sent, *given, fmt::format("at server {}", server));
}

SessionOp<> Client::read(OpenedRef opened) {
  const std::uint32_t cell = some_cell();
  if (opened->layout != nullptr && random_.percent(60))
    (void)co_await read_by_layout(opened, opened->layout, cell);
  else
    (void)co_await read_in_band(opened, cell);
}

SessionOp<> Client::compare(OpenedRef opened) {
  if (opened->layout == nullptr) co_await get_layout(opened, random_.percent(40));
  const LayoutRef layout = opened->layout;
  if (layout == nullptr) co_return;
  const std::uint32_t cell = some_cell();
  const base::TimePoint since = world_.scheduler.now();
  const auto by_layout = co_await read_by_layout(opened, layout, cell);
  auto in_band = co_await read_in_band(opened, cell);
  if (!by_layout || !in_band || !world_.oracle.calm(opened->file, since)) co_return;
  if (world_.plant == Plant::changed_bytes) ++*in_band;
  if (*by_layout == *in_band) co_return;
  world_.oracle.violation(
      "in_band_differs", traits_.index, opened->file,
      fmt::format("cell {} has {} by a layout and {} in-band", cell, *by_layout, *in_band));
}

SessionOp<> Client::use_old_layout() {
  if (hoard_.empty()) co_return;
  const auto [opened, layout] = hoard_[random_.below(hoard_.size())];
  if (layout->writes) co_await write_by_layout(opened, layout);
}

}  // namespace braid::sim::cluster
