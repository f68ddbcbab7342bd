// What a striped file has besides its bytes: size and times, epoch, and who writes elsewhere.
#include "pnfs_mds/striped_content.h"

#include <algorithm>
#include <limits>
#include <set>
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

StripedContent::StripedContent(StripedSource& source, const pnfs::LayoutRecord& record,
                               const vfs::FileHandle& file, bool fresh)
    : source_(source), object_(record.object), file_(file), placed_(record), holders_(fresh) {
  facts_.epoch = record.epoch;
  source_.parts_.dirty.know(object_, file);
  show();
  // Somebody has written to a file that is unsettled now, and the times may not tell.
  facts_.changed = unsettled();
}

StripedContent::~StripedContent() {
  source_.living_.forget(*this);
  delete calls_.load();
}

SharedLocks::Lock& StripedContent::lock() const { return source_.locks_.of(object_); }

StripedContent::Calls& StripedContent::calls() {
  if (Calls* const made = calls_.load(std::memory_order_acquire)) return *made;
  auto fresh = std::make_unique<Calls>();
  Calls* known = nullptr;
  if (calls_.compare_exchange_strong(known, fresh.get(), std::memory_order_acq_rel)) known = fresh.release();
  return *known;
}

void StripedContent::begin_layout(const std::shared_ptr<vfs::FileSystem>& in) {
  with_facts([&](Facts& facts) {
    if (facts.layouts++ == 0) facts.file_system = in;
  });
}

std::shared_ptr<vfs::FileSystem> StripedContent::end_layout() {
  return with_facts([](Facts& facts) {
    base::check(facts.layouts > 0, "a layout ends once");
    return --facts.layouts == 0 ? std::move(facts.file_system) : nullptr;
  });
}

std::shared_ptr<vfs::FileSystem> StripedContent::file_system() const {
  return with_facts([](const Facts& facts) { return facts.file_system; });
}

vfs::ContentSource& StripedContent::source() const { return source_; }

pnfs::LayoutRecord StripedContent::record() const {
  const pnfs::Epoch epoch = with_facts([](const Facts& facts) { return facts.epoch; });
  return placed_.record(object_, epoch);
}

void StripedContent::show() {
  with_facts([&](Facts& facts) {
    const bool shown = source_.parts_.dirty.unsettled(object_) || truncating();
    facts.unsettled.store(shown, std::memory_order_relaxed);
  });
}

void StripedContent::begin_writing() { ++facts_.writers; }

void StripedContent::end_writing() {
  const std::uint32_t before = facts_.writers--;
  base::check(before > 0, "a layout for writing ends once");
}

// Whoever settles the file from now on has begun after this, or asks once more.
void StripedContent::note_written() {
  with_facts([](Facts& facts) { facts.changed = true; });
  note_behind();
}

void StripedContent::note_behind() {
  source_.parts_.dirty.written(object_, file());
  show();
}

// The first one of those that a writer sends one after the other may be its last: after that the file is
// settled, and whoever looks asks nobody.
void StripedContent::note_commit() {
  if (!unsettled()) return;
  Calls& calls = this->calls();
  with_facts([&](const Facts& /*facts*/) {
    calls.commit_asks = true;
    calls.commits = std::min(calls.commits + 1, 2U);
  });
}

bool StripedContent::truncating() const { return source_.parts_.truncations.is_intended(object_); }

vfs::VfsOp<Turns::Hold> StripedContent::enter(vfs::Stub& stub) {
  for (;;) {
    {
      Turns::Hold hold = co_await calls().resizing.together();
      if (!truncating()) co_return std::move(hold);
    }
    co_await finish(stub);
  }
}

vfs::VfsOp<> StripedContent::finish(vfs::Stub& stub) {
  const Turns::Hold hold = co_await calls().resizing.alone();
  std::optional<TruncationRecord> left = source_.parts_.truncations.intended(object_);
  if (left) co_await carry_out(stub, std::move(*left));
}

vfs::VfsOp<StripedContent::Measured> StripedContent::measure() {
  Calls& calls = this->calls();
  co_await calls.measuring.run([this] { return measure_once(); });
  co_return with_facts([&](const Facts& /*facts*/) { return calls.measured; });
}

