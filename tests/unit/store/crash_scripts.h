// What is done in the tests of power cuts, before each change of which the power goes once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/unit/store/crash_steps.h"

namespace braid::store::test {

inline constexpr std::uint64_t KiB = 1024;
inline const std::vector<std::vector<Step>> scripts{
    {{What::stable_write, 0, 20 * KiB}, {What::seal}, {What::stable_write, 700, 300}, {What::seal}},
    {{What::stream, 0, 20 * KiB},
     {What::resize, 5000},
     {What::resize, 8000},
     {What::commit},
     {What::stream, 8000, 9 * KiB},
     {What::punch, 9 * KiB, 2000},
     {What::commit}},
    {{What::stream, 0, 17 * KiB},
     {What::stable_write, 700, 300},
     {What::commit},
     {What::stream, 17 * KiB, 17 * KiB},
     {What::stream, 3000, 9 * KiB},
     {What::commit},
     {What::seal}},
    {{What::stable_write, 0, 20 * KiB},
     {What::seal},
     {What::resize, 5000},
     {What::resize, 8000},
     {What::commit},
     {What::write, 9000, 100},
     {What::commit},
     {What::resize, 0},
     {What::stable_write, 3000, 10}},
    {{What::write, 0, 40 * KiB},
     {What::seal},
     {What::stable_write, 17 * KiB, 5 * KiB},
     {What::punch, 15 * KiB + 100, 10 * KiB},
     {What::commit},
     {What::unseal}},
    {{What::stable_write, 0, 20 * KiB},
     {What::seal},
     {What::stable_write, 100, 9 * KiB},
     {What::seal},
     {What::punch, 0, 30 * KiB},
     {What::allocate, 1000, 30 * KiB},
     {What::stable_write, 2000, 600}},
    {{What::stable_write, 0, 33 * KiB},
     {What::seal},
     {What::write, 100, 20},
     {What::unseal},
     {What::seal},
     {What::restart},
     {What::resize, 40 * KiB}},
    {{What::stable_write, 0, 20 * KiB}, {What::prepare}, {What::seal}, {What::write, 5000, 600}},
    {{What::stable_write, 0, 20 * KiB},
     {What::live_seal},
     {What::stable_write, 5000, 6000},
     {What::live_seal, 9000, 3000},
     {What::commit},
     {What::live_seal},
     {What::resize, 9000}},
    {{What::stable_write, 0, 40 * KiB},
     {What::range_seal, 9000, 3000},
     {What::commit},
     {What::resize, 30 * KiB},
     {What::range_seal, 20 * KiB, 100}},
    {{What::stable_write, 0, 40 * KiB},
     {What::seal},
     {What::punch, 0, 17 * KiB},
     {What::collect},
     {What::resize, 20 * KiB},
     {What::collect},
     {What::stable_write, 30 * KiB, 9 * KiB},
     {What::seal},
     {What::collect}},
    {{What::stable_write, 0, 20 * KiB}, {What::seal}, {What::collect_alone}, {What::collect_alone}},
    {{What::stable_write, 0, 36 * KiB},
     {What::seal},
     {What::resize, 0},
     {What::again},
     {What::seal_collecting},
     {What::resize, 0},
     {What::again},
     {What::seal_collecting, 1},
     {What::collect}},
    // Three of four chunks of a container are not in use any more.
    {{What::write, 0, 4 * KiB},
     {What::write, 8 * KiB, 4 * KiB},
     {What::write, 16 * KiB, 4 * KiB},
     {What::stable_write, 24 * KiB, 4 * KiB},
     {What::seal},
     {What::stable_write, 32 * KiB, 16 * KiB},
     {What::seal},
     {What::punch, 0, 20 * KiB},
     {What::collect}}};

// The last ones collect garbage, and the very last rewrites containers. Elsewhere nobody meets the plant:
// that takes the longest.
inline constexpr std::size_t garbage_scripts = 4;

// The one before them seals a file that is written to.
inline std::size_t first_script_of(Plant plant) {
  switch (plant) {
    case Plant::moved_and_not_synced:
    case Plant::forwarding_lost:
      return scripts.size() - 1;
    case Plant::marked_and_not_synced:
    case Plant::tree_taken_for_empty:
    case Plant::hits_not_pinned:
      return scripts.size() - garbage_scripts;
    case Plant::writes_not_noted:
      return scripts.size() - garbage_scripts - 1;
    default:
      return 0;
  }
}

}  // namespace braid::store::test
