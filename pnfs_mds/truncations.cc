#include "pnfs_mds/truncations.h"

#include <algorithm>
#include <span>
#include <utility>

#include "pnfs_mds/together.h"

namespace braid::pnfs_mds {

base::Result<std::unique_ptr<Truncations>> Truncations::open(int directory, ObjectCalls& calls,
                                                             const DataServers& servers,
                                                             const Grants& grants) {
  std::unique_ptr<Truncations> out(new Truncations(calls, servers, grants));
  bool damaged = false;
  const auto take = [&](base::BytesView record) { damaged = !out->take(record) || damaged; };
  const auto snapshot = [truncations = out.get()] { return truncations->snapshot(); };
  auto journal = Journal::open(directory, "truncations", snapshot, take);
  if (!journal) return base::fail(journal.error());
  if (damaged) return base::fail(EBADMSG);
  out->journal_ = std::move(*journal);
  // What was done at last.
  out->state_.with([&](State& state) {
    std::erase_if(state.entries, [](const auto& entry) { return !entry.second.kept; });
    out->count(state);
  });
  return out;
}

// An entry that is not kept is there for its version alone: an older record may come after that which ends
// it.
bool Truncations::take(base::BytesView record) {
  const std::optional<TruncationLogRecord> known = decode_truncation(record);
  if (!known) return false;
  state_.with([&](State& state) {
    const auto* const one = std::get_if<TruncationRecord>(&*known);
    const auto* const done = std::get_if<TruncationDone>(&*known);
    const RecordVersion version = one != nullptr ? one->version : done->version;
    Entry& entry = state.entries[one != nullptr ? one->object : done->object];
    state.last = std::max(state.last, version);
    if (version < entry.record.version) return;
    entry.kept = one != nullptr;
    if (one != nullptr)
      entry.record = *one;
    else
      entry.record.version = version;
  });
  return true;
}

std::vector<base::Bytes> Truncations::snapshot() const {
  return state_.with([](const State& state) {
    std::vector<base::Bytes> records;
    records.reserve(state.entries.size());
    for (const auto& [object, entry] : state.entries)
      records.push_back(encode(TruncationLogRecord(entry.record)));
    return records;
  });
}

template <class F>
auto Truncations::look(pnfs::ObjectId object, F f) const {
  using T = std::invoke_result_t<F, const Entry&>;
  if (!any()) return T{};
  return state_.with([&](const State& state) {
    const auto found = state.entries.find(object);
    return found == state.entries.end() ? T{} : f(found->second);
  });
}

std::optional<TruncationRecord> Truncations::intended(pnfs::ObjectId object) const {
  return look(object, [](const Entry& entry) -> std::optional<TruncationRecord> {
    if (entry.record.answered) return std::nullopt;
    return entry.record;
  });
}

bool Truncations::is_intended(pnfs::ObjectId object) const {
  return look(object, [](const Entry& entry) { return !entry.record.answered; });
}

std::set<std::uint32_t> Truncations::left_out(pnfs::ObjectId object) const {
  return look(object, [](const Entry& entry) {
    std::set<std::uint32_t> out;
    if (entry.record.answered)
      for (const TruncationRecord::Left& left : entry.record.left) out.insert(left.index);
    return out;
  });
}

std::optional<Truncations::Keeps> Truncations::keeps(pnfs::ObjectId object) const {
  return look(object, [](const Entry& entry) { return entry.keeps; });
}

std::optional<pnfs::KeptHandles> Truncations::handles_kept(pnfs::ObjectId object) const {
  return look(object, [](const Entry& entry) {
    return entry.keeps ? std::optional(entry.keeps->handles) : std::nullopt;
  });
}

vfs::VfsOp<> Truncations::intend(TruncationRecord truncation, std::optional<Keeps> keeps) {
  const pnfs::ObjectId object = truncation.object;
  const base::Bytes record = state_.with([&](State& state) {
    Entry& entry = state.entries[object];
    for (TruncationRecord::Left& left : truncation.left)
      for (const TruncationRecord::Left& known : entry.record.left)
        if (known.index == left.index) left.end = std::min(left.end, known.end);
    truncation.version = ++state.last;
    truncation.answered = false;
    entry = {.record = truncation, .keeps = keeps, .kept = false, .writing = false};
    count(state);
    return encode(TruncationLogRecord(truncation));
  });
  co_await journal_->append(record);
  state_.with([&](State& state) {
    const auto found = state.entries.find(object);
    if (found != state.entries.end() && found->second.record.version == truncation.version)
      found->second.kept = true;
  });
}

void Truncations::confirmed(pnfs::ObjectId object, std::uint64_t number, std::uint32_t index) {
  state_.with([&](State& state) {
    const auto found = state.entries.find(object);
    if (found == state.entries.end() || found->second.record.number != number) return;
    std::erase_if(found->second.record.left, [&](const auto& left) { return left.index == index; });
  });
}

vfs::VfsOp<> Truncations::cut(pnfs::ObjectId object) {
  std::optional<TruncationRecord> record = intended(object);
  if (!record) co_return;
  if (!look(object, [](const Entry& entry) { return entry.kept; })) co_await intend(*record, keeps(object));
  const std::optional<pnfs::KeptHandles> kept = handles_kept(object);
  std::vector<vfs::VfsOp<EachObject<void>>> ops;
  std::vector<const TruncationRecord::Left*> told;
  std::optional<vfs::Error> failed;
  ops.reserve(record->left.size());
  told.reserve(record->left.size());
  for (const TruncationRecord::Left& left : record->left) {
    const std::optional<ServerStanding> standing = servers_.standing(left.server);
    if (standing && standing->barred_itself) continue;
    // It may serve still, and would do so without the truncation.
    if (standing && !standing->in_contact) {
      failed = vfs::Error::delay;
      continue;
    }
    const ObjectTruncation one{
        {{object, left.index}, record->epoch, grants_.last(), kept}, left.end, record->number};
    ops.push_back(calls_.truncate(left.server, {one}));
    told.push_back(&left);
  }
  const auto results = co_await together(std::move(ops));
  for (std::size_t i = 0; i < results.size(); ++i) {
    base::Result<void, vfs::Error> result = base::fail(vfs::Error::io);
    if (!results[i])
      result = base::fail(results[i].error());
    else if (results[i]->size() == 1)
      result = results[i]->front();
    if (result)
      confirmed(object, record->number, told[i]->index);
    else if (!failed)
      failed = result.error();
  }
  if (failed) co_await base::fail(*failed);
}

bool Truncations::is_barred(pnfs::ServerNumber server) const {
  const std::optional<ServerStanding> standing = servers_.standing(server);
  return standing && standing->barred_itself;
}

// A server that is left out has no contact now: its next heartbeat finds that it is, or waits.
vfs::VfsOp<> Truncations::answered(pnfs::ObjectId object) {
  const std::optional<TruncationRecord> before = intended(object);
  if (!before) co_return;
  for (const TruncationRecord::Left& left : before->left)
    if (!is_barred(left.server)) co_await base::fail(vfs::Error::delay);
  co_await put(object, [](TruncationRecord& record) { record.answered = true; });
}

// Nothing of it is true before it is on the medium. Meanwhile nobody else changes what there is of the file,
// but for a truncation that comes after it.
template <class F>
vfs::VfsOp<> Truncations::put(pnfs::ObjectId object, F change) {
  std::vector<base::Bytes> records;
  TruncationRecord after;
  RecordVersion before = 0;
  state_.with([&](State& state) {
    const auto found = state.entries.find(object);
    if (found == state.entries.end()) return;
    found->second.writing = true;
    after = found->second.record;
    before = after.version;
    change(after);
    after.version = ++state.last;
    const bool done = after.answered && after.left.empty();
    records.reserve(state.gone.size() + 1);
    records.push_back(done ? encode(TruncationLogRecord(TruncationDone{after.version, object}))
                           : encode(TruncationLogRecord(after)));
    for (const TruncationDone& gone : std::exchange(state.gone, {}))
      records.push_back(encode(TruncationLogRecord(gone)));
  });
  if (records.empty()) co_return;
  const base::Result<void, vfs::Error> kept = co_await journal_->append(std::move(records)).as_result();
  state_.with([&](State& state) {
    const auto found = state.entries.find(object);
    if (found == state.entries.end() || found->second.record.version != before) return;
    found->second.writing = false;
    if (!kept) return;
    found->second.record = after;
    if (after.answered && after.left.empty()) state.entries.erase(found);
    count(state);
  });
  co_await base::Result<void, vfs::Error>(kept);
}

vfs::VfsOp<> Truncations::deliver(pnfs::ServerNumber server, What what) {
  if (!any()) co_return;
  const std::optional<std::vector<Delivery>> all = deliveries_to(server, what);
  if (!all) co_await base::fail(vfs::Error::delay);
  for (std::span<const Delivery> rest(*all); !rest.empty();) {
    const auto some = rest.first(std::min(rest.size(), ObjectCalls::batch_max));
    rest = rest.subspan(some.size());
    std::vector<ObjectTruncation> objects;
    objects.reserve(some.size());
    for (const Delivery& one : some)
      objects.push_back(
          {{{one.object, one.index}, one.epoch, grants_.last(), one.kept}, one.end, one.number});
    const EachObject<void> results = co_await calls_.truncate(server, std::move(objects));
    if (results.size() != some.size()) co_await base::fail(vfs::Error::delay);
    // What is gone for ever lengthens nothing.
    std::vector<vfs::VfsOp<>> noted;
    noted.reserve(some.size());
    for (std::size_t i = 0; i < some.size(); ++i)
      if (results[i] || results[i].error() == vfs::Error::stale) noted.push_back(delivered(some[i]));
    const auto outcomes = co_await together(std::move(noted));
    const bool done = outcomes.size() == some.size() &&
                      std::ranges::all_of(outcomes, [](const auto& one) { return one.has_value(); });
    if (!done) co_await base::fail(vfs::Error::delay);
  }
}

// Nothing: there is one of which it cannot be told yet.
std::optional<std::vector<Truncations::Delivery>> Truncations::deliveries_to(pnfs::ServerNumber server,
                                                                             What what) const {
  return state_.with([&](const State& state) -> std::optional<std::vector<Delivery>> {
    std::vector<Delivery> out;
    out.reserve(state.entries.size());
    for (const auto& [object, entry] : state.entries) {
      if (what == What::left_out && !entry.record.answered) continue;
      const auto left = std::ranges::find(entry.record.left, server, &TruncationRecord::Left::server);
      if (left == entry.record.left.end()) continue;
      if (!entry.kept || entry.writing) return std::nullopt;
      out.push_back({.object = object,
                     .index = left->index,
                     .end = left->end,
                     .epoch = entry.record.epoch,
                     .kept = entry.keeps ? std::optional(entry.keeps->handles) : std::nullopt,
                     .number = entry.record.number,
                     .answered = entry.record.answered});
    }
    return out;
  });
}

// One that is not answered yet is done again after a crash, and nobody has written meanwhile.
vfs::VfsOp<> Truncations::delivered(const Delivery& one) {
  if (!one.answered) {
    confirmed(one.object, one.number, one.index);
    co_return;
  }
  co_await put(one.object, [&one](TruncationRecord& record) {
    if (record.number == one.number)
      std::erase_if(record.left, [&one](const auto& left) { return left.index == one.index; });
  });
}

void Truncations::forget(pnfs::ObjectId object) {
  if (!any()) return;
  state_.with([&](State& state) {
    const auto found = state.entries.find(object);
    if (found == state.entries.end()) return;
    state.gone.push_back({found->second.record.version, object});
    state.entries.erase(found);
    count(state);
  });
}

std::vector<Truncations::Known> Truncations::unanswered(std::size_t count) const {
  return state_.with([&](const State& state) {
    std::vector<Known> out;
    out.reserve(std::min(count, state.entries.size()));
    for (auto at = state.entries.begin(); at != state.entries.end() && out.size() < count; ++at)
      if (!at->second.record.answered) out.push_back({at->first, at->second.record.file});
    return out;
  });
}

}  // namespace braid::pnfs_mds
