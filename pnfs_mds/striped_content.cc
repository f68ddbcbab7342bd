// What a striped file has besides its bytes: size and times, epoch, and who writes elsewhere.
#include "pnfs_mds/striped_content.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/arith.h"
#include "base/assert.h"
#include "pnfs_mds/striped_source.h"
#include "pnfs_mds/together.h"

namespace braid::pnfs_mds {
namespace {

// What a file that is not empty takes at least, for who looks for holes by it.
constexpr std::uint64_t space_min = 512;

std::uint64_t sum(std::uint64_t a, std::uint64_t b) {
  return base::add(a, b).value_or(std::numeric_limits<std::uint64_t>::max());
}

}  // namespace

StripedContent::StripedContent(StripedSource& source, const pnfs::LayoutRecord& record, bool settled)
    : source_(source), object_(record.object), record_(std::in_place, record), unsettled_(!settled) {
  writers_.with([&](Writers& writers) { writers.behind = !settled; });
}

StripedContent::~StripedContent() { source_.forget(object_); }

vfs::ContentSource& StripedContent::source() const { return source_; }

pnfs::LayoutRecord StripedContent::record() const {
  return record_.with([](const pnfs::LayoutRecord& record) { return record; });
}

void StripedContent::show(const Writers& writers) {
  unsettled_.store(writers.count > 0 || writers.behind, std::memory_order_relaxed);
}

void StripedContent::begin_writing() {
  writers_.with([&](Writers& writers) {
    ++writers.count;
    ++writers.begun;
    writers.behind = true;
    source_.settled_.remove(object_);
    show(writers);
  });
}

void StripedContent::end_writing() {
  writers_.with([&](Writers& writers) {
    base::check(writers.count > 0, "a layout for writing ends once");
    --writers.count;
    show(writers);
  });
}

void StripedContent::note_behind() {
  writers_.with([&](Writers& writers) {
    ++writers.begun;
    writers.behind = true;
    source_.settled_.remove(object_);
    show(writers);
  });
}

StripedContent::Since StripedContent::since_now() const {
  return writers_.with([](const Writers& writers) { return Since{writers.begun, writers.count == 0}; });
}

void StripedContent::note_settled(Since since) {
  writers_.with([&](Writers& writers) {
    if (!since.alone || writers.begun != since.begun) return;
    writers.behind = false;
    source_.settled_.add(object_);
    show(writers);
  });
}

vfs::VfsOp<StripedContent::Measured> StripedContent::measure() {
  co_await measuring_.run([this] { return measure_once(); });
  co_return measured_.with([](const Measured& measured) { return measured; });
}

vfs::VfsOp<> StripedContent::measure_once() {
  const pnfs::LayoutRecord record = this->record();
  std::vector<vfs::VfsOp<EachObject<ObjectStat>>> ops;
  ops.reserve(record.servers.size());
  for (std::uint32_t i = 0; i < record.servers.size(); ++i)
    ops.push_back(source_.parts_.calls.stat(record.servers[i], {key(i)}));
  const auto results = co_await together(std::move(ops));
  Measured now{.space = 0, .size = 0, .changed = false};
  for (std::uint32_t i = 0; i < results.size(); ++i) {
    if (!results[i]) co_await base::fail(error_of_object(results[i].error()));
    if (results[i]->size() != 1) co_await base::fail(vfs::Error::io);
    const base::Result<ObjectStat, vfs::Error>& stat = results[i]->front();
    if (!stat) co_await base::fail(error_of_object(stat.error()));
    const std::optional<std::uint64_t> end = record.striping.file_end(i, stat->end);
    if (!end) co_await base::fail(vfs::Error::io);
    now.size = std::max(now.size, *end);
    now.space = sum(*now.space, stat->space_used);
    now.changed = now.changed || stat->changed;
  }
  measured_.with([&](Measured& measured) {
    now.changed = now.changed || measured.changed;
    measured = now;
  });
}

vfs::VfsOp<std::uint64_t> StripedContent::size_for(vfs::Stub& stub, std::uint64_t end) {
  const vfs::Attributes now = co_await stub.attributes();
  if (end < now.size || !unsettled()) co_return now.size;
  const Measured measured = co_await measure();
  co_return std::max(now.size, measured.size);
}

vfs::VfsOp<> StripedContent::raise(vfs::Stub& stub, std::uint64_t size, bool touch) {
  const Turns::Hold hold = co_await raising_.alone();
  const vfs::Attributes now = co_await stub.attributes();
  if (!touch && size <= now.size) co_return;
  vfs::SetAttributes set;
  if (size > now.size) set.size = size;
  set.mtime.how = vfs::SetTime::How::server;
  co_await stub.put_size_and_times(set);
}

vfs::VfsOp<> StripedContent::settle(vfs::Stub& stub) {
  const Turns::Hold hold = co_await resizing_.together();
  const Since since = since_now();
  const Measured measured = co_await measure();
  // Whoever looks meanwhile finds the times that are set now, or the next ones.
  const bool changed =
      measured_.with([](Measured& current) { return std::exchange(current.changed, false); });
  const base::Result<void, vfs::Error> done =
      co_await raise(stub, measured.size, changed || measured.changed).as_result();
  if (!done && changed) measured_.with([](Measured& current) { current.changed = true; });
  co_await base::Result<void, vfs::Error>(done);
  note_settled(since);
}

vfs::VfsOp<> StripedContent::resize(vfs::Stub& stub, const vfs::Credentials& /*who*/, std::uint64_t size) {
  source_.counters_.called(InBand::resize);
  if (size > pnfs::Striping::offset_max) co_await base::fail(vfs::Error::fbig);
  const Turns::Hold hold = co_await resizing_.alone();
  const Since since = since_now();
  const vfs::Attributes now = co_await stub.attributes();
  vfs::SetAttributes set;
  set.mtime.how = vfs::SetTime::How::server;
  if (unsettled() || size != now.size) {
    pnfs::LayoutRecord next = record();
    if (next.epoch.value() == std::numeric_limits<pnfs::Epoch::rep>::max())
      co_await base::fail(vfs::Error::nospc);
    next.epoch = pnfs::Epoch(next.epoch.value() + 1);
    co_await source_.put_record(stub, next);
    record_.with([&](pnfs::LayoutRecord& record) { record = next; });
    // What is granted from now on has the new epoch.
    const base::Result<void, vfs::Error> cut_off =
        co_await cut(next, size, source_.parts_.grants.last()).as_result();
    // Some of them may have been cut.
    if (!cut_off) note_behind();
    co_await base::Result<void, vfs::Error>(cut_off);
    set.size = size;
  }
  const base::Result<void, vfs::Error> put = co_await stub.put_size_and_times(set).as_result();
  if (!put) note_behind();
  co_await base::Result<void, vfs::Error>(put);
  measured_.with([&](Measured& measured) {
    if (set.size) measured = {.space = std::nullopt, .size = size, .changed = false};
  });
  if (set.size) note_settled(since);
}

vfs::VfsOp<> StripedContent::cut(pnfs::LayoutRecord record, std::uint64_t size, pnfs::GrantNumber last) {
  std::vector<vfs::VfsOp<EachObject<void>>> ops;
  ops.reserve(record.servers.size());
  for (std::uint32_t i = 0; i < record.servers.size(); ++i) {
    const ObjectTruncation truncation{{key(i), record.epoch, last}, record.striping.object_end(i, size)};
    ops.push_back(source_.parts_.calls.truncate(record.servers[i], {truncation}));
  }
  const auto results = co_await together(std::move(ops));
  for (const auto& result : results) {
    if (!result) co_await base::fail(error_of_object(result.error()));
    if (result->size() != 1) co_await base::fail(vfs::Error::io);
    if (!result->front()) co_await base::fail(error_of_object(result->front().error()));
  }
}

void StripedContent::adjust(vfs::Attributes& attributes) const {
  if (attributes.size == 0) {
    attributes.space = 0;
    return;
  }
  const Measured measured = measured_.with([](const Measured& current) { return current; });
  std::uint64_t space = attributes.size;
  if (measured.space) {
    const std::uint64_t since = attributes.size > measured.size ? attributes.size - measured.size : 0;
    space = sum(*measured.space, since);
  }
  attributes.space = std::max(space, space_min);
}

}  // namespace braid::pnfs_mds
