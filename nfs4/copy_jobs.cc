#include "nfs4/copy_jobs.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "nfs4/callback/callbacks.h"
#include "nfs4/state/clients/peers.h"
#include "nfs4/state/state_id.h"
#include "nfs4/status.h"

namespace braid::nfs4 {
namespace {

using state::StateIdParts;

// A client that is busy is asked again so often, and not faster than this.
constexpr int tellings_max = 5;
constexpr base::Duration between_tellings = std::chrono::seconds(1);

std::uint64_t number_in(const StateIdParts& parts) {
  return std::uint64_t{parts.generation} << 24U | parts.index;
}

io::Op<bool> tell_by(callback::Callbacks& callbacks, clientid4 client, CB_OFFLOAD4args args) {
  const auto answer = co_await callbacks.call(client, nfs_cb_opnum4::OP_CB_OFFLOAD, args).as_result();
  co_return answer && answer->status != nfsstat4::NFS4ERR_DELAY;
}

}  // namespace

// co_await Quiet(jobs, job): goes on when the job copies no more.
class CopyJobs::Quiet {
 public:
  Quiet(CopyJobs& jobs, const JobRef& job) : jobs_(jobs), job_(job) {}
  [[nodiscard]] bool await_ready() const { return false; }
  bool await_suspend(std::coroutine_handle<> handle) {
    return jobs_.jobs_.with([&](Jobs& /*jobs*/) {
      if (job_->quiet) return false;
      job_->waiting.push_back({io::Reactor::current(), handle});
      return true;
    });
  }
  void await_resume() const {}

