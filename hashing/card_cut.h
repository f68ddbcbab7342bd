// The steps of a card that find where chunks end (docs/hashing.md, "Boundaries"), and the papers' sliding
// window. Compiled for the host and for the card.
#pragma once

#include <cstdint>

#include "hashing/card_core.h"
#include "hashing/gear_core.h"
#include "hashing/load_core.h"
#include "hashing/md5_core.h"

namespace braid::hashing::card {

// Of the 64 positions from `first` on those that the prefilter lets through.
BRAID_BOTH std::uint64_t filter_run(const Batch& b, const unsigned char* first) {
  constexpr std::uint32_t before = 16;
  std::uint32_t words[(before + run_positions) / 4];
  load_aligned(first - before, words);
  const auto entry = [&](unsigned i) {
    return std::uint32_t{b.tables->g16[words[i / 4] >> i % 4 * 8 & 0xff]};
  };
  std::uint32_t hash = 0;
  BRAID_UNROLL for (unsigned i = before + 1 - prefilter_window; i < before; ++i) hash =
      gear_step(hash, entry(i));
  std::uint64_t out = 0;
  BRAID_UNROLL for (unsigned i = 0; i < run_positions; ++i) {
    hash = gear_step(hash, entry(before + i));
    if ((hash & b.prefilter) == 0) out |= std::uint64_t{1} << i;
  }
  return out;
}

BRAID_BOTH void candidates(const Batch& b, std::uint32_t group) {
  const auto head = [&](const std::uint64_t* bits) {
    const std::uint32_t found = ballot([&](std::uint32_t lane) { return bits[group * lanes + lane] != 0; });
    if (found == 0) return no_head;
    return lowest(found) * run_positions + lowest(bits[group * lanes + lowest(found)]);
  };
  each_lane([&](std::uint32_t lane) {
    const std::uint32_t run = group * lanes + lane;
    const unsigned char* first = b.input + run * run_positions;
    std::uint64_t loose = 0, strict = 0;
    if (run * run_positions < b.input_bytes)
      for (std::uint64_t left = filter_run(b, first); left != 0; left &= left - 1) {
        const std::uint32_t verify = verify_hash(b.tables->g32, first + lowest(left));
        const std::uint64_t bit = left & ~(left - 1);
        if ((verify & b.loose_verify) == 0) loose |= bit;
        if ((verify & b.strict_verify) == 0) strict |= bit;
      }
    b.loose[run] = loose;
    b.strict[run] = strict;
  });
  const std::uint32_t loose = head(b.loose), strict = head(b.strict);
  each_lane([&](std::uint32_t lane) {
    if (lane == 0) b.heads[group] = loose | strict << 16;
  });
}

// The heads of some of the groups that a stream has, next to the threads that look for its cuts. They go
// through them forward only.
class HeadWindow {
 public:
  static constexpr std::uint32_t size = 2048;

  // `words` are the warp's own, `size` of them; `end`: behind the stream's last group.
  BRAID_BOTH HeadWindow(const std::uint32_t* heads, std::uint32_t* words, std::uint32_t end)
      : heads_(heads), words_(words), end_(end) {}
  // From now on at() may be asked for the groups from `first` up to `last`, at most `size` of them.
  BRAID_BOTH void reach(std::uint32_t first, std::uint32_t last) {
    if (last < have_ || have_ == end_) return;
    begin_ = first;
    have_ = least(end_, first + size);
    constexpr std::uint32_t at_once = 8;  // loads do not wait for each other
    const std::uint32_t count = have_ - least(have_, first);
    each_lane([&](std::uint32_t lane) {
      for (std::uint32_t i = lane; i < count; i += at_once * lanes) {
        std::uint32_t words[at_once];
        BRAID_UNROLL for (std::uint32_t k = 0; k < at_once; ++k) words[k] =
            i + k * lanes < count ? heads_[first + i + k * lanes] : 0;
        BRAID_UNROLL for (std::uint32_t k = 0; k < at_once; ++k) if (i + k * lanes < count)
            words_[i + k * lanes] = words[k];
      }
    });
  }
  [[nodiscard]] BRAID_BOTH std::uint32_t at(std::uint32_t group) const { return words_[group - begin_]; }

