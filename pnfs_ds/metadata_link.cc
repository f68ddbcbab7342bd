#include "pnfs_ds/metadata_link.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>
#include <variant>

#include "base/log.h"
#include "nfs4/nfs4.x.h"

namespace braid::pnfs_ds {
namespace {

using base::Level;
using base::log_event;
using pnfs::control_status;

// A client waits for the answer.
constexpr base::Duration facts_timeout = std::chrono::seconds(5);
constexpr base::Duration dirty_timeout = std::chrono::seconds(5);
constexpr base::Duration answer_timeout = std::chrono::seconds(3);

constexpr auto stale = static_cast<pnfs::data_status>(nfs4::nfsstat4::NFS4ERR_STALE);
static_assert(metadata_calls.size() == std::variant_size_v<decltype(pnfs::to_metadata_args::body)>);

template <class Reply>
void count(pnfs::CallCounters* counters, const pnfs::to_metadata_args& args, const Reply& reply) {
  if (counters == nullptr) return;
  if (reply)
    counters->answered(args.body.index());
  else
    counters->failed(args.body.index(), reply.error().fault);
}

pnfs::control_status accept_any(const pnfs::Introduction& /*other*/) { return control_status::CONTROL_OK; }

// What an administrator has to mend; empty for what may mend itself.
std::string sentence_of(control_status status, const std::string& mds) {
  switch (status) {
    case control_status::CONTROL_REVISION_MISMATCH:
      return fmt::format("the metadata server {} speaks another revision of the control protocol", mds);
    case control_status::CONTROL_OTHER_CLUSTER:
      return fmt::format("this object store belongs to another cluster than the metadata server {}", mds);
    case control_status::CONTROL_OTHER_SERVER:
      return fmt::format(
          "the metadata server {} knows another object store by the name of this data server: it was wiped "
          "or "
          "exchanged; bring the old one back, or give another name",
          mds);
    case control_status::CONTROL_WRONG_ROLE:
      return fmt::format("{} is no metadata server", mds);
    default:
      return {};
  }
}

}  // namespace

Heartbeats::Heartbeats(const pnfs::ControlPath& path, io::SlabPool& slabs, const Parts& parts)
    : reactor_(path.reactor),
      parts_(parts),
      file_system_(file_system_id(parts.store.fd())),
      peer_(path, slabs, parts.to.address, parts.secret, parts.own, accept_any),
      timer_(path.reactor) {}

void Heartbeats::start() {
  reactor_.post([this] { io::spawn(gate_, run()); });
}

io::Op<> Heartbeats::run() {
  while (!gate_.closed() && failure().empty()) {
    (void)co_await beat().as_result();
    if (gate_.closed()) co_return;
    (void)co_await timer_.until(reactor_.clock().now() + interval_);
  }
}

io::Op<> Heartbeats::beat() {
  const auto room = co_await parts_.objects.room().as_result();
  const base::TimePoint sent = reactor_.clock().now();
  pnfs::HEARTBEATargs args;
  args.sent = static_cast<std::uint64_t>(sent.time_since_epoch().count());
  if (room) {
    args.bytes_total = room->bytes_total;
    args.bytes_free = room->bytes_free;
    args.bytes_available = room->bytes_available;
    args.objects_free = room->files_free;
  }
  args.load = parts_.objects.calls();
  args.verifier = parts_.objects.verifier().bytes;
  args.file_system = file_system_;
  const auto call = pnfs::to_metadata_args::with_heartbeat(args);
  const auto reply = co_await peer_.call_metadata(call, answer_timeout).as_result();
  count(parts_.counters, call, reply);
  if (!reply) {
    failed(reply.error());
    co_return;
  }
  const pnfs::HEARTBEATres answer = *reply->result.heartbeat();
  if (answer.sent == args.sent) co_await take(sent, answer);
}

io::Op<> Heartbeats::take(base::TimePoint sent, pnfs::HEARTBEATres answer) {
  refusals_ = 0;
  const pnfs::ClusterId cluster = peer_.other()->cluster;
  if (parts_.store.cluster() != cluster) {
    auto join = [this, &cluster] { return parts_.store.join(cluster); };
    const std::optional<base::Result<void>> joined =
        co_await parts_.pool.own().run_for_all(reactor_, io::BlockingReason::sync, join);
    if (!joined) co_return;
    if (!*joined) {
      remind(fmt::format("the cluster cannot be noted in {}: {}", parts_.store.path(),
                         base::message_of(joined->error())));
      co_return;
    }
    log_event(Level::info, "cluster_joined", "server={} mds={}", hex_of(parts_.store.server()),
              parts_.to.text);
  }
  if (answer.lowest_grant != 0) parts_.fences.add(LowestGrant{pnfs::GrantNumber(answer.lowest_grant)});
  if (!parts_.contact.answered(sent, cluster, answer)) {
    remind("its answer makes no sense");
    co_return;
  }
  // Some may be lost.
  constexpr int beats_of_contact = 6;
  const base::Duration good_for = std::chrono::milliseconds(answer.good_for_ms);
  interval_ = std::clamp(good_for / beats_of_contact, interval_min, interval_max);
  if (!in_contact_)
    log_event(Level::info, "metadata_server_reached", "mds={} name={}", parts_.to.text, peer_.other()->name);
  in_contact_ = true;
  reminded_once_ = false;
}

void Heartbeats::failed(const pnfs::PeerError& error) {
  if (error.fault == pnfs::PeerFault::closing) return;
  in_contact_ = false;
  const bool refused = error.fault == pnfs::PeerFault::refused;
  if (refused)
    if (std::string sentence = sentence_of(error.status, parts_.to.text); !sentence.empty()) {
      give_up(std::move(sentence));
      return;
    }
  // A session that the other side has forgotten is refused once; then it is the secret.
  constexpr unsigned refusals_max = 3;
  const bool doubted = refused && error.status == control_status::CONTROL_REFUSED;
  refusals_ = doubted ? refusals_ + 1 : 0;
  if (refusals_ >= refusals_max) {
    give_up(fmt::format("the metadata server {} has another secret", parts_.to.text));
    return;
  }
  remind(refused ? name_of(error.status) : name_of(error.fault));
}

void Heartbeats::remind(std::string_view why) {
  const base::TimePoint now = reactor_.clock().now();
  if (reminded_once_ && now - reminded_ < reminder) return;
  reminded_once_ = true;
  reminded_ = now;
  log_event(Level::warning, "metadata_server_silent", "mds={}: {}; no client is served until it answers",
            parts_.to.text, why);
}

void Heartbeats::give_up(std::string sentence) {
  log_event(Level::error, "data_server_refused", "{}", sentence);
  const std::scoped_lock lock(mutex_);
  failure_ = std::move(sentence);
}

io::Op<> Heartbeats::close() {
  gate_.close();
  timer_.cancel();
  co_await peer_.close();
  co_await gate_.drained();
}

pnfs::ControlPeer* MetadataPeers::here() const {
  const auto found = std::ranges::find(peers_, io::Reactor::current(), &OfThread::reactor);
  return found == peers_.end() ? nullptr : found->peer.get();
}

vfs::VfsOp<FileFacts> MetadataPeers::facts_of(pnfs::ObjectId object) {
  pnfs::ControlPeer* const peer = here();
  if (peer == nullptr) co_await base::fail(vfs::Error::delay);
  const auto args = pnfs::to_metadata_args::with_file_facts({.object = object.value()});
  const auto reply = co_await peer->call_metadata(args, facts_timeout).as_result();
  count(counters_, args, reply);
  if (!reply) co_await base::fail(vfs::Error::delay);
  const auto* const facts = reply->result.file_facts()->facts();
  if (facts == nullptr) co_await base::fail(vfs::Error::stale);
  co_return FileFacts{.size = facts->size, .owner = {.uid = facts->uid, .gid = facts->gid}};
}

vfs::VfsOp<MetadataServer::EachObject> MetadataPeers::tell_dirty(std::vector<pnfs::ObjectId> objects) {
  pnfs::ControlPeer* const peer = here();
  if (peer == nullptr) co_await base::fail(vfs::Error::delay);
  std::vector<std::uint64_t> numbers;
  numbers.reserve(objects.size());
  std::ranges::transform(objects, std::back_inserter(numbers), &pnfs::ObjectId::value);
  const auto args = pnfs::to_metadata_args::with_dirty({.objects = numbers});
  const auto reply = co_await peer->call_metadata(args, dirty_timeout).as_result();
  count(counters_, args, reply);
  if (!reply) co_await base::fail(vfs::Error::delay);
  EachObject out;
  out.reserve(objects.size());
  for (const pnfs::data_status status : reply->result.dirty()->objects) {
    if (status == 0)
      out.emplace_back();
    else
      out.emplace_back(std::unexpect, status == stale ? vfs::Error::stale : vfs::Error::delay);
  }
  co_return std::move(out);
}

io::Op<> MetadataPeers::close() {
  if (pnfs::ControlPeer* const peer = here()) co_await peer->close();
}

}  // namespace braid::pnfs_ds
