#include "rdma/sim/endpoint.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>
#include <utility>

#include "base/assert.h"

namespace braid::rdma::sim {
namespace {

std::size_t bytes_of(const std::vector<LocalPiece>& pieces) {
  std::size_t bytes = 0;
  for (const LocalPiece& piece : pieces) bytes += piece.bytes;
  return bytes;
}

void gather(const std::vector<LocalPiece>& from, std::byte* to) {
  for (const LocalPiece& piece : from) {
    if (piece.bytes > 0) std::memcpy(to, piece.data, piece.bytes);
    to += piece.bytes;
  }
}

void scatter(const std::byte* from, const std::vector<LocalPiece>& to) {
  for (const LocalPiece& piece : to) {
    if (piece.bytes > 0) std::memcpy(piece.data, from, piece.bytes);
    from += piece.bytes;
  }
}

}  // namespace

SimEndpoint::SimEndpoint(Host& host, const rpc::PeerAddress& peer, const QueueDepths& depths,
                         EndpointUser& user)
    : host_(host), peer_(peer), depths_(depths), user_(user), copied_max_(host.copied_max_) {
  host_.endpoints_.insert(this);
}

SimEndpoint::~SimEndpoint() {
  base::check(requests_used_ == silent_used_ && receives_used_ == 0,
              "an endpoint ends when its work has completed");
  *alive_ = false;
  host_.endpoints_.erase(this);
  if (SimEndpoint* other = std::exchange(other_, nullptr)) {
    other->other_ = nullptr;
    other->end();
  }
}

void SimEndpoint::later(std::function<void()> f) {
  host_.fabric_.later([alive = alive_, f = std::move(f)] {
    if (*alive) f();
  });
}

base::Result<void> SimEndpoint::start(const ConnectParameters& parameters) {
  if (state_ != State::fresh) return base::fail(EINVAL);
  const std::vector<std::byte> data(parameters.private_data.begin(), parameters.private_data.end());
  if (port_ == 0) {
    if (other_ == nullptr) return base::fail(ECONNRESET);
    // RDMA Reads of the one are answered by the other.
    if (parameters.reads_out > other_->reads_out_) return base::fail(EINVAL);
    reads_max_ = parameters.reads_out;
    state_ = State::connected;
    other_->state_ = State::connected;
    other_->later([other = other_, data, out = parameters.reads_out, in = parameters.reads_in] {
      other->tell_established(data, out, in);
    });
    later([this, in = other_->reads_out_] { tell_established({}, 0, in); });
    return {};
  }
  state_ = State::asking;
  reads_out_ = parameters.reads_in;  // until it is established: what this end can answer
  later([this, data, parameters] {
    const auto found = host_.fabric_.listeners_.find(port_);
    if (found == host_.fabric_.listeners_.end()) return end();
    ConnectParameters offered = parameters;
    offered.private_data = data;
    found->second->user_.on_request(std::make_unique<SimRequest>(found->second->host_, *this, offered));
  });
  return {};
}

void SimEndpoint::tell_established(const std::vector<std::byte>& private_data, std::uint32_t reads_out,
                                   std::uint32_t reads_in) {
  if (state_ != State::connected) return;
  reads_out_ = 0;
  user_.on_established({private_data, reads_out, reads_in});
}

base::Result<void> SimEndpoint::post_receive(Work& work, const LocalPiece& to) {
  if (taken_back_) return base::fail(ENOTCONN);
  if (receives_used_ == depths_.receives) return base::fail(ENOMEM);
  if (!host_.may_use(to)) return base::fail(EINVAL);
  ++receives_used_;
  if (state_ == State::ended) {
    complete(work, WorkStatus::flushed, 0, 1, true);
    return {};
  }
  receives_.push_back({&work, to});
  if (other_ != nullptr) other_->pump();  // it may have waited for this
  return {};
}

std::size_t SimEndpoint::post(std::span<const Posting> postings) {
  ++host_.stats_.doorbells;
  for (std::size_t i = 0; i < postings.size(); ++i) {
    const Posting& posting = postings[i];
    base::check(!posting.chain.empty(), "a chain has a request");
    base::check(!posting.silent || posting.chain.size() == 1, "a silent posting is one request");
    std::uint32_t taken = 0;
    while (taken < posting.chain.size() && takes(posting.chain[taken])) {
      const Request& request = posting.chain[taken++];
      if (posting.silent)
        push_silent(request);
      else
        push(posting, request, taken, taken == posting.chain.size());
    }
    if (taken == 0) return i;
    ++host_.stats_.chains;
    if (taken == posting.chain.size()) continue;
    // As with a real device: only the end of a chain says that it has completed.
    posting.work->failed(WorkStatus::local_error);
    stranded_.push_back({posting.work, taken});
    disconnect();
    return i + 1;
  }
  return postings.size();
}

bool SimEndpoint::takes(const Request& request) {
  const bool refused = host_.refuses_post();
  if (refused || taken_back_ || state_ == State::fresh || state_ == State::asking) return false;
  if (request.opcode == Opcode::send_invalidate && !host_.limits_.sends_invalidate) return false;
  if (requests_used_ >= depths_.requests || request.local.size() > host_.limits_.pieces_max) return false;
  ++requests_used_;
  return true;
}

void SimEndpoint::push(const Posting& posting, const Request& request, std::uint32_t count, bool last) {
  if (state_ == State::ended) {
    if (last) complete(*posting.work, WorkStatus::flushed, 0, count, false);
    return;
  }
  if (request.opcode == Opcode::read)
    host_.stats_.reads_out_most = std::max(host_.stats_.reads_out_most, ++reads_out_);
  requests_.push_back({request.opcode,
                       {request.local.begin(), request.local.end()},
                       request.key,
                       request.address,
                       posting.work,
                       last,
                       count,
                       next_number_++,
                       {}});
  pump();
}

void SimEndpoint::push_silent(const Request& request) {
  ++silent_used_;
  if (state_ == State::ended) return;
  std::vector<LocalPiece> local(request.local.begin(), request.local.end());
  std::vector<std::byte> copy(bytes_of(local));
  base::check(copy.size() <= copied_max_, "a silent send is short enough to be copied");
  gather(local, copy.data());
  local = {{copy.data(), static_cast<std::uint32_t>(copy.size()), {}}};
  requests_.push_back({request.opcode, std::move(local), request.key, request.address, nullptr, true, 1,
                       next_number_++, std::move(copy)});
  pump();
}

void SimEndpoint::pump() {
  if (pumping_ || requests_.empty() || state_ != State::connected) return;
  pumping_ = true;
  later([this] {
    pumping_ = false;
    if (requests_.empty() || state_ != State::connected) return;
    host_.fabric_.account(nullptr, [this] {
      if (host_.fabric_.clock_ == nullptr) return run_one();
      execute_arrived();
      transmit_one();
    });
  });
}

void SimEndpoint::at(base::TimePoint when, std::function<void()> f) {
  host_.fabric_.at(when, [this, alive = alive_, f = std::move(f)] {
    if (*alive && state_ == State::connected) f();
  });
}

void SimEndpoint::transmit_one() {
  if (next_sent_ == next_number_ || state_ != State::connected) return;
  const Posted& request = request_of(next_sent_);
  const bool reads = request.opcode == Opcode::read;
  if (reads && reads_on_wire_ == reads_max_) return;
  if (reads) ++reads_on_wire_;
  ++next_sent_;
  const base::TimePoint arrival = host_.fabric_.transmit(host_, reads ? 0 : bytes_of(request.local));
  at(arrival, [this, number = request.number] { arrive(number); });
  pump();
}

void SimEndpoint::arrive(std::uint64_t number) {
  if (arrived_ < number) return;
  arrived_ = number + 1;
  execute_arrived();
}

// In order: a send that finds no receive holds up what is behind it.
void SimEndpoint::execute_arrived() {
  while (state_ == State::connected && next_executed_ < arrived_) {
    const std::uint64_t number = next_executed_;
    const Posted& request = request_of(number);
    Fabric& fabric = host_.fabric_;
    if (request.opcode == Opcode::read && other_ != nullptr) {
      // Its data is the peer's answer.
      at(fabric.transmit(other_->host_, bytes_of(request.local)), [this, number] {
        --reads_on_wire_;
        bool waits = false;
        ended(number, execute(request_of(number), waits));
      });
    } else {
      bool waits = false;
      const WorkStatus status = execute(request, waits);
      if (waits) return;
      at(fabric.clock_->now() + fabric.link_.delay, [this, number, status] { ended(number, status); });
      // The peer takes nothing that comes behind a request that failed.
      if (status != WorkStatus::success) arrived_ = 0;
    }
    ++next_executed_;
  }
}

// Requests end in the order in which they were posted.
void SimEndpoint::ended(std::uint64_t number, WorkStatus status) {
  request_of(number).ended = status;
  while (!requests_.empty() && requests_.front().ended) {
    const WorkStatus first = *requests_.front().ended;
    if (first == WorkStatus::success) count(requests_.front());
    retire(first);
    if (first != WorkStatus::success) return end_both(*this);
  }
  pump();
}

void SimEndpoint::count(const Posted& request) {
  const auto kind = static_cast<std::size_t>(request.opcode);
  ++host_.stats_.requests[kind];
  host_.stats_.bytes[kind] += bytes_of(request.local);
}

void SimEndpoint::run_one() {
  const Posted& request = requests_.front();
  if (const auto fault = host_.take_fault(request.opcode)) {
    if (fault->kind == Fault::Kind::fail) retire(fault->status);
    return end_both(*this);
  }
  bool waits = false;
  const WorkStatus status = execute(request, waits);
  if (waits) return;
  if (status == WorkStatus::success) {
    count(request);
    retire(status);
    return pump();
  }
  retire(status);
  end_both(*this);
}

WorkStatus SimEndpoint::execute(const Posted& request, bool& waits) {
  if (other_ == nullptr) return WorkStatus::unanswered;
  const bool usable = request.work == nullptr || std::ranges::all_of(request.local, [&](const auto& piece) {
                        return host_.may_use(piece);
                      });
  if (!usable) return WorkStatus::local_error;
  const bool sends = request.opcode == Opcode::send || request.opcode == Opcode::send_invalidate;
  return sends ? send(request, waits) : transfer(request);
}

WorkStatus SimEndpoint::send(const Posted& request, bool& waits) {
  SimEndpoint& to = *other_;
  if (to.receives_.empty()) {
    waits = !host_.impatient_;
    return WorkStatus::not_received;
  }
  const Receive receive = to.receives_.front();
  const std::size_t bytes = bytes_of(request.local);
  to.receives_.pop_front();
  if (bytes > receive.to.bytes || !to.host_.may_use(receive.to)) {
    to.complete(*receive.work, WorkStatus::local_error, 0, 1, true);
    return WorkStatus::remote_invalid;
  }
  if (request.opcode == Opcode::send_invalidate && !to.host_.invalidate(request.key)) {
    to.complete(*receive.work, WorkStatus::flushed, 0, 1, true);
    return WorkStatus::remote_access;
  }
  gather(request.local, receive.to.data);
  to.complete(*receive.work, WorkStatus::success, static_cast<std::uint32_t>(bytes), 1, true);
  return WorkStatus::success;
}

WorkStatus SimEndpoint::transfer(const Posted& request) {
  const bool writes = request.opcode == Opcode::write;
  const std::size_t bytes = bytes_of(request.local);
  // A request without bytes touches nothing, so its key is not looked at.
  if (bytes == 0) return WorkStatus::success;
  std::byte* remote = other_->host_.find_remote(request.key, request.address, bytes,
                                                writes ? Access::remote_write : Access::remote_read);
  if (remote == nullptr) return WorkStatus::remote_access;
  if (host_.leaves_data_) return WorkStatus::success;
  if (writes)
    gather(request.local, remote);
  else
    scatter(remote, request.local);
  return WorkStatus::success;
}

void SimEndpoint::retire(WorkStatus status) {
  const Posted request = std::move(requests_.front());
  requests_.pop_front();
  if (request.opcode == Opcode::read) --reads_out_;
  if (request.work == nullptr) return retire_silent(status);
  if (request.last) return complete(*request.work, status, 0, request.chain, false);
  if (status != WorkStatus::success) request.work->failed(status);
}

void SimEndpoint::retire_silent(WorkStatus status) {
  ++silent_done_;
  if (status == WorkStatus::success || status == WorkStatus::flushed) return;
  later([this, status] { user_.on_silent_failure(status); });
}

void SimEndpoint::complete(Work& work, WorkStatus status, std::uint32_t bytes, std::uint32_t requests,
                           bool receive) {
  const std::uint32_t silent = receive ? 0 : std::exchange(silent_done_, 0);
  auto event = [this, &work, status, bytes, requests, silent, receive] {
    (receive ? receives_used_ : requests_used_) -= requests + silent;
    silent_used_ -= silent;
    if (!receive) ++host_.stats_.heard;
    host_.fabric_.account(&host_, [&work, status, bytes] { work.finish(status, bytes); });
  };
  const bool kept = status == WorkStatus::flushed && !host_.flushes_ && !taken_back_;
  if (kept || (host_.holding_ && !receive))
    host_.held_.emplace_back(this, std::move(event));
  else
    host_.fabric_.later(std::move(event));
}

void SimEndpoint::disconnect() {
  if (state_ != State::ended) end_both(*this);
}

void SimEndpoint::take_back() {
  base::check(state_ == State::ended, "what is posted is taken back when the connection has ended");
  taken_back_ = true;
  std::erase_if(host_.held_, [this](auto& held) {
    if (held.first == this) host_.fabric_.later(std::move(held.second));
    return held.first == this;
  });
  for (const Stranded& one : std::exchange(stranded_, {}))
    complete(*one.work, WorkStatus::flushed, 0, one.taken, false);
}

void SimEndpoint::end_both(SimEndpoint& endpoint) {
  SimEndpoint* other = endpoint.other_;
  endpoint.end();
  if (other != nullptr) other->end();
}

void SimEndpoint::end() {
  if (std::exchange(state_, State::ended) == State::ended) return;
  while (!requests_.empty()) retire(WorkStatus::flushed);
  for (const Receive& receive : std::exchange(receives_, {}))
    complete(*receive.work, WorkStatus::flushed, 0, 1, true);
  later([this] { user_.on_disconnected(); });
}

SimListener::SimListener(Host& host, const rpc::PeerAddress& address, ListenerUser& user)
    : fabric_(host.fabric_), host_(host), address_(address), user_(user) {
  fabric_.listeners_.emplace(address.port, this);
}

SimListener::~SimListener() { fabric_.listeners_.erase(address_.port); }

SimRequest::SimRequest(Host& host, SimEndpoint& from, const ConnectParameters& parameters)
    : host_(host),
      from_(&from),
      from_alive_(from.alive_),
      private_data_(parameters.private_data.begin(), parameters.private_data.end()),
      offered_(parameters) {
  offered_.private_data = private_data_;
  address_ = from.host_.address_;
  address_.port = host.fabric_.next_port_++;
}

void SimRequest::refuse(Refusal why) {
  SimEndpoint* from = std::exchange(from_, nullptr);
  if (!*from_alive_) return;
  from->later([from, why] { from->user_.on_refused(std::as_bytes(std::span(name_of(why)))); });
  from->end();
}

SimRequest::~SimRequest() {
  if (from_ != nullptr && *from_alive_) from_->end();
}

}  // namespace braid::rdma::sim