 private:
  const std::uint32_t* heads_;
  std::uint32_t* words_;
  std::uint32_t end_, begin_ = 0, have_ = 0;
};

// The first position of the group that is set in `bits` and not before `from`; no_position if there is none.
constexpr std::uint32_t no_position = ~std::uint32_t{0};
BRAID_BOTH std::uint32_t find_in_group(const std::uint64_t* bits, std::uint32_t group, std::uint32_t from) {
  const auto left = [&](std::uint32_t lane) {
    const std::uint32_t word = group * lanes + lane;
    if (word < from / run_positions) return std::uint64_t{0};
    return bits[word] &
           (word == from / run_positions ? ~std::uint64_t{0} << from % run_positions : ~std::uint64_t{0});
  };
  const std::uint32_t found = ballot([&](std::uint32_t lane) { return left(lane) != 0; });
  if (found == 0) return no_position;
  return (group * lanes + lowest(found)) * run_positions + lowest(left(lowest(found)));
}

// Positions in [from, to) that are strict, or loose.
class Range {
 public:
  BRAID_BOTH Range(const std::uint64_t* bits, std::uint32_t shift, std::uint32_t from, std::uint32_t to)
      : bits_(bits),
        shift_(shift),
        from_(from),
        to_(to),
        first_(from / group_positions),
        end_(from < to ? (to - 1) / group_positions + 1 : first_) {}
  [[nodiscard]] BRAID_BOTH std::uint32_t first_group() const { return first_; }
  // Which of the next 32 groups have such a position. The window has reached them.
  [[nodiscard]] BRAID_BOTH std::uint32_t look(const HeadWindow& window, std::uint32_t group) const {
    return ballot(
        [&](std::uint32_t lane) { return group + lane < end_ && head(window, group + lane) != no_head; });
  }
  // The first one, or no_position. `found` is what look() says of the first groups.
  BRAID_BOTH std::uint32_t find(HeadWindow& window, std::uint32_t found) const {
    for (std::uint32_t group = first_;;) {
      for (; found != 0; found &= found - 1) {
        const std::uint32_t here = group + lowest(found);
        std::uint32_t position = here * group_positions + head(window, here);
        if (position < from_) position = find_in_group(bits_, here, from_);
        if (position != no_position) return position < to_ ? position : no_position;
      }
      group += lanes;
      if (group >= end_) return no_position;
      window.reach(group, group + lanes - 1);
      found = look(window, group);
    }
  }

 private:
  [[nodiscard]] BRAID_BOTH std::uint32_t head(const HeadWindow& window, std::uint32_t group) const {
    return window.at(group) >> shift_ & no_head;
  }

