#include "nfs4/state/clients/session.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"

namespace braid::nfs4::state {

void Session::bind_back(const BackConnection& connection) {
  back_.with([&](Back& side) {
    std::erase_if(side.connections,
                  [&](const BackConnection& one) { return one.id == connection.id || !one.channel.alive(); });
    side.connections.push_back(connection);
    side.wanted = true;
    side.restored();
  });
  client->note_back_channel();
}

void Session::unbind_back(ConnectionId connection) {
  back_.with([&](Back& side) {
    std::erase_if(side.connections, [&](const BackConnection& one) { return one.id == connection; });
  });
}

bool Session::has_back_channel() const { return back_connection().has_value(); }

std::size_t Session::back_connections() const {
  return back_.with([](const Back& side) {
    return static_cast<std::size_t>(std::ranges::count_if(
        side.connections, [](const BackConnection& one) { return one.channel.alive(); }));
  });
}

std::optional<rpc::BackChannelRef> Session::back_connection() const {
  return back_.with([](const Back& side) -> std::optional<rpc::BackChannelRef> {
    for (auto one = side.connections.rbegin(); one != side.connections.rend(); ++one)
      if (one->channel.alive()) return one->channel;
    return std::nullopt;
  });
}

void Session::set_callback(const CallbackParameters& parameters) {
  back_.with([&](Back& side) {
    side.callback = parameters;
    side.restored();
  });
}

CallbackParameters Session::callback() const {
  return back_.with([](const Back& side) { return side.callback; });
}

std::optional<Session::BackSlot> Session::take_back_slot() {
  return back_.with([](Back& side) -> std::optional<BackSlot> {
    const std::size_t usable = std::min<std::size_t>(side.slots.size(), side.usable);
    for (std::uint32_t i = 0; i < usable; ++i) {
      if (side.slots[i].busy) continue;
      side.slots[i].busy = true;
      std::uint32_t highest = i;
      for (std::uint32_t j = i; j < side.slots.size(); ++j)
        if (side.slots[j].busy) highest = j;
      return BackSlot{.slot = i, .sequence = side.slots[i].sequence + 1, .highest = highest};
    }
    return std::nullopt;
  });
}

void Session::give_back_slot(const BackSlot& slot, Next next, std::optional<std::uint32_t> target) {
  back_.with([&](Back& side) {
    Back::Slot& given = side.slots[slot.slot];
    base::check(given.busy, "a slot is given back once");
    given.busy = false;
    if (next == Next::following) given.sequence = slot.sequence;
    if (next == Next::first) given.sequence = 0;
    if (target) side.usable = *target == UINT32_MAX ? UINT32_MAX : *target + 1;
  });
}

void Session::set_back_fault() {
  back_.with([](Back& side) { side.fault = true; });
}

void Session::set_back_answered(bool answered) {
  back_.with([&](Back& side) { side.answers = answered ? Answers::yes : Answers::no; });
}

Session::BackHealth Session::back_health() const {
  return back_.with([](const Back& side) {
    const bool alive =
        std::ranges::any_of(side.connections, [](const BackConnection& one) { return one.channel.alive(); });
    return BackHealth{.wanted = side.wanted, .alive = alive, .fault = side.fault, .answers = side.answers};
  });
}

}  // namespace braid::nfs4::state
