#include "pnfs_mds/fake/objects.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "io/reactor.h"

namespace braid::pnfs_mds::fake {

void Objects::set_silent(pnfs::ServerNumber server, bool silent) {
  with(server, [&](Server& at) { at.silent = silent; });
}
void Objects::set_slow(pnfs::ServerNumber server, base::Duration time) {
  with(server, [&](Server& at) { at.time = time; });
}
void Objects::set_running(pnfs::ServerNumber server, bool running) {
  with(server, [&](Server& at) { at.running = running; });
}
void Objects::set_error(pnfs::ServerNumber server, std::optional<vfs::Error> error) {
  with(server, [&](Server& at) { at.error = error; });
}
void Objects::set_short_write(pnfs::ServerNumber server, std::optional<std::uint32_t> bytes) {
  with(server, [&](Server& at) { at.short_write = bytes; });
}

void Objects::restart(pnfs::ServerNumber server) {
  with(server, [&](Server& at) {
    ++at.starts;
    at.cut.clear();
    for (auto& [key, object] : at.objects) {
      object.bytes = object.stable;
      object.changed = true;
    }
  });
}

vfs::Verifier Objects::verifier_of(pnfs::ServerNumber number, const Server& server) {
  vfs::Verifier out;
  out.bytes[0] = std::byte{server.starts};
  out.bytes[1] = std::byte{static_cast<std::uint8_t>(number.value())};
  return out;
}

vfs::Verifier Objects::verifier(pnfs::ServerNumber server) const {
  return look(server, [&](const Server& at) { return verifier_of(server, at); });
}

void Objects::put_bytes(Object& object, std::uint64_t offset, std::string_view bytes) {
  if (object.bytes.size() < offset + bytes.size()) object.bytes.resize(offset + bytes.size());
  std::ranges::copy(bytes, object.bytes.begin() + static_cast<std::ptrdiff_t>(offset));
  object.changed = true;
}

void Objects::put(pnfs::ServerNumber server, ObjectKey of, std::uint64_t offset, std::string_view bytes) {
  with(server, [&](Server& at) { put_bytes(at.objects[of], offset, bytes); });
}

std::optional<std::string> Objects::bytes(pnfs::ServerNumber server, ObjectKey of) const {
  return look(server, [&](const Server& at) -> std::optional<std::string> {
    const auto found = at.objects.find(of);
    if (found == at.objects.end()) return std::nullopt;
    return found->second.bytes;
  });
}

std::optional<std::uint32_t> Objects::owner(pnfs::ServerNumber server, ObjectKey of) const {
  return look(server, [&](const Server& at) -> std::optional<std::uint32_t> {
    const auto found = at.objects.find(of);
    if (found == at.objects.end()) return std::nullopt;
    return found->second.uid;
  });
}

std::size_t Objects::count() const {
  return state_.with([](const State& state) {
    std::size_t count = 0;
    for (const auto& [number, server] : state.servers) count += server.objects.size();
    return count;
  });
}

pnfs::Epoch Objects::epoch(pnfs::ServerNumber server, ObjectKey of) const {
  return look(server, [&](const Server& at) {
    const auto found = at.epochs.find(of);
    return found == at.epochs.end() ? pnfs::Epoch() : found->second.epoch;
  });
}

std::optional<pnfs::KeptHandles> Objects::kept(pnfs::ServerNumber server, ObjectKey of) const {
  return look(server, [&](const Server& at) {
    const auto found = at.epochs.find(of);
    return found == at.epochs.end() ? std::nullopt : found->second.kept;
  });
}

void Objects::add_fence(Server& server, const EpochFence& fence) {
  EpochFence& known = server.epochs.try_emplace(fence.of, EpochFence{}).first->second;
  if (fence.epoch > known.epoch) known = fence;
}

bool Objects::removed(pnfs::ServerNumber server, ObjectKey of) const {
  return look(server, [&](const Server& at) { return at.removed.contains(of); });
}

std::vector<Fence> Objects::fences(pnfs::ServerNumber server) const {
  return look(server, [](const Server& at) { return at.fences; });
}

std::size_t Objects::calls(std::string_view operation) const {
  return state_.with([&](const State& state) {
    const auto found = state.calls.find(operation);
    return found == state.calls.end() ? std::size_t{0} : found->second;
  });
}

std::size_t Objects::calls() const {
  return state_.with([](const State& state) {
    std::size_t count = 0;
    for (const auto& [operation, times] : state.calls) count += times;
    return count;
  });
}

void Objects::forget_calls() {
  state_.with([](State& state) { state.calls.clear(); });
}

std::size_t Objects::expecting() const {
  return state_.with([](const State& state) { return state.expecting; });
}

vfs::VfsOp<> Objects::before(std::string_view operation, pnfs::ServerNumber server) {
  struct Fate {
    base::Duration time;
    std::optional<vfs::Error> error;
  };
  const Fate fate = state_.with([&](State& state) -> Fate {
    ++state.calls[std::string(operation)];
    const Server& at = state.servers[server];
    if (at.silent) return {patience, vfs::Error::delay};
    return {at.time, at.error};
  });
  io::Reactor* const reactor = io::Reactor::current();
  if (fate.time > base::Duration{} && reactor != nullptr)
    (void)co_await reactor->sleep(fate.time).as_result();
  if (fate.error) co_await base::fail(*fate.error);
  if (hook_) hook_(operation, server);
}

vfs::VfsOp<ObjectRead> Objects::read(pnfs::ServerNumber server, ObjectKey of, std::uint64_t offset,
                                     std::uint32_t count) {
  co_await before("read", server);
  const std::string all = bytes(server, of).value_or("");
  ObjectRead out;
  out.end = all.size();
  io::SlabCursor cursor(slabs_);
  const std::uint64_t end = std::min<std::uint64_t>(all.size(), offset + count);
  for (std::uint64_t at = offset; at < end;) {
    const std::size_t piece = std::min<std::uint64_t>(end - at, io::small_slab_bytes);
    auto range = cursor.carve(piece);
    if (!range) co_await base::fail(vfs::Error::delay);
    std::memcpy(range->writable().data(), all.data() + at, piece);
    out.data.append(std::move(*range));
    at += piece;
  }
  co_return std::move(out);
}

vfs::VfsOp<ObjectWritten> Objects::write(pnfs::ServerNumber server, ObjectWrite what, io::Payload data) {
  co_await before("write", server);
  std::string text(data.size(), '\0');
  data.in_memory().value().copy_to(0, std::as_writable_bytes(std::span(text)));
  const auto written = with(server, [&](Server& at) -> base::Result<ObjectWritten, vfs::Error> {
    if (at.removed.contains(what.of)) return base::fail(vfs::Error::stale);
    if (at.short_write) text.resize(std::min<std::size_t>(text.size(), *at.short_write));
    if (!at.objects.contains(what.of)) at.objects[what.of].uid = what.uid;
    Object& object = at.objects[what.of];
    put_bytes(object, what.offset, text);
    if (what.stability != vfs::Stability::unstable) object.stable = object.bytes;
    return ObjectWritten{static_cast<std::uint32_t>(text.size()), what.stability, verifier_of(server, at)};
  });
  co_return co_await base::Result<ObjectWritten, vfs::Error>(written);
}

vfs::VfsOp<vfs::Verifier> Objects::commit(pnfs::ServerNumber server, ObjectKey of) {
  co_await before("commit", server);
  co_return with(server, [&](Server& at) {
    const auto found = at.objects.find(of);
    if (found != at.objects.end()) found->second.stable = found->second.bytes;
    return verifier_of(server, at);
  });
}

vfs::VfsOp<EachObject<ObjectStat>> Objects::stat(pnfs::ServerNumber server, std::vector<ObjectKey> of,
                                                 NextWrite next) {
  co_await before("stat", server);
  if (next == NextWrite::is_expected) state_.with([](State& state) { ++state.expecting; });
  co_return with(server, [&](Server& at) {
    EachObject<ObjectStat> out;
    out.reserve(of.size());
    for (const ObjectKey& key : of) {
      const auto found = at.objects.find(key);
      if (found == at.objects.end()) {
        out.emplace_back(ObjectStat{});
        continue;
      }
      Object& object = found->second;
      out.emplace_back(ObjectStat{object.bytes.size(), object.bytes.size(), object.changed});
      object.changed = false;
    }
    return out;
  });
}

vfs::VfsOp<EachObject<void>> Objects::truncate(pnfs::ServerNumber server,
                                               std::vector<ObjectTruncation> objects) {
  co_await before("truncate", server);
  co_return with(server, [&](Server& at) {
    EachObject<void> out(objects.size());
    for (const ObjectTruncation& truncation : objects) {
      add_fence(at, truncation.fence);
      std::uint64_t& cut = at.cut[truncation.fence.of];
      if (truncation.number != 0 && cut >= truncation.number) continue;
      cut = truncation.number;
      const auto found = at.objects.find(truncation.fence.of);
      if (found == at.objects.end()) continue;
      found->second.bytes.resize(truncation.end);
      found->second.stable = found->second.bytes;
    }
    return out;
  });
}

vfs::VfsOp<EachObject<void>> Objects::remove(pnfs::ServerNumber server, std::vector<ObjectRemoval> objects) {
  co_await before("remove", server);
  co_return with(server, [&](Server& at) {
    EachObject<void> out(objects.size());
    for (const ObjectRemoval& removal : objects) {
      at.objects.erase(removal.of);
      at.removed.insert(removal.of);
    }
    return out;
  });
}

ObjectAllocation Objects::last_allocation() const {
  return state_.with([](const State& state) { return state.last_allocation; });
}

std::uint64_t Objects::allocated(pnfs::ServerNumber server, ObjectKey of) const {
  return look(server, [&](const Server& at) -> std::uint64_t {
    const auto found = at.objects.find(of);
    return found == at.objects.end() ? 0 : found->second.allocated;
  });
}

void Objects::set_seek_runs(int runs) {
  state_.with([&](State& state) { state.seek_runs = runs; });
}

// Zeros are holes, and all else is data.
vfs::VfsOp<ObjectSought> Objects::seek(pnfs::ServerNumber server, ObjectSearch what) {
  co_await before("seek", server);
  const std::string all = bytes(server, what.of).value_or("");
  const int runs_max = state_.with([](const State& state) { return state.seek_runs; });
  int runs = 0;
  for (std::uint64_t at = what.offset; at < what.end; ++at) {
    const auto own = what.striping.own_from(what.of.index, at);
    if (!own || *own >= what.end) break;
    if (*own != at || at == what.offset) {
      if (runs++ == runs_max) co_return ObjectSought{.found = false, .offset = *own};
      at = *own;
    }
    const bool data = at < all.size() && all[at] != '\0';
    if (data == (what.to == vfs::SeekTo::data)) co_return ObjectSought{.found = true, .offset = at};
    if (at >= all.size()) break;
  }
  co_return ObjectSought{.found = false, .offset = what.end};
}

vfs::VfsOp<> Objects::allocate(pnfs::ServerNumber server, ObjectAllocation what) {
  state_.with([&](State& state) { state.last_allocation = what; });
  co_await before("allocate", server);
  const auto done = with(server, [&](Server& at) -> base::Result<void, vfs::Error> {
    if (at.removed.contains(what.of)) return base::fail(vfs::Error::stale);
    const auto cut = at.cut.find(what.of);
    if (cut != at.cut.end() && cut->second > what.number) return base::fail(vfs::Error::delay);
    if (!at.objects.contains(what.of)) at.objects[what.of].uid = what.owner.uid;
    Object& object = at.objects[what.of];
    for (const pnfs::ObjectRange& range : what.ranges) {
      object.bytes.resize(std::max<std::size_t>(object.bytes.size(), range.offset + range.length));
      object.allocated += range.length;
    }
    object.stable = object.bytes;
    object.changed = true;
    return {};
  });
  co_await base::Result<void, vfs::Error>(done);
}

vfs::VfsOp<> Objects::deallocate(pnfs::ServerNumber server, pnfs::ObjectRange range, pnfs::ObjectId object) {
  co_await before("deallocate", server);
  with(server, [&](Server& at) {
    const auto found = at.objects.find({object, range.index});
    if (found == at.objects.end()) return;
    std::string& bytes = found->second.bytes;
    const std::size_t from = std::min<std::uint64_t>(range.offset, bytes.size());
    const std::size_t to = std::min<std::uint64_t>(range.offset + range.length, bytes.size());
    std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(from),
              bytes.begin() + static_cast<std::ptrdiff_t>(to), '\0');
    found->second.stable = bytes;
    found->second.changed = true;
  });
}

vfs::VfsOp<> Objects::fence(pnfs::ServerNumber server, std::vector<Fence> fences) {
  co_await before("fence", server);
  with(server, [&](Server& at) { at.fences.insert(at.fences.end(), fences.begin(), fences.end()); });
}

vfs::VfsOp<> Objects::outlast(pnfs::ServerNumber server) {
  while (look(server, [](const Server& at) { return at.running; }))
    (void)co_await io::Reactor::current()->sleep(std::chrono::milliseconds(1)).as_result();
}

}  // namespace braid::pnfs_mds::fake
