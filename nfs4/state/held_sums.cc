#include "nfs4/state/held_sums.h"

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "base/siphash.h"
#include "nfs4/state/states.h"

namespace braid::nfs4::state {
namespace {

void append(base::Bytes& out, std::uint64_t number) {
  for (unsigned shift = 0; shift < 64; shift += 8) out.push_back(static_cast<std::byte>(number >> shift));
}

void append(base::Bytes& out, base::BytesView bytes) {
  append(out, bytes.size());
  out.insert(out.end(), bytes.begin(), bytes.end());
}

// All that a client names when it reclaims this, and that is the same in each run. The key is public: who
// makes two lines with one hash deceives nobody but itself.
std::uint64_t hash_of(const StateLine& line) {
  base::Bytes text;
  append(text, static_cast<std::uint64_t>(line.kind));
  append(text, line.file.view());
  append(text, base::bytes_of(line.owner));
  append(text, line.share.access * 4U + line.share.deny);
  append(text, line.history.bits());
  for (const HeldRange& held : line.ranges) {
    append(text, held.range.first);
    append(text, held.range.last);
    append(text, static_cast<std::uint64_t>(held.type));
  }
  return base::siphash24({0, 0}, text);
}

}  // namespace

bool HeldSums::look(const States& states) {
  const StatePage page = states.list(query_);
  for (const StateLine& line : page.lines) {
    const bool unlocked = line.kind == StateKind::lock && line.range_count == 0;
    if (line.minor_version > 0 || unlocked) continue;
    std::optional<Held>& held = held_.try_emplace(line.client, Held{}).first->second;
    if (line.kind == StateKind::delegation || line.range_count > line.ranges.size()) held.reset();
    if (!held) continue;
    ++held->states;
    held->sum += hash_of(line);
  }
  query_.from = page.next.value_or(0);
  return page.next.has_value();
}

std::optional<Held> HeldSums::of(clientid4 client) const {
  const auto found = held_.find(client);
  return found == held_.end() ? Held{} : found->second;
}

}  // namespace braid::nfs4::state
