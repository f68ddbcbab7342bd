// Power cuts at every step of sealing, writing, cutting and unsealing. What was acknowledged is there.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "store/content/sealed_inode.h"
#include "store/maintenance/collector.h"
#include "store/sealing/sealer.h"
#include "store/sealing/unseal.h"
#include "tests/unit/store/crash_disk.h"
#include "tests/unit/store/crash_scripts.h"
#include "tests/unit/store/crash_steps.h"

namespace braid::store::test {
namespace {

// A call that has no reason to fail.
struct CallFailed {
  std::string what;
};
template <class T>
void must(const T& result, const char* what) {
  if (!result) throw CallFailed{std::string(what) + " failed"};
}

io::SlabPool& slabs() {
  static io::SlabPool pool({.bytes_max = 16 * base::MiB, .huge_pages = false});
  return pool;
}

class World {
 public:
  explicit World(std::uint32_t seed, Plant plant = Plant::none) : random_(seed), plant_(plant) { start(); }

  // False: the power went.
  bool run(const Step& step) {
    try {
      carry_out(step);
      return true;
    } catch (const PowerCut&) {
      return false;
    } catch (const CallFailed& failed) {
      wrong_ = failed.what;
      return false;
    }
  }
  // That a call failed; empty: none did.
  [[nodiscard]] const std::string& wrong() const { return wrong_; }
  CrashDisk& disk() { return disk_; }
  std::mt19937& random() { return random_; }
  std::uint64_t removed = 0, rewritten = 0;  // containers

  // Empty: what is there may be there. The power may go meanwhile, too.
  std::string crash(Left of_store, Left of_exported) {
    if (!wrong_.empty()) return wrong_;
    inode_.reset();
    windows_.reset();
    store_.reset();
    disk_.crash(of_store, of_exported, random_);
    // Nothing but duplicates depends on the index.
    index_is_broken_ = random_() % 2 == 0;
    try {
      start();
    } catch (const PowerCut&) {
      return crash(Left::anything, Left::anything);
    } catch (const CallFailed& failed) {
      return failed.what;
    }
    return check();
  }

  // What the file has now, which is all there is to know of it after a crash.
  std::string check() {
    const std::unique_ptr<File> stub = disk_.exported();
    base::Bytes bytes(stub->status()->size);
    if (const auto got = inode_->read(*stub, 0, bytes); !got) return "it cannot be read";
    const std::string found(base::text_of(bytes));
    // Of a write that makes it longer a part may be there.
    const auto sizes = std::ranges::minmax(states_, {}, &std::string::size);
    if (found.size() < sizes.min.size() || found.size() > sizes.max.size())
      return "its size is none that it had: " + std::to_string(found.size());
    for (std::size_t i = 0; i < found.size() && !states_.back().starts_with(found); ++i) {
      bool fits = false;
      for (const std::string& state : states_)
        fits = fits || found[i] == (i < state.size() ? state[i] : '\0');
      if (!fits) return "byte " + std::to_string(i) + " is none that it had since the last sync";
    }
    states_ = {found};
    return "";
  }