vfs::VfsOp<> StripedContent::measure_once() {
  const pnfs::LayoutRecord record = this->record();
  Calls& calls = this->calls();
  const NextWrite next = with_facts([&](const Facts& /*facts*/) {
    if (!std::exchange(calls.commit_asks, false)) calls.commits = 0;
    return calls.commits > 1 ? NextWrite::is_expected : NextWrite::is_announced;
  });
  // What lies behind the file's end on a server that has missed its truncation does not count; there is
  // nothing else of it that nobody has been told.
  const std::set<std::uint32_t> left_out = source_.parts_.truncations.left_out(object_);
  std::vector<vfs::VfsOp<EachObject<ObjectStat>>> ops;
  std::vector<std::uint32_t> asked;
  ops.reserve(record.servers.size());
  asked.reserve(record.servers.size());
  for (std::uint32_t i = 0; i < record.servers.size(); ++i) {
    if (left_out.contains(i)) continue;
    ops.push_back(source_.parts_.calls.stat(record.servers[i], {key(i)}, next));
    asked.push_back(i);
  }
  const auto results = co_await together(std::move(ops));
  Measured now{.space = 0, .size = 0, .to_be_announced = next == NextWrite::is_announced};
  bool changed = false;
  for (std::uint32_t i = 0; i < results.size(); ++i) {
    if (!results[i]) co_await base::fail(error_of_object(results[i].error()));
    if (results[i]->size() != 1) co_await base::fail(vfs::Error::io);
    const base::Result<ObjectStat, vfs::Error>& stat = results[i]->front();
    if (!stat) co_await base::fail(error_of_object(stat.error()));
    const std::optional<std::uint64_t> end = record.striping.file_end(asked[i], stat->end);
    if (!end) co_await base::fail(vfs::Error::io);
    now.size = std::max(now.size, *end);
    now.space = sum(*now.space, stat->space_used);
    changed = changed || stat->changed;
  }
  with_facts([&](Facts& facts) {
    facts.changed = facts.changed || changed;
    calls.measured = now;
  });
}

vfs::VfsOp<std::uint64_t> StripedContent::size_for(vfs::Stub& stub, std::uint64_t end) {
  const vfs::Attributes now = co_await stub.attributes();
  if (end < now.size || !unsettled()) co_return now.size;
  const Measured measured = co_await measure();
  co_return std::max(now.size, measured.size);
}

vfs::VfsOp<> StripedContent::raise(vfs::Stub& stub, std::uint64_t size, bool touch) {
  const Turns::Hold hold = co_await calls().raising.alone();
  const vfs::Attributes now = co_await stub.attributes();
  if (!touch && size <= now.size) co_return;
  vfs::SetAttributes set;
  if (size > now.size) set.size = size;
  set.mtime.how = vfs::SetTime::How::server;
  co_await stub.put_size_and_times(set);
}

vfs::VfsOp<> StripedContent::settle(vfs::Stub& stub) {
  const Turns::Hold hold = co_await enter(stub);
  if (!unsettled()) co_return;
  DirtyLog& dirty = source_.parts_.dirty;
  if (dirty.owes_privileges(object_)) {
    co_await stub.drop_privileges();
    dirty.privileges_gone(object_);
  }
  const RecordVersion version = dirty.version_of(object_);
  const Measured measured = co_await measure();
  // Whoever looks meanwhile finds the times that are set now, or the next ones.
  const bool changed = with_facts([](Facts& facts) { return std::exchange(facts.changed, false); });
  const base::Result<void, vfs::Error> done = co_await raise(stub, measured.size, changed).as_result();
  if (!done && changed) with_facts([](Facts& facts) { facts.changed = true; });
  co_await base::Result<void, vfs::Error>(done);
  if (measured.to_be_announced) dirty.settled(object_, version);
  show();
}