  const std::uint64_t* bits_;
  std::uint32_t shift_, from_, to_, first_, end_;
};

struct SelectedCut {
  std::uint32_t length;  // 0: depends on what follows
  std::uint32_t flags;   // of Chunk
};

// The rule of Chunker::next() for the `left` bytes from `at` on.
BRAID_BOTH SelectedCut select_cut(const Batch& b, const Stream& s, HeadWindow& window, std::uint32_t at,
                                  std::uint32_t left) {
  constexpr std::uint32_t forced = 2, tail = 4;  // ChunkFlag
  if ((s.flags & is_one_chunk) != 0) return {left, 0};
  if (b.chunk_min == b.chunk_max) {
    const std::uint64_t offset = s.stream_offset + (at - s.begin);
    const auto block = static_cast<std::uint32_t>(b.chunk_max - offset % b.chunk_max);
    if (left >= block) return {block, forced};
  } else {
    const Range strict(b.strict, 16, at + b.chunk_min, at + least(left, b.chunk_avg));
    const Range loose(b.loose, 0, at + b.chunk_avg, at + least(left, b.chunk_max));
    // One look at both: most cuts are found by it.
    window.reach(strict.first_group(), loose.first_group() + lanes - 1);
    const std::uint32_t strict_found = strict.look(window, strict.first_group());
    const std::uint32_t loose_found = loose.look(window, loose.first_group());
    std::uint32_t cut = strict.find(window, strict_found);
    if (cut == no_position) cut = loose.find(window, loose_found);
    if (cut != no_position) return {cut + 1 - at, 0};
    if (left >= b.chunk_max) return {b.chunk_max, forced};
  }
  return (s.flags & is_at_end) != 0 ? SelectedCut{left, tail} : SelectedCut{0, 0};
}

// Writes the tiles of a chunk, and that those behind it up to the next chunk's are unused.
BRAID_BOTH void describe(const Batch& b, const Stream& s, std::uint32_t record, std::uint32_t begin,
                         std::uint32_t length) {
  const std::uint32_t bytes = tile_leaves * b.leaf_bytes;
  const std::uint32_t leaves = length == 0 ? 1 : words_of(length, b.leaf_bytes);
  const std::uint32_t end = first_tile(b, s, record + 1, begin + length - s.begin);
  std::uint32_t first = 0;
  for (std::uint32_t i = first_tile(b, s, record, begin - s.begin); i < end; ++i, first += tile_leaves) {
    const std::uint32_t done = first * b.leaf_bytes;
    b.tiles[i] = {begin + done, least(bytes, length - done), first, first < leaves ? leaves : 0};
  }
}

// `heads` are the warp's own, HeadWindow::size of them.
BRAID_BOTH void select(const Batch& b, std::uint32_t stream, std::uint32_t* heads) {
  const Stream s = b.streams[stream];
  HeadWindow window(b.heads, heads, words_of(s.begin + s.bytes, group_positions));
  const std::uint32_t flags = b.sequence << sequence_shift | is_used;
  std::uint32_t count = 0, done = 0;
  do {
    const SelectedCut cut = select_cut(b, s, window, s.begin + done, s.bytes - done);
    if (cut.length == 0 && (s.flags & is_one_chunk) == 0) break;
    // All threads write the same.
    Record& out = b.records[s.first_record + count];
    out.begin = s.begin + done;
    out.length = cut.length;
    out.flags = cut.flags | flags;
    out.stream = stream;
    ++count;
    done += cut.length;
  } while (done < s.bytes);
  // What an earlier batch has left in the others is not of this one.
  each_lane([&](std::uint32_t lane) {
    for (std::uint32_t i = lane; i < s.record_count; i += lanes) {
      Record& r = b.records[s.first_record + i];
      if (i < count)
        describe(b, s, s.first_record + i, r.begin, r.length);
      else
        r.flags = 0;
    }
    const std::uint32_t end = s.first_tile + tiles_of(s.bytes, s.record_count, b.leaf_bytes);
    for (std::uint32_t i = first_tile(b, s, s.first_record + count, done) + lane; i < end; i += lanes)
      b.tiles[i].total = 0;
  });
}

BRAID_BOTH void slide(const Slide& s, std::uint32_t group) {
  each_lane([&](std::uint32_t lane) {
    const std::uint32_t run = group * lanes + lane;
    if (run * run_positions >= s.bytes) return;
    std::uint64_t marks = 0;
    for (std::uint32_t i = 0; i < run_positions; ++i) {
      const std::uint32_t begin = run * run_positions + i;
      if (begin % s.step != 0 || begin + s.window > s.bytes) continue;
      if ((md5::first_word(s.input + begin, s.window) & s.mask) == 0) marks |= std::uint64_t{1} << i;
    }
    s.marks[run] = marks;
  });
}

}  // namespace braid::hashing::card