 private:
  // Everything is a stream, however short it is.
  static WindowOptions window_options() {
    return {.bytes_max = base::MiB,
            .patience = std::chrono::hours(1),
            .begins_with = 1,
            .run_bytes = 8 * KiB,
            .seal_bytes_min = KiB,
            .profile = hashing::Profile::block};
  }
  // As before whatever does not know of it.
  void close_window(File& stub, const SealedInode::Fill& fill) {
    const auto around = [](const SealedInode::Change& change) { return change(); };
    must(inode_->close_window(stub, 1, fill, around), "closing the window");
  }
  void start() {
    disk_.containers_are_not_synced = plant_ == Plant::containers_not_synced;
    disk_.forwarding_is_lost = plant_ == Plant::forwarding_lost;
    store_ = opened();
    windows_ = std::make_unique<Windows>(*store_, window_options());
    bool cut = false;
    must(store_->registry()->walk(
             [&](const RegistryEntry& entry) { cut = cut || entry.kind == RegistryKind::cut; }),
         "reading the registry");
    if (cut) repair();
    load();
  }
  std::unique_ptr<Store> opened() {
    auto out = Store::open(disk_.medium(), std::make_unique<KnownIndex>(known_, index_is_broken_),
                           {.what = OpenFor::creating, .container_bytes = 20 << 10});
    must(out, "opening the store");
    return std::move(*out);
  }
  // As braid check --repair makes it.
  void repair() {
    const std::unique_ptr<Medium> medium = disk_.medium();
    const std::unique_ptr<File> stub = disk_.exported();
    must(Registry::replace(*medium, store_->format().store,
                           [&](const Registry::Add& add) {
                             if (!*stub->attribute(record_name)) return base::Result<void>();
                             return add({RegistryKind::sealed, 1, 0, *stub->handle()});
                           }),
         "making the registry anew");
    windows_.reset();
    store_.reset();
    store_ = opened();
    windows_ = std::make_unique<Windows>(*store_, window_options());
  }
  void load() {
    const std::unique_ptr<File> stub = disk_.exported();
    inode_ = std::make_unique<SealedInode>(*store_, *stub->handle(), windows_.get());
    must(inode_->load(*stub->attribute(record_name)), "loading the recipe");
  }
  // As the call leaves it, before it begins: a crash may leave any part of it.
  std::string& next_state() { return states_.emplace_back(states_.back()); }
  void synced() { states_ = {states_.back()}; }

