#include "tests/sim/hoard.h"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

#include "nfs4/clients.h"
#include "nfs4/state/states.h"

namespace braid::sim {
namespace {

using nfs4::stateid4;
using nfs4::state::ClientRef;
using nfs4::state::DeferredWork;
using nfs4::state::HeldRange;
using nfs4::state::LockMode;
using nfs4::state::States;

constexpr std::uint64_t waiters = 100;

ClientRef comes(const nfs4::ServerState& server, std::string_view name, base::TimePoint now) {
  const base::BytesView owner = base::bytes_of(name);
  nfs4::state::Introduction introduction;
  introduction.minor_version = 1;
  introduction.owner = base::Bytes(owner.begin(), owner.end());
  return server.clients.with([&](nfs4::state::ClientTable& table) -> ClientRef {
    const auto known = table.exchange_id(std::move(introduction), false, now);
    if (!known) return nullptr;
    nfs4::state::CreateSessionRequest request;
    request.client = known->client;
    request.sequence = known->sequence;
    request.fore = {.request_bytes_max = 4096,
                    .response_bytes_max = 4096,
                    .cached_bytes_max = 0,
                    .operations_max = 8,
                    .slots = 1};
    return table.create_session(request, now) ? table.find_any(known->client) : nullptr;
  });
}

// One of the two, at work.
class Hoarder {
 public:
  Hoarder(States& states, ClientRef client, const vfs::FileHandle& file, base::TimePoint now)
      : states_(states), client_(std::move(client)), file_(file), now_(now) {}

  bool open(vfs::OpenFileRef descriptor) {
    const auto opened = states_.opens().open({.client = client_,
                                              .minor_version = 1,
                                              .owner = "hoard",
                                              .file = file_,
                                              .share = {.access = nfs4::state::share_both, .deny = 0},
                                              .opener = {},
                                              .descriptor = std::move(descriptor),
                                              .now = now_},
                                             work_);
    if (opened) id_ = opened->id;
    return opened.has_value();
  }
  void lock(std::string_view owner, const HeldRange& wanted, bool waits) {
    (void)states_.locks().lock({.use = use(), .new_owner = owner, .wanted = wanted, .blocking = waits},
                               work_);
  }
  void close() { (void)states_.opens().close(use(), work_); }

 private:
  [[nodiscard]] nfs4::state::StateUse use() const {
    return {.id = id_, .minor_version = 1, .client = client_, .file = file_, .now = now_};
  }

  States& states_;
  const ClientRef client_;
  const vfs::FileHandle& file_;
  const base::TimePoint now_;
  stateid4 id_;
  DeferredWork work_;
};

}  // namespace

nfs4::clientid4 hoard_locks(const nfs4::ServerState& server, const vfs::FileHandle& file,
                            const vfs::OpenFileRef& open, std::uint64_t number, Hoard what,
                            base::TimePoint now) {
  const ClientRef holder = comes(server, fmt::format("holder {}", number), now);
  const ClientRef waiter = comes(server, fmt::format("waiter {}", number), now);
  if (holder == nullptr || waiter == nullptr) return 0;
  server.states.with([&](States& states) {
    Hoarder holds(states, holder, file, now);
    Hoarder waits(states, waiter, file, now);
    if (!holds.open(open) || !waits.open(open)) return;
    for (std::uint64_t i = 0; i < hoarded_ranges; ++i)
      holds.lock(what == Hoard::many_owners ? fmt::format("{}", i) : "all",
                 {{4 * i, 4 * i + 1}, LockMode::write}, false);
    if (what == Hoard::one_owner) holds.lock("all", {nfs4::state::whole_file, LockMode::write}, false);
    if (what == Hoard::whole_close) holds.close();
    for (std::uint64_t i = 0; i < waiters; ++i)
      waits.lock(fmt::format("{}", i), {nfs4::state::whole_file, LockMode::write}, true);
  });
  return holder->id;
}

}  // namespace braid::sim