vfs::VfsOp<> StripedContent::resize(vfs::Stub& stub, const vfs::Credentials& who, std::uint64_t size) {
  source_.counters_.called(InBand::resize);
  if (size > pnfs::Striping::offset_max) co_await base::fail(vfs::Error::fbig);
  // Before the turn: whoever returns a layout may write and settle first.
  const LayoutRecall::Pause pause = co_await source_.recall_others(stub.handle(), who.holder);
  const Turns::Hold hold = co_await calls().resizing.alone();
  std::optional<TruncationRecord> left = source_.parts_.truncations.intended(object_);
  if (left) co_await carry_out(stub, std::move(*left));
  const vfs::Attributes now = co_await stub.attributes();
  const EpochHolders holders = this->holders();
  const EpochHolders::Resizing resizing(holders);
  const pnfs::LayoutRecord before = record();
  const auto keeps = holders.kept_by(who.holder, source_.handles_of(stub.handle(), who.holder));
  const bool raises = !holders.only(who.holder, keeps, size);
  // Somebody else may have cut it so just before, and have kept handles that are recalled by now.
  if (!raises && !unsettled() && size == now.size) {
    vfs::SetAttributes set;
    set.mtime.how = vfs::SetTime::How::server;
    co_await stub.put_size_and_times(set);
    co_return;
  }
  if (raises && before.epoch.value() == std::numeric_limits<pnfs::Epoch::rep>::max())
    co_await base::fail(vfs::Error::nospc);
  // One of its own, larger than those before: a grant's does.
  const pnfs::GrantNumber number = co_await source_.parts_.grants.next(1);
  TruncationRecord next{.version = 0,
                        .object = object_,
                        .epoch = pnfs::Epoch(before.epoch.value() + (raises ? 1 : 0)),
                        .number = number.value(),
                        .size = size,
                        .answered = false,
                        .file = file(),
                        .left = {}};
  next.left.reserve(before.servers.size());
  for (std::uint32_t i = 0; i < before.servers.size(); ++i)
    next.left.push_back({i, before.servers[i], before.striping.object_end(i, size)});
  Calls& calls = this->calls();
  with_facts([&](const Facts& /*facts*/) {
    calls.intended = {.number = next.number, .version = source_.parts_.dirty.version_of(object_)};
  });
  const base::Result<void, vfs::Error> intended =
      co_await source_.parts_.truncations.intend(next, keeps).as_result();
  show();
  co_await base::Result<void, vfs::Error>(intended);
  co_await carry_out(stub, std::move(next));
}

// What is granted from now on has the new epoch. New holders are forgotten before anybody can see it: one
// that came in between counts.
vfs::VfsOp<> StripedContent::carry_out(vfs::Stub& stub, TruncationRecord truncation) {
  Truncations& truncations = source_.parts_.truncations;
  // What was said before the intent is cut away. What was said since, by who kept its handles, may have been
  // written behind the cut of a server that did not wait for the others.
  Calls& calls = this->calls();
  const std::optional<RecordVersion> version = with_facts([&](const Facts& /*facts*/) {
    return calls.intended.number == truncation.number ? std::optional(calls.intended.version) : std::nullopt;
  });
  if (truncation.epoch > record().epoch) holders().new_epoch(truncations.keeps(object_));
  const pnfs::Epoch epoch =
      with_facts([&](Facts& facts) { return facts.epoch = std::max(facts.epoch, truncation.epoch); });
  const pnfs::LayoutRecord next = placed_.record(object_, epoch);
  const base::Result<void, vfs::Error> cut = co_await truncations.cut(object_).as_result();
  if (!cut) co_await base::fail(error_of_object(cut.error()));
  vfs::SetAttributes set;
  set.size = truncation.size;
  set.mtime.how = vfs::SetTime::How::server;
  co_await stub.put_size_and_times(set);
  // The size is on the medium with it.
  co_await source_.put_record(stub, next);
  co_await truncations.answered(object_);
  with_facts([&](Facts& facts) {
    calls.measured = {.space = std::nullopt, .size = truncation.size};
    facts.changed = false;
  });
  if (version) source_.parts_.dirty.settled(object_, *version);
  show();
}

void StripedContent::adjust(vfs::Attributes& attributes) const {
  if (attributes.size == 0) {
    attributes.space = 0;
    return;
  }
  const Calls* const made = calls_.load(std::memory_order_acquire);
  const Measured measured =
      made == nullptr ? Measured() : with_facts([&](const Facts& /*facts*/) { return made->measured; });
  std::uint64_t space = attributes.size;
  if (measured.space) {
    const std::uint64_t since = attributes.size > measured.size ? attributes.size - measured.size : 0;
    space = sum(*measured.space, since);
  }
  attributes.space = std::max(space, space_min);
}

}  // namespace braid::pnfs_mds