  void carry_out(const Step& step) {
    const std::unique_ptr<File> stub = disk_.exported();
    const auto fill = [&](std::uint64_t offset, base::BytesView bytes) { return stub->write(offset, bytes); };
    switch (step.what) {
      case What::write:
      case What::stream:
      case What::stable_write:
        write(*stub, step, fill);
        break;
      case What::commit:
        if (plant_ != Plant::window_not_committed) close_window(*stub, fill);
        must(stub->sync(), "COMMIT");
        synced();
        break;
      case What::resize:
        next_state().resize(step.offset);
        if (plant_ == Plant::grown_behind_its_back || plant_ == Plant::window_forgotten_on_cut) {
          must(stub->resize(step.offset), "a size");
        } else {
          must(inode_->resize(*stub, step.offset, fill, [&] { return stub->resize(step.offset); }),
               "SETATTR");
        }
        break;
      case What::punch:
        punch(*stub, step, fill);
        break;
      case What::allocate: {
        std::string& state = next_state();
        state.resize(std::max<std::size_t>(state.size(), step.offset + step.length));
        const auto grow = [&]() -> base::Result<void> {
          if (stub->status()->size >= step.offset + step.length) return {};
          return stub->resize(step.offset + step.length);
        };
        must(inode_->allocate(*stub, step.offset, step.length, fill, grow), "ALLOCATE");
        break;
      }
      case What::seal:
        close_window(*stub, fill);
        seal(*stub);
        load();
        break;
      case What::prepare: {
        close_window(*stub, fill);
        SealDraft draft = prepared(*stub);
        break;
      }
      case What::live_seal:
        close_window(*stub, fill);
        live_seal(*stub, step, fill);
        break;
      case What::range_seal:
        close_window(*stub, fill);
        range_seal(*stub, step, fill);
        break;
      default:
        carry_out_on_store(*stub, step, fill);
    }
  }
  void carry_out_on_store(File& stub, const Step& step, const SealedInode::Fill& fill) {
    switch (step.what) {
      case What::unseal: {
        close_window(stub, fill);
        UnsealDraft draft;
        draft.file = disk_.exported();
        unseal(*store_, 1, std::span(&draft, 1));
        must(draft.outcome, "unsealing");
        load();
        break;
      }
      case What::restart:
        close_window(stub, fill);
        inode_.reset();
        windows_.reset();
        store_.reset();
        start();
        break;
      case What::again:
        put(stub, 0, first_, What::stable_write, fill);
        break;
      case What::collect:
        collect({}, true);
        break;
      case What::collect_alone:
        collect({}, false);
        break;
      case What::seal_collecting:
        close_window(stub, fill);
        seal_collecting(step);
        load();
        break;
      default:
        throw CallFailed{"a step that nobody knows"};
    }
  }
  void collect(std::function<void()> meanwhile, bool tree_is_there) {
    CrashTrees trees(disk_, plant_, tree_is_there);
    trees.meanwhile = std::move(meanwhile);
    // Another one, which does not know who puts chunks here.
    const std::unique_ptr<Store> other = plant_ == Plant::hits_not_pinned ? opened() : nullptr;
    if (plant_ == Plant::moved_and_not_synced) disk_.containers_are_not_synced = true;
    GcProgress progress;
    const GcReport report =
        Collector(other ? *other : *store_, trees, clock_, {.registry_slack = 0, .keep_seconds = 0})
            .run(progress);
    disk_.containers_are_not_synced = plant_ == Plant::containers_not_synced;
    if (tree_is_there && !report.alarm.empty()) throw CallFailed{"collecting: " + report.alarm};
    removed += report.removed;
    rewritten += report.rewritten;
  }
  void seal_collecting(const Step& step) {
    SealDraft draft;
    if (step.offset > 0) {
      collect([&] { draft = prepared(*disk_.exported()); }, true);
    } else {
      draft = prepared(*disk_.exported());
      collect({}, true);
    }
    if (draft.outcome != SealOutcome::sealed) return;
    must(sealer_->announce(std::span(&draft, 1)), "sealing");
    collect({}, true);
    must(sealer_->carry_out(std::span(&draft, 1)), "sealing");
  }
  void write(File& stub, const Step& step, const SealedInode::Fill& fill) {
    std::string bytes(step.length, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random_());
    if (first_.empty()) first_ = bytes;
    put(stub, step.offset, bytes, step.what, fill);
  }
  void put(File& stub, std::uint64_t offset, const std::string& bytes, What what,
           const SealedInode::Fill& fill) {
    const Step step{what, offset, bytes.size()};
    std::string& state = next_state();
    state.resize(std::max<std::size_t>(state.size(), step.offset + step.length));
    state.replace(step.offset, step.length, bytes);
    const auto put = [&](base::BytesView before, base::BytesView after) {
      const bool edges = plant_ != Plant::edges_left_out;
      std::string all =
          edges ? std::string(base::text_of(before)) + bytes + std::string(base::text_of(after)) : bytes;
      return stub.write(step.offset - (edges ? before.size() : 0), base::bytes_of(all));
    };
    if (what == What::stream) {
      const auto taken = inode_->take(stub, offset, payload_of(bytes), std::nullopt, fill,
                                      [&](std::uint64_t size) { return stub.resize(size); });
      must(taken, "WRITE into a window");
      inode_->cut_window();
      if (*taken) return;
    }
    if (plant_ == Plant::enters_announced_ranges) {
      must(put({}, {}), "WRITE");
    } else {
      must(inode_->write(stub, step.offset, step.length, fill, put), "WRITE");
    }
    if (step.what != What::stable_write) return;
    must(stub.sync(), "WRITE");
    // What others wrote is not on the medium if it is in the window.
    if (!inode_->has_window()) synced();
  }
  io::Payload payload_of(const std::string& bytes) {
    io::SlabRange range{*slabs_.acquire(io::SlabSize::small), 0, static_cast<std::uint32_t>(bytes.size())};
    std::ranges::copy(base::bytes_of(bytes), range.writable().begin());
    return io::Payload(std::move(range));
  }
  void punch(File& stub, const Step& step, const SealedInode::Fill& fill) {
    std::string& state = next_state();
    const std::uint64_t end = std::min<std::uint64_t>(step.offset + step.length, state.size());
    if (step.offset < end) state.replace(step.offset, end - step.offset, end - step.offset, '\0');
    const auto punched = [&] { return stub.punch(step.offset, step.length); };
    if (plant_ == Plant::punched_before_the_record) {
      must(punched(), "DEALLOCATE");
    }
    must(inode_->deallocate(stub, step.offset, step.length, fill, punched), "DEALLOCATE");
  }
  SealDraft prepared(File& /*stub*/) {
    SealDraft draft;
    draft.file = disk_.exported();
    draft.untouched = [] { return true; };
    must(sealer().prepare(draft), "sealing");
    return draft;
  }
  Sealer& sealer() {
    sealer_ = std::make_unique<Sealer>(*store_, 1, hashing::Profile::block);
    return *sealer_;
  }
  void seal(File& stub) {
    const std::uint64_t chunks = store_->chunks().counts().chunks_added;
    SealDraft draft = prepared(stub);
    if (draft.outcome != SealOutcome::sealed) return;
    const bool hits = store_->chunks().counts().chunks_added == chunks;
    if (plant_ == Plant::hits_not_synced && hits) disk_.containers_are_not_synced = true;
    must(sealer_->commit(std::span(&draft, 1)), "sealing");
    if (plant_ == Plant::hits_not_synced) disk_.containers_are_not_synced = false;
  }
  void live_seal(File& stub, const Step& step, const SealedInode::Fill& fill) {
    SealDraft draft;
    draft.file = disk_.exported();
    draft.untouched = [] { return true; };
    draft.served = true;
    must(sealer().prepare(draft), "sealing");
    if (draft.outcome == SealOutcome::sealed) must(sealer_->announce(std::span(&draft, 1)), "sealing");
    if (step.length > 0) write(stub, {What::write, step.offset, step.length}, fill);
    if (draft.outcome != SealOutcome::sealed) return;
    if (plant_ == Plant::not_looked_at_again) draft.before = *stub.status();
    must(inode_->replace(stub, [&] { return sealer_->carry_out(std::span(&draft, 1)); }), "sealing");
  }
  // What was written since the last look is left alone from the beginning; more is written when the file has
  // been read, and when its chunks are on the medium.
  void range_seal(File& stub, const Step& step, const SealedInode::Fill& fill) {
    NotedBlocks noted;
    const auto write_on = [&](std::uint64_t offset, std::uint64_t length) {
      if (plant_ != Plant::writes_not_noted) noted.note(offset, length);
      write(stub, {What::write, offset, length}, fill);
    };
    write_on(step.offset, step.length);
    SealDraft draft;
    draft.file = disk_.exported();
    draft.untouched = [] { return true; };
    draft.served = true;
    draft.hot = std::exchange(noted, {}).all();
    draft.written = [&noted] { return noted.all(); };
    draft.sync = [&stub] { return stub.sync(); };
    must(sealer().prepare(draft), "sealing");
    write_on(step.offset + step.length + CrashInode::block_bytes, 300);
    if (draft.outcome == SealOutcome::sealed) must(sealer_->announce(std::span(&draft, 1)), "sealing");
    write_on(step.offset / 2, 20);
    if (draft.outcome != SealOutcome::sealed) return;
    must(inode_->replace(stub, [&] { return sealer_->carry_out(std::span(&draft, 1)); }), "sealing");
  }

