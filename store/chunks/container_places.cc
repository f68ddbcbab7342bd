// Which containers are open, what they are, and where a chunk lies now.
#include <algorithm>
#include <utility>

#include "store/chunks/containers.h"

namespace braid::store {

// Of a file whose head is damaged what lies behind it tells what it is. EBADMSG: nothing does.
base::Result<ContainerRole> Containers::role_of(File& file, std::uint32_t number) const {
  static_assert(ForwardingEntry::bytes >= ChunkHeader::bytes);
  base::Bytes head(ContainerHeader::bytes + ForwardingEntry::bytes);
  const auto got = file.read(0, head);
  if (!got) return base::fail(got.error());
  const base::BytesView there = base::BytesView(head).first(*got);
  const auto header = decode_container_header(there.first(std::min(there.size(), ContainerHeader::bytes)));
  if (header && header->store == store_ && header->number == number) return header->role;
  if (there.size() < head.size()) return base::fail(EBADMSG);
  const base::BytesView behind = there.subspan(ContainerHeader::bytes);
  if (decode_forwarding_entry(behind, number)) return ContainerRole::forwarding;
  if (decode_chunk_header(behind)) return ContainerRole::chunks;
  return base::fail(EBADMSG);
}

base::Result<std::shared_ptr<const Forwarding>> Containers::forwarding_of(File& file, std::uint32_t number) {
  const auto now = file.status();
  if (!now) return base::fail(now.error());
  if (now->size < ContainerHeader::bytes ||
      now->size > ContainerHeader::bytes + Forwarding::entries_max * ForwardingEntry::bytes)
    return base::fail(EBADMSG);
  base::Bytes entries(static_cast<std::size_t>(now->size) - ContainerHeader::bytes);
  const auto read = file.read(ContainerHeader::bytes, entries);
  if (!read) return base::fail(read.error());
  return std::make_shared<const Forwarding>(
      Forwarding::decode(base::BytesView(entries).first(*read), number));
}

base::Result<Containers::Opened> Containers::opened(std::uint32_t number) {
  std::uint64_t replaced = 0;
  {
    const std::scoped_lock lock(opening_);
    const auto found = open_.find(number);
    if (found != open_.end()) {
      found->second.used = ++uses_;
      return found->second;
    }
    replaced = replaced_;
  }
  auto file = medium_.open(name_of(number), OpenFor::reading);
  if (!file) return base::fail(file.error());
  Opened out{.file = std::move(*file)};
  const auto role = role_of(*out.file, number);
  out.unknown = !role;
  if (role && *role == ContainerRole::forwarding) {
    auto forwarding = forwarding_of(*out.file, number);
    if (!forwarding) return base::fail(forwarding.error());
    out.forwarding = std::move(*forwarding);
  }
  const std::scoped_lock lock(opening_);
  // Maybe there is another file by now: this one ends with who has found it.
  if (replaced != replaced_ || out.unknown) return out;
  if (open_.size() >= open_max)
    open_.erase(std::ranges::min_element(open_, {}, [](const auto& open) { return open.second.used; }));
  out.used = ++uses_;
  open_.insert_or_assign(number, out);
  return out;
}

std::optional<Containers::Opened> Containers::opened_now(std::uint32_t number) {
  const std::scoped_lock lock(opening_);
  const auto found = open_.find(number);
  if (found == open_.end()) return std::nullopt;
  found->second.used = ++uses_;
  return found->second;
}

std::optional<Containers::Place> Containers::place_now(Location at) {
  while (at.volume == 0) {
    auto found = opened_now(at.container);
    if (!found) return std::nullopt;
    if (found->forwarding == nullptr) return Place{.file = std::move(found->file), .at = at};
    const auto next = found->forwarding->find(at.offset);
    if (!next) return std::nullopt;
    at = *next;
  }
  return std::nullopt;
}

base::Result<std::optional<Location>> Containers::forwarded(Location at) {
  const auto found = opened(at.container);
  if (!found) return base::fail(found.error());
  if (found->forwarding == nullptr) return std::nullopt;
  const auto next = found->forwarding->find(at.offset);
  if (!next) return base::fail(EBADMSG);
  return next;
}

base::Result<bool> Containers::is_forwarding(std::uint32_t number) {
  const auto found = opened(number);
  if (!found) return base::fail(found.error());
  if (found->unknown) return base::fail(EBADMSG);
  return found->forwarding != nullptr;
}

// Each step leads to a container behind.
base::Result<Containers::Place> Containers::find(Location at) {
  for (;;) {
    if (at.volume != 0 || at.container == 0) return base::fail(EBADMSG);
    auto found = opened(at.container);
    if (!found)
      return base::fail(found.error() == base::errno_of(ENOENT) ? base::errno_of(EBADMSG) : found.error());
    if (found->forwarding == nullptr) return Place{.file = std::move(found->file), .at = at};
    const auto next = found->forwarding->find(at.offset);
    if (!next) return base::fail(EBADMSG);
    at = *next;
  }
}

base::Result<Location> Containers::place_of(Location at) {
  const auto found = find(at);
  if (!found) return base::fail(found.error());
  return found->at;
}

}  // namespace braid::store