 private:
  CopyJobs& jobs_;
  const JobRef& job_;
};

CopyCallbacks copy_callbacks(callback::Callbacks& callbacks) {
  return {.reachable = [&callbacks](clientid4 client) { return callbacks.reachable(client); },
          .tell = [&callbacks](clientid4 client,
                               CB_OFFLOAD4args args) { return tell_by(callbacks, client, args); }};
}

CopyJobs::CopyJobs(io::Reactor& reactor, CopyCallbacks callbacks, std::uint32_t epoch, CopyJobLimits limits)
    : reactor_(reactor), callbacks_(std::move(callbacks)), epoch_(epoch), limits_(limits) {}

stateid4 CopyJobs::id_of(clientid4 client, std::uint64_t number) const {
  stateid4 out;
  out.seqid = 1;
  out.other = state::pack({.epoch = epoch_ & StateIdParts::epoch_mask,
                           .kind = state::StateKind::copy,
                           .client = static_cast<std::uint32_t>(client) & StateIdParts::client_mask,
                           .index = static_cast<std::uint32_t>(number) & StateIdParts::index_max,
                           .generation = static_cast<std::uint16_t>(number >> 24U)});
  return out;
}

// Ended ones whose client was told in vain give way, the oldest first.
template <class Mine, class Full>
bool CopyJobs::make_room(Jobs& jobs, Mine mine, Full full) {
  const auto gives_way = [&](const auto& entry) {
    return mine(entry.second->work) && entry.second->ended.load() != Job::running;
  };
  const auto is_mine = [&](const auto& entry) { return mine(entry.second->work); };
  while (full(static_cast<std::size_t>(std::ranges::count_if(jobs.by_number, is_mine)))) {
    const auto oldest = std::ranges::find_if(jobs.by_number, gives_way);
    if (oldest == jobs.by_number.end()) return false;
    oldest->second->cancelled = true;
    jobs.by_number.erase(oldest);
  }
  return true;
}

bool CopyJobs::make_room(Jobs& jobs, const CopyWork& work, const CopyJobLimits& limits) {
  const auto of_client = [&](const CopyWork& one) { return one.client->id == work.client->id; };
  const auto of_peer = [&](const CopyWork& one) { return one.peer == work.peer; };
  const auto of_anybody = [](const CopyWork&) { return true; };
  return make_room(jobs, of_client, [&](std::size_t count) { return count >= limits.per_client; }) &&
         make_room(jobs, of_peer,
                   [&](std::size_t count) {
                     return state::over_share(count, jobs.by_number.size(), limits.together);
                   }) &&
         make_room(jobs, of_anybody, [&](std::size_t count) { return count >= limits.together; });
}

std::optional<stateid4> CopyJobs::start(CopyWork work) {
  const clientid4 client = work.client->id;
  if (!callbacks_.reachable(client)) return std::nullopt;
  auto job = std::make_shared<Job>();
  job->work = std::move(work);
  const bool noted = jobs_.with([&](Jobs& jobs) {
    // One that goes is gone before cancel_all() comes here.
    if (jobs.closed || job->work.client->gone() || !make_room(jobs, job->work, limits_)) return false;
    // What an index and a generation hold.
    jobs.last = (jobs.last + 1) % (std::uint64_t{1} << 40U);
    job->number = jobs.last;
    job->id = id_of(client, job->number);
    jobs.by_number.emplace(job->number, job);
    ++jobs.posted;
    return true;
  });
  if (!noted) return std::nullopt;
  reactor_.post([this, job] {
    io::spawn(gate_, job->work.peer, run(job));
    jobs_.with([](Jobs& jobs) { --jobs.posted; });
  });
  return job->id;
}

CopyJobs::JobRef CopyJobs::find(clientid4 client, const stateid4& id) const {
  const auto parts = state::unpack(id.other);
  if (!parts || parts->kind != state::StateKind::copy) return nullptr;
  return jobs_.with([&](const Jobs& jobs) -> JobRef {
    const auto found = jobs.by_number.find(number_in(*parts));
    if (found == jobs.by_number.end()) return nullptr;
    const JobRef& job = found->second;
    const bool same = job->id.other == id.other && (id.seqid == 0 || id.seqid == job->id.seqid);
    return same && job->work.client->id == client ? job : nullptr;
  });
}

std::optional<CopyStatus> CopyJobs::status(clientid4 client, const stateid4& id) const {
  const JobRef job = find(client, id);
  if (job == nullptr) return std::nullopt;
  const std::uint32_t ended = job->ended.load();
  CopyStatus out{.copied = job->copied.load(), .ended = std::nullopt};
  if (ended != Job::running) out.ended = static_cast<nfsstat4>(ended);
  return out;
}

void CopyJobs::cancel(Jobs& jobs, const JobRef& job) {
  job->cancelled = true;
  if (!job->quiet) jobs.cancelled.push_back(job);
}

// RFC 7862 15.8.3: the copy ends, and no CB_OFFLOAD comes.
io::Op<bool> CopyJobs::cancel(clientid4 client, stateid4 id) {
  const JobRef job = find(client, id);
  if (job == nullptr) co_return false;
  jobs_.with([&](Jobs& jobs) {
    if (jobs.by_number.erase(job->number) > 0) cancel(jobs, job);
  });
  co_await Quiet(*this, job);
  co_return true;
}

void CopyJobs::cancel_all(clientid4 client) {
  jobs_.with([&](Jobs& jobs) {
    std::erase_if(jobs.by_number, [&](const auto& entry) {
      if (entry.second->work.client->id != client) return false;
      cancel(jobs, entry.second);
      return true;
    });
  });
}

CopyJobs::JobRef CopyJobs::next_stopping(clientid4 client) const {
  return jobs_.with([&](const Jobs& jobs) -> JobRef {
    const auto found = std::ranges::find_if(
        jobs.cancelled, [&](const JobRef& job) { return job->work.client->id == client; });
    return found == jobs.cancelled.end() ? nullptr : *found;
  });
}

io::Op<> CopyJobs::stopped(clientid4 client) {
  while (const JobRef job = next_stopping(client)) co_await Quiet(*this, job);
}

void CopyJobs::become_quiet(const JobRef& job) {
  const std::vector<Waiter> waiting = jobs_.with([&](Jobs& jobs) {
    job->quiet = true;
    std::erase(jobs.cancelled, job);
    return std::exchange(job->waiting, {});
  });
  for (const Waiter& one : waiting) one.reactor->post(one.handle);
}

void CopyJobs::forget(std::uint64_t number) {
  jobs_.with([&](Jobs& jobs) { jobs.by_number.erase(number); });
}

Op4<> CopyJobs::copy_all(Job& job) {
  CopyWork& work = job.work;
  while (job.copied < work.length && !job.cancelled) {
    const std::uint64_t done = job.copied;
    const auto slice = co_await work.to
                           ->copy_from(work.who, *work.from, work.from_offset + done, work.to_offset + done,
                                       work.length - done)
                           .as_result();
    if (!slice) co_await base::fail(status_of(slice.error()));
    if (*slice == 0) break;
    job.copied = done + *slice;
  }
}

io::Op<> CopyJobs::run(JobRef job) {
  // Taken before the copy: if data of it gets lost, the verifier that the client is told has gone by.
  const vfs::Verifier verifier = job->work.to->write_verifier();
  const auto copied = co_await copy_all(*job).as_result();
  const vfs::FileHandle target = job->work.to->file()->handle();
  for (vfs::OpenFileRef* const open : {&job->work.from, &job->work.to}) {
    const std::shared_ptr<vfs::FileSystem> home = (*open)->file_system();
    (void)co_await home->close(std::exchange(*open, nullptr)).as_result();
  }
  const nfsstat4 status = copied ? nfsstat4::NFS4_OK : copied.error();
  job->ended = static_cast<std::uint32_t>(status);
  become_quiet(job);
  if (job->cancelled) co_return;
  co_await report(job, target, verifier);
}

// A client that never answers may still ask with OFFLOAD_STATUS.
io::Op<> CopyJobs::report(JobRef job, vfs::FileHandle target, vfs::Verifier verifier) {
  const auto status = static_cast<nfsstat4>(job->ended.load());
  for (int telling = 0; telling < tellings_max && !job->cancelled; ++telling) {
    write_response4 done;
    done.wr_count = job->copied;
    done.wr_committed = stable_how4::UNSTABLE4;
    done.wr_writeverf = verifier.bytes;
    const CB_OFFLOAD4args args{
        .coa_fh = target.view(),
        .coa_stateid = job->id,
        .coa_offload_info = status == nfsstat4::NFS4_OK
                                ? offload_info4::with_coa_resok4(done)
                                : offload_info4::with_coa_bytes_copied(status, job->copied)};
    const auto told = co_await callbacks_.tell(job->work.client->id, args).as_result();
    if (told && *told) {
      forget(job->number);
      co_return;
    }
    const auto waited = co_await reactor_.sleep(between_tellings).as_result();
    if (!waited) co_return;
  }
}

io::Op<> CopyJobs::close() {
  jobs_.with([](Jobs& jobs) {
    jobs.closed = true;
    for (auto& [number, job] : jobs.by_number) job->cancelled = true;
  });
  const auto on_their_way = [this] { return jobs_.with([](const Jobs& jobs) { return jobs.posted > 0; }); };
  while (on_their_way()) co_await reactor_.yield();
  gate_.close();
  co_await gate_.drained();
}

}  // namespace braid::nfs4