  std::string wrong_;
  std::string first_;
  const base::SystemClock clock_;
  std::mt19937 random_;
  const Plant plant_;
  CrashDisk disk_;
  Known known_;
  bool index_is_broken_ = false;
  io::SlabPool& slabs_ = slabs();
  std::unique_ptr<Store> store_;
  std::unique_ptr<Windows> windows_;
  std::unique_ptr<SealedInode> inode_;
  std::unique_ptr<Sealer> sealer_;
  // That the file may have after a crash, byte by byte: the last one that was synced, and those since.
  std::vector<std::string> states_{""};
};

constexpr std::array every_left{Left::nothing, Left::metadata, Left::data, Left::everything};

// The first thing that a crash at some step of some script leaves which may not be.
std::string first_violation(Plant plant) {
  for (std::size_t script = first_script_of(plant); script < scripts.size(); ++script) {
    bool ended = false;
    for (std::uint64_t cut = 0; !ended; ++cut) {
      for (unsigned how = 0; how < every_left.size() * every_left.size() + 4; ++how) {
        World world(static_cast<std::uint32_t>(cut * 100 + how), plant);
        world.disk().cut_power_before(cut);
        ended = std::ranges::all_of(scripts[script], [&](const Step& step) { return world.run(step); });
        const bool any = how >= every_left.size() * every_left.size();
        const Left of_store = any ? Left::anything : every_left[how / every_left.size()];
        const Left of_exported = any ? Left::anything : every_left[how % every_left.size()];
        std::string wrong = world.crash(of_store, of_exported);
        // What a crash has left to be done is done by who comes next.
        if (wrong.empty() && world.run({What::stable_write, 1000, 100})) wrong = world.check();
        if (wrong.empty() && world.run({What::unseal})) wrong = world.check();
        if (wrong.empty()) wrong = world.wrong();
        if (!wrong.empty())
          return fmt::format("script {} before change {} ({}): {}", script, cut, how, wrong);
      }
    }
  }
  return "";
}

Step step_of(std::mt19937& random) {
  const std::uint64_t offset = random() % (48 * KiB);
  const std::uint64_t length = 1 + random() % (random() % 3 == 0 ? 20 * KiB : KiB);
  constexpr std::array often{
      What::stream,  What::stream,   What::stream, What::write,   What::write,           What::stable_write,
      What::commit,  What::resize,   What::punch,  What::seal,    What::live_seal,       What::unseal,
      What::restart, What::allocate, What::again,  What::collect, What::seal_collecting, What::range_seal};
  return {often[random() % often.size()], offset, length};
}

std::string violation_of_seed(std::uint32_t seed, Plant plant) {
  World world(seed, plant);
  for (int crashes = 0; crashes < 6; ++crashes) {
    world.disk().cut_power_before(world.random()() % 150);
    bool on = true;
    for (int step = 0; on && step < 20; ++step) {
      on = world.run(step_of(world.random()));
    }
    std::string wrong = world.crash(Left::anything, Left::anything);
    if (!wrong.empty()) return wrong;
  }
  return "";
}

TEST(CrashTest, at_every_change_of_short_scripts) { EXPECT_EQ(first_violation(Plant::none), ""); }

TEST(CrashTest, the_scripts_remove_garbage) {
  World world(1);
  for (const Step& step : scripts[scripts.size() - garbage_scripts]) ASSERT_TRUE(world.run(step));
  EXPECT_EQ(world.wrong(), "");
  EXPECT_GT(world.removed, 0U);
}

TEST(CrashTest, the_last_script_rewrites_containers) {
  World world(1);
  for (const Step& step : scripts.back()) ASSERT_TRUE(world.run(step));
  EXPECT_EQ(world.wrong(), "");
  EXPECT_GT(world.rewritten, 0U);
}

// BRAID_STORE_SEEDS: how many.
TEST(CrashTest, with_seeds) {
  const char* const told = std::getenv("BRAID_STORE_SEEDS");
  const std::uint32_t seeds = told == nullptr ? 50 : static_cast<std::uint32_t>(std::stoul(told));
  for (std::uint32_t seed = 1; seed <= seeds; ++seed)
    ASSERT_EQ(violation_of_seed(seed, Plant::none), "") << seed;
}

class PlantTest : public testing::TestWithParam<Plant> {};
TEST_P(PlantTest, is_found) { EXPECT_NE(first_violation(GetParam()), ""); }
INSTANTIATE_TEST_SUITE_P(
    , PlantTest,
    testing::Values(Plant::containers_not_synced, Plant::edges_left_out, Plant::grown_behind_its_back,
                    Plant::enters_announced_ranges, Plant::punched_before_the_record, Plant::hits_not_synced,
                    Plant::not_looked_at_again, Plant::writes_not_noted, Plant::marked_and_not_synced,
                    Plant::tree_taken_for_empty, Plant::hits_not_pinned, Plant::moved_and_not_synced,
                    Plant::forwarding_lost, Plant::window_forgotten_on_cut, Plant::window_not_committed));

}  // namespace
}  // namespace braid::store::test
