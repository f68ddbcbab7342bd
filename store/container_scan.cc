// What a container has: by its directory, or from front to back.
#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "store/containers.h"
#include "store/node.h"

namespace braid::store {
namespace {

constexpr std::size_t scan_bytes_at_once = 1U << 16U;

// Nothing: there is no whole chunk at `at`. `bytes` is what it says.
base::Result<std::optional<ChunkHeader>> whole_chunk_at(File& file, std::uint64_t at, base::Bytes& bytes) {
  bytes.resize(ChunkHeader::bytes);
  const auto head = file.read(at, bytes);
  if (!head) return base::fail(head.error());
  const auto header = decode_chunk_header(base::BytesView(bytes).first(*head));
  if (!header) return std::nullopt;
  bytes.resize(header->length);
  const auto got = file.read(at + ChunkHeader::bytes, bytes);
  if (!got) return base::fail(got.error());
  if (*got != bytes.size() || !is_whole(*header, bytes)) return std::nullopt;
  return header;
}

base::Result<std::optional<RunHeader>> run_header_at(File& file, std::uint64_t at) {
  std::array<std::byte, RunHeader::bytes> bytes{};
  const auto got = file.read(at, bytes);
  if (!got) return base::fail(got.error());
  return decode_run_header(base::BytesView(bytes).first(*got), at);
}

// Where the next thing begins that looks like a chunk, or like several.
base::Result<std::optional<std::uint64_t>> next_magic(File& file, std::uint64_t at) {
  base::Bytes window(scan_bytes_at_once);
  for (;;) {
    const auto got = file.read(at, window);
    if (!got) return base::fail(got.error());
    const std::string_view text = base::text_of(base::BytesView(window).first(*got));
    const std::size_t found = std::min(text.find("Chnk"), text.find("Runs"));
    if (found != std::string_view::npos) return at + found;
    if (*got < window.size()) return std::nullopt;
    at += *got - 3;
  }
}

}  // namespace

base::Result<std::optional<std::vector<DirectoryEntry>>> Containers::directory_of(File& file) {
  const auto now = file.status();
  if (!now) return base::fail(now.error());
  if (now->size < ContainerHeader::bytes + ChunkHeader::bytes + container_footer_bytes) return std::nullopt;
  base::Bytes footer(container_footer_bytes);
  const std::uint64_t footer_begin = now->size - footer.size();
  const auto got = file.read(footer_begin, footer);
  if (!got) return base::fail(got.error());
  const auto begin = decode_footer(base::BytesView(footer).first(*got));
  if (!begin || *begin > footer_begin || footer_begin - *begin < ChunkHeader::bytes ||
      footer_begin - *begin > ChunkHeader::bytes + chunk_bytes_limit(ChunkKind::directory))
    return std::nullopt;
  base::Bytes record(footer_begin - *begin);
  const auto read = file.read(*begin, record);
  if (!read) return base::fail(read.error());
  const auto header = decode_chunk_header(base::BytesView(record).first(*read));
  const base::BytesView listed = base::BytesView(record).subspan(ChunkHeader::bytes);
  if (*read != record.size() || !header || header->kind != ChunkKind::directory || !is_whole(*header, listed))
    return std::nullopt;
  return decode_directory(listed);
}

base::Result<bool> Containers::has_head(File& file, std::uint32_t number) const {
  base::Bytes head(ContainerHeader::bytes);
  const auto got = file.read(0, head);
  if (!got) return base::fail(got.error());
  const auto container = decode_container_header(base::BytesView(head).first(*got));
  return container && container->role == ContainerRole::chunks && container->store == store_ &&
         container->number == number;
}

// Of a run that has room in the file. Whether all of its chunks are whole, or none, or some.
base::Result<Containers::Run> Containers::scan_run(File& file, std::uint32_t number, std::uint64_t at,
                                                   const RunHeader& run, const Take& take) {
  base::Bytes bytes(static_cast<std::size_t>(run.begin - at) - RunHeader::bytes);
  const auto got = file.read(at + RunHeader::bytes, bytes);
  if (!got) return base::fail(got.error());
  const auto heads = decode_run_heads(run, base::BytesView(bytes).first(*got));
  if (!heads) return Run::damaged;
  std::size_t whole = 0;
  std::uint64_t begin = run.begin;
  for (const ChunkHeader& head : *heads) {
    bytes.resize(head.length);
    const auto read = file.read(begin, bytes);
    if (!read) return base::fail(read.error());
    const auto offset = static_cast<std::uint32_t>(begin - ChunkHeader::bytes);
    begin += head.length;
    if (*read != bytes.size() || !is_whole(head, bytes)) continue;
    ++whole;
    take({.volume = 0, .container = number, .offset = offset}, head, bytes);
  }
  if (whole == 0) return Run::none;
  return whole == heads->size() ? Run::whole : Run::damaged;
}

// From chunk to chunk. Behind one that is not whole the next that is, at any byte, is looked for.
base::Result<Containers::Scanned> Containers::scan(File& file, std::uint32_t number, const Take& take) {
  const auto ours = has_head(file, number);
  if (!ours) return base::fail(ours.error());
  const auto now = file.status();
  if (!now) return base::fail(now.error());
  Scanned out{.end = *ours ? std::uint32_t{ContainerHeader::bytes} : 0, .damaged = *ours ? 0U : 1U};
  base::Bytes bytes;
  bool gap = false;
  for (std::uint64_t at = ContainerHeader::bytes; at < Location::offset_end;) {
    const auto run = run_header_at(file, at);
    if (!run) return base::fail(run.error());
    // It was being written when the file ended.
    if (*run && (*run)->end() > now->size) break;
    const auto kind = *run ? scan_run(file, number, at, **run, take) : Run::none;
    if (!kind) return base::fail(kind.error());
    if (*run && *kind != Run::none) {
      if (gap || *kind == Run::damaged) ++out.damaged;
      gap = false;
      at = (*run)->end();
      if (out.damaged == 0) out.end = static_cast<std::uint32_t>(at);
      continue;
    }
    const auto header = *run ? base::Result<std::optional<ChunkHeader>>() : whole_chunk_at(file, at, bytes);
    if (!header) return base::fail(header.error());
    if (!*header) {
      gap = true;
      const auto next = next_magic(file, *run ? (*run)->end() : at + 1);
      if (!next) return base::fail(next.error());
      if (!*next) break;
      at = **next;
      continue;
    }
    if (gap) ++out.damaged;
    gap = false;
    // Behind a directory there is the footer, and nothing else.
    if ((*header)->kind == ChunkKind::directory) break;
    take({.volume = 0, .container = number, .offset = static_cast<std::uint32_t>(at)}, **header, bytes);
    at += ChunkHeader::bytes + bytes.size();
    if (out.damaged == 0) out.end = static_cast<std::uint32_t>(at);
  }
  return out;
}

base::Result<Containers::Walked> Containers::walk(std::uint32_t number, bool with_bytes, const Take& take) {
  const auto found = opened(number);
  if (!found) return base::fail(found.error());
  Walked out;
  if (found->forwarding != nullptr)
    return Walked{
        .damaged = found->forwarding->damaged(), .forwarding = true, .entries = found->forwarding->size()};
  const auto listed = directory_of(*found->file);
  if (!listed) return base::fail(listed.error());
  out.full = listed->has_value();
  if (out.full && !with_bytes) {
    for (const DirectoryEntry& entry : **listed)
      take({.volume = 0, .container = number, .offset = entry.offset},
           {.kind = entry.kind, .length = entry.length, .id = entry.id}, {});
    out.chunks = (*listed)->size();
    return out;
  }
  const auto scanned =
      scan(*found->file, number, [&](Location at, const ChunkHeader& header, base::BytesView bytes) {
        ++out.chunks;
        take(at, header, bytes);
      });
  if (!scanned) return base::fail(scanned.error());
  out.damaged = scanned->damaged;
  // What the directory has and the scan did not find.
  if (out.full && out.chunks < (*listed)->size())
    out.damaged = std::max<std::uint64_t>(out.damaged, (*listed)->size() - out.chunks);
  return out;
}

// What of it is known without reading all of it; else it is read.
base::Result<std::shared_ptr<const Containers::Listed>> Containers::listed_in(std::uint32_t number) {
  {
    const std::scoped_lock lock(opening_);
    const auto found = listed_.find(number);
    if (found != listed_.end()) {
      found->second.used = ++uses_;
      return found->second.chunks;
    }
  }
  const auto found = opened(number);
  if (!found) return base::fail(found.error());
  auto chunks = directory_of(*found->file);
  if (!chunks) return base::fail(chunks.error());
  if (!*chunks) {
    chunks->emplace();
    const auto scanned =
        scan(*found->file, number, [&](Location at, const ChunkHeader& header, base::BytesView) {
          (*chunks)->push_back({at.offset, header.kind, header.length, header.id});
        });
    if (!scanned) return base::fail(scanned.error());
    std::ranges::sort(**chunks, {}, &DirectoryEntry::offset);
  }
  auto out = std::make_shared<const Listed>(std::move(**chunks));
  const std::scoped_lock lock(opening_);
  if (listed_.size() >= listed_kept)
    listed_.erase(std::ranges::min_element(listed_, {}, [](const auto& one) { return one.second.used; }));
  listed_.insert_or_assign(number, ListedAt{.chunks = out, .used = ++uses_});
  return out;
}

base::Result<ChunkHeader> Containers::look(Location at) {
  const auto place = find(at);
  if (!place) return base::fail(place.error());
  const auto header_of = [&](const Listed& chunks) -> base::Result<ChunkHeader> {
    const auto found = std::ranges::lower_bound(chunks, place->at.offset, {}, &DirectoryEntry::offset);
    if (found == chunks.end() || found->offset != place->at.offset) return base::fail(EBADMSG);
    return ChunkHeader{.kind = found->kind, .length = found->length, .id = found->id};
  };
  {
    const std::scoped_lock lock(adding_);
    if (current_.file != nullptr && current_.number == place->at.container)
      return header_of(current_.directory);
  }
  const auto chunks = listed_in(place->at.container);
  return chunks ? header_of(**chunks) : base::fail(chunks.error());
}

}  // namespace braid::store
