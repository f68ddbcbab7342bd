// What an earlier process has left: the container it added to, and what was to take the place of one.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "store/chunks/containers.h"

namespace braid::store {

// The last container of an earlier run. Whatever its chunks are, they may be referred to as soon as this
// process knows them: so they are synced first.
base::Result<void> Containers::begin_writing() {
  remove_unfinished();
  if (number_max_ == 0) return {};
  if (auto taken = take_up(number_max_); !taken) return taken;
  return medium_.sync_directory(directory);
}

// What was to take a container's place when the process ended. Who writes the same one anew removes it first,
// so it takes room and does no harm.
void Containers::remove_unfinished() {
  const auto names = medium_.list(directory);
  if (!names) return;
  for (const std::string& name : *names) {
    if (!name.ends_with(unfinished) || !number_of(name.substr(0, name.size() - unfinished.size()))) continue;
    const std::string path = fmt::format("{}/{}", directory, name);
    if (const auto removed = medium_.remove(path); !removed)
      base::log_event(base::Level::warning, "store_unfinished_container_kept", "container={}: {}", path,
                      base::message_of(removed.error()));
  }
}

base::Result<void> Containers::take_up(std::uint32_t number) {
  auto opened = medium_.open(name_of(number), OpenFor::writing);
  if (!opened) return base::fail(opened.error());
  const std::shared_ptr<File> file(std::move(*opened));
  if (auto headed = mend_head(*file, number); !headed) return headed;
  if (auto synced = file->sync(); !synced) return synced;
  // If it was rewritten, those behind it are lost. Nothing is added here.
  const auto role = role_of(*file, number);
  if (role && *role == ContainerRole::forwarding) return {};
  const auto listed = directory_of(*file);
  if (!listed) return base::fail(listed.error());
  if (*listed) return {};
  Current found{.number = number, .file = file, .end = 0, .directory = {}};
  const auto scanned = scan(*file, number, [&](Location at, const ChunkHeader& header, base::BytesView) {
    found.directory.push_back({at.offset, header.kind, header.length, header.id, header.compressed});
  });
  if (!scanned) return base::fail(scanned.error());
  if (scanned->damaged > 0) {
    base::log_event(base::Level::error, "store_container_damaged",
                    "container={}: nothing is added to it any more", name_of(number));
    return {};
  }
  const auto now = file->status();
  if (!now) return base::fail(now.error());
  // It may have been on the medium all the same.
  if (scanned->torn) {
    base::log_event(base::Level::warning, "store_container_torn",
                    "container={}: of the last {} bytes a part is whole; nothing is added to it any more",
                    name_of(number), now->size - scanned->end);
    return {};
  }
  if (now->size > scanned->end) {
    base::log_event(base::Level::warning, "store_container_cut",
                    "container={}: the last {} bytes were not whole", name_of(number),
                    now->size - scanned->end);
    if (auto cut = file->resize(scanned->end); !cut) return cut;
    if (auto synced = file->sync(); !synced) return synced;
  }
  found.end = scanned->end;
  current_ = std::move(found);
  return {};
}

base::Result<void> Containers::mend_head(File& file, std::uint32_t number) {
  base::Bytes head(ContainerHeader::bytes);
  const auto got = file.read(0, head);
  if (!got) return base::fail(got.error());
  const auto found = std::span(head).first(*got);
  if (std::ranges::any_of(found, [](std::byte byte) { return byte != std::byte{0}; })) return {};
  return file.write(0, encode(ContainerHeader{.store = store_, .volume = 0, .number = number}));
}

}  // namespace braid::store
