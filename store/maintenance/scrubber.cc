#include "store/maintenance/scrubber.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "base/assert.h"
#include "base/log.h"

namespace braid::store {

void Scrubber::begin(bool anew) {
  base::check(store_.writable(), "what is scrubbed is open for writing");
  state_ = store_.scrub_state();
  report_ = {};
  report_.bad = state_.bad.size();
  if (state_.next != 0 && !anew) return;
  state_.begun = base::seconds_since_1970(clock_.wall());
  state_.next = 1;
}

bool Scrubber::stops() {
  if (!report_.stopped && options_.stop && options_.stop()) report_.stopped = true;
  return report_.stopped;
}

bool Scrubber::note() {
  steps_ = 0;
  report_.bad = state_.bad.size();
  if (const auto put = store_.put_scrub_state(state_); !put && report_.alarm.empty())
    report_.alarm = fmt::format("{}: {}", ScrubState::name, base::message_of(put.error()));
  return report_.alarm.empty();
}

bool Scrubber::step() {
  const auto numbers = store_.containers().numbers();
  if (!numbers) report_.alarm = fmt::format("containers: {}", base::message_of(numbers.error()));
  if (!numbers) return false;
  const auto next = std::ranges::lower_bound(*numbers, state_.next);
  if (next == numbers->end()) return end_pass();
  const std::uint32_t number = *next;
  const std::uint64_t known = state_.bad.size();
  const auto is_here = [number](const Location& place) { return place.container == number; };
  std::vector<Location> before;
  std::ranges::copy_if(state_.bad, std::back_inserter(before), is_here);
  std::erase_if(state_.bad, is_here);
  const auto read = read_container(number);
  if (!read)
    report_.alarm = fmt::format("{}: {}", Containers::name_of(number), base::message_of(read.error()));
  if (report_.stopped || !read) {
    // It is the next one that is read; until then all of it is as bad as it was.
    for (const Location& place : before)
      if (state_.bad.size() < ScrubState::bad_max) state_.bad.insert(place);
    note();
    return false;
  }
  ++report_.containers;
  state_.next = number + 1;
  if (++steps_ < steps_noted && state_.bad.size() == known) return true;
  return note();
}

bool Scrubber::end_pass() {
  const auto numbers = store_.containers().numbers();
  if (numbers)
    std::erase_if(state_.bad, [&](const Location& place) {
      return !std::ranges::binary_search(*numbers, place.container);
    });
  state_.next = 0;
  state_.ended = base::seconds_since_1970(clock_.wall());
  note();
  return false;
}

base::Result<void> Scrubber::read_container(std::uint32_t number) {
  struct Listed {
    Location at;
    ChunkHeader header;
  };
  std::vector<Listed> listed;
  // What is read is what the medium has.
  store_.containers().forget_cached({.volume = 0, .container = number, .offset = ContainerHeader::bytes},
                                    Location::offset_end);
  const auto walk = [&] {
    listed.clear();
    return store_.containers().walk(
        number, false,
        [&](Location at, const ChunkHeader& header, base::BytesView) { listed.push_back({at, header}); });
  };
  auto walked = walk();
  // What was being added meanwhile is whole now.
  if (walked && walked->damaged > 0) walked = walk();
  if (!walked) return base::fail(walked.error());
  if (walked->damaged > 0)
    add_bad({.volume = 0, .container = number, .offset = 0},
            walked->forwarding ? "entries of a container that was rewritten are damaged"
                               : "places are not what was written");
  for (const Listed& one : listed) {
    if (stops()) return {};
    const ChunkRef chunk{.id = one.header.id, .at = one.at, .bytes = one.header.length};
    if (store_.chunks().at_place(one.header.kind, chunk, one.at) == nullptr)
      add_bad(one.at, "the chunk is not what it was");
    ++report_.chunks;
    report_.bytes += one.header.length;
    if (options_.pace) options_.pace(one.header.length);
  }
  return {};
}

void Scrubber::add_bad(Location at, const char* what) {
  if (state_.bad.size() < ScrubState::bad_max) state_.bad.insert(at);
  if (at.offset != 0) store_.chunks().note_bad(at);
  store_.containers().verified().forget(at.container);
  base::log_event(base::Level::error, "store_chunk_damaged", "container={} offset={}: {}",
                  Containers::name_of(at.container), at.offset, what);
}

}  // namespace braid::store
