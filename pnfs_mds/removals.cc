#include "pnfs_mds/removals.h"

#include <algorithm>
#include <utility>

#include "pnfs_mds/together.h"

namespace braid::pnfs_mds {
namespace {

// Files that are removed in one round.
constexpr std::size_t round_files_max = 4096;

// What one server is to remove, and the files that it is of.
struct Part {
  std::vector<ObjectRemoval> objects;
  std::vector<std::size_t> files;
};

}  // namespace

base::Result<std::unique_ptr<Removals>> Removals::open(int directory, ObjectCalls& calls,
                                                       const Grants& grants) {
  std::unique_ptr<Removals> out(new Removals(calls, grants));
  bool damaged = false;
  const auto take = [&](base::BytesView record) { damaged = !out->take(record) || damaged; };
  const auto snapshot = [removals = out.get()] { return removals->snapshot(); };
  auto journal = Journal::open(directory, "removals", snapshot, take);
  if (!journal) return base::fail(journal.error());
  if (damaged) return base::fail(EBADMSG);
  out->journal_ = std::move(*journal);
  return out;
}

bool Removals::take(base::BytesView record) {
  const std::optional<RemovalRecord> known = decode_removal(record);
  if (!known) return false;
  state_.with([&](State& state) {
    if (const auto* const intent = std::get_if<RemovalIntent>(&*known))
      state.intents.insert_or_assign(intent->object, Intended{*intent, true, true});
    else
      state.intents.erase(std::get<RemovalDone>(*known).object);
  });
  return true;
}

std::vector<base::Bytes> Removals::snapshot() const {
  return state_.with([](const State& state) {
    std::vector<base::Bytes> records;
    records.reserve(state.intents.size());
    for (const auto& [object, intended] : state.intents)
      records.push_back(encode(RemovalRecord(intended.intent)));
    return records;
  });
}

vfs::VfsOp<> Removals::intend(RemovalIntent intent) {
  const bool kept = state_.with([&](State& state) {
    Intended& known = state.intents[intent.object];
    known.intent = intent;
    known.earlier = false;
    return known.kept;
  });
  if (kept) co_return;
  const base::Result<void, vfs::Error> done =
      co_await journal_->append(encode(RemovalRecord(intent))).as_result();
  state_.with([&](State& state) {
    const auto found = state.intents.find(intent.object);
    if (found == state.intents.end()) return;
    if (done)
      found->second.kept = true;
    else if (!found->second.kept)
      state.intents.erase(found);
  });
  co_await base::Result<void, vfs::Error>(done);
}

void Removals::gone(RemovalIntent intent) {
  state_.with([&](State& state) { state.gone.insert_or_assign(intent.object, std::move(intent)); });
  if (wake_) wake_();
}

bool Removals::is_gone(pnfs::ObjectId object) const {
  return state_.with([&](const State& state) { return state.gone.contains(object); });
}

std::size_t Removals::backlog() const {
  return state_.with([](const State& state) { return state.gone.size(); });
}

std::size_t Removals::earlier() const {
  return state_.with([](const State& state) {
    return static_cast<std::size_t>(
        std::ranges::count_if(state.intents, [](const auto& entry) { return entry.second.earlier; }));
  });
}

vfs::VfsOp<> Removals::work() {
  if (backlog() == 0) co_return;
  co_await rounds_.run([this] { return work_once(); });
}

vfs::VfsOp<> Removals::work_once() {
  std::vector<RemovalIntent> batch;
  state_.with([&](const State& state) {
    batch.reserve(std::min(state.gone.size(), round_files_max));
    for (auto at = state.gone.begin(); at != state.gone.end() && batch.size() < round_files_max; ++at)
      batch.push_back(at->second);
  });
  if (batch.empty()) co_return;
  std::vector<pnfs::ObjectId> done = co_await remove(std::move(batch));
  co_await forget(std::move(done));
}

vfs::VfsOp<std::vector<pnfs::ObjectId>> Removals::remove(std::vector<RemovalIntent> batch) {
  const pnfs::GrantNumber last = grants_.last();
  std::map<pnfs::ServerNumber, std::vector<Part>> parts;
  for (std::size_t file = 0; file < batch.size(); ++file) {
    for (std::uint32_t index = 0; index < batch[file].servers.size(); ++index) {
      std::vector<Part>& of = parts[batch[file].servers[index]];
      if (of.empty() || of.back().objects.size() == ObjectCalls::batch_max) of.emplace_back();
      of.back().objects.push_back({{batch[file].object, index}, last});
      of.back().files.push_back(file);
    }
  }
  std::vector<vfs::VfsOp<EachObject<void>>> ops;
  std::vector<const Part*> asked;
  for (const auto& [server, of] : parts) {
    ops.reserve(ops.size() + of.size());
    asked.reserve(asked.size() + of.size());
    for (const Part& part : of) {
      ops.push_back(calls_.remove(server, part.objects));
      asked.push_back(&part);
    }
  }
  const auto results = co_await together(std::move(ops));
  std::vector<bool> left(batch.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Part& part = *asked[i];
    for (std::size_t object = 0; object < part.files.size(); ++object) {
      const bool confirmed = results[i] && object < results[i]->size() &&
                             ((*results[i])[object] || (*results[i])[object].error() == vfs::Error::stale);
      if (!confirmed) left[part.files[object]] = true;
    }
  }
  std::vector<pnfs::ObjectId> done;
  done.reserve(batch.size());
  for (std::size_t file = 0; file < batch.size(); ++file)
    if (!left[file]) done.push_back(batch[file].object);
  co_return std::move(done);
}

// An intent that a crash leaves in the log is looked at once more, and found to be done.
vfs::VfsOp<> Removals::forget(std::vector<pnfs::ObjectId> objects) {
  std::vector<base::Bytes> records;
  records.reserve(objects.size());
  state_.with([&](State& state) {
    for (const pnfs::ObjectId object : objects) {
      state.gone.erase(object);
      if (state.intents.erase(object) > 0) records.push_back(encode(RemovalDone{object}));
    }
  });
  if (records.empty()) co_return;
  co_await journal_->append(std::move(records));
}

vfs::VfsOp<> Removals::look_at_earlier(Look look) {
  std::vector<RemovalIntent> unknown;
  state_.with([&](const State& state) {
    unknown.reserve(state.intents.size());
    for (const auto& [object, intended] : state.intents)
      if (intended.earlier) unknown.push_back(intended.intent);
  });
  for (const RemovalIntent& intent : unknown) {
    const base::Result<Fate, vfs::Error> fate = co_await look(intent.file).as_result();
    if (!fate || *fate == Fate::unknown) continue;
    // Whoever intends to remove it now knows more.
    const bool ours = state_.with([&](State& state) {
      const auto found = state.intents.find(intent.object);
      if (found == state.intents.end() || !found->second.earlier) return false;
      found->second.earlier = false;
      return true;
    });
    if (ours && *fate == Fate::gone) gone(intent);
  }
}

}  // namespace braid::pnfs_mds
