#include "store/maintenance/adopter.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "base/xxhash64.h"
#include "hashing/cpu_hasher.h"
#include "store/recipes/sealed_file.h"

namespace braid::store {
namespace {

constexpr std::size_t zeros_looked_at_once = base::MiB;
constexpr std::size_t block_bytes = 4096;  // the smallest hole
constexpr std::uint64_t all_bytes = std::numeric_limits<std::uint64_t>::max();

}  // namespace

std::uint64_t Adopter::key_of(const KernelHandle& file) { return base::xxhash64(file.view(), file.type); }

base::Result<void> Adopter::begin() {
  base::check(store_.registry() != nullptr, "whoever adopts has a registry");
  const auto walked = store_.registry()->walk([this](const RegistryEntry& entry) {
    if (entry.tree != tree_) return;
    if (entry.kind == RegistryKind::sealed) known_.insert(key_of(entry.file));
    if (entry.kind == RegistryKind::unsealed) known_.erase(key_of(entry.file));
  });
  if (!walked) return base::fail(walked.error());
  return {};
}

base::Result<void> Adopter::prepare(AdoptDraft& draft) {
  const auto bytes = draft.file->attribute(record_name);
  if (!bytes) return base::fail(bytes.error());
  if (!*bytes) return {};
  const auto handle = draft.file->handle();
  if (!handle) return base::fail(handle.error());
  draft.handle = *handle;
  auto record = decode_record(**bytes, store_.keys(), *handle);
  const bool is_own = record.has_value();
  if (is_own && known_.contains(key_of(*handle))) {
    draft.outcome = AdoptOutcome::already;
    return {};
  }
  if (!record) record = decode_copied_record(**bytes);
  if (!record) return base::fail(record.error() == RecordFault::too_new ? ENOTSUP : EBADMSG);
  // Of a copy of the whole device, the steps are done as after a crash.
  if (record->pending && !is_own) return base::fail(EBUSY);
  const auto root = root_of(*record);
  if (!root) return base::fail(root.error());
  const auto mapped = check_chunks(root->top);
  if (!mapped) return base::fail(mapped.error());
  record->mapped = *mapped;
  draft.record = *record;
  draft.outcome = AdoptOutcome::adopted;
  return believes_zeros_ || is_own ? base::Result<void>() : check_zeros(draft, *root);
}

// That it is a root of this store its id says, which nobody can make without the key.
base::Result<Root> Adopter::root_of(Record& record) {
  const auto bytes = store_.chunks().get_root(record.root, record.at);
  if (!bytes) return base::fail(EBADMSG);
  const ChunkRef chunk{
      .id = record.root, .at = record.at, .bytes = static_cast<std::uint32_t>((*bytes)->size())};
  for (const auto& at : store_.chunks().places_of(chunk)) {
    const auto there = at ? store_.chunks().at_place(ChunkKind::root, chunk, *at) : nullptr;
    auto root = there == nullptr ? std::nullopt : decode_root(*there);
    if (!root) continue;
    record.at = *at;
    return std::move(*root);
  }
  return base::fail(EBADMSG);
}

base::Result<std::uint64_t> Adopter::check_chunks(const Node& top) {
  std::uint64_t mapped = 0;
  const auto walked = walk_recipe(store_.chunks(), top, 0, all_bytes, [&](const RecipePiece& piece) {
    if (piece.kind != EntryKind::chunk) return base::Result<void>();
    mapped += piece.length;
    return has(piece.chunk) ? base::Result<void>() : base::fail(EIO);
  });
  if (!walked) return base::fail(walked.error());
  return mapped;
}

bool Adopter::has(const ChunkRef& chunk) {
  return std::ranges::any_of(store_.chunks().places_of(chunk), [&](const std::optional<Location>& at) {
    const auto header = at ? store_.containers().look(*at) : base::fail(ENOENT);
    return header && header->kind == ChunkKind::data && header->id == chunk.id &&
           header->length == chunk.bytes;
  });
}

base::Result<void> Adopter::check_zeros(const AdoptDraft& draft, const Root& root) {
  const auto now = draft.file->status();
  if (!now) return base::fail(now.error());
  const auto own = SealedFile(store_.chunks(), draft.record, root).newer(*draft.file, 0, now->size);
  if (!own) return base::fail(own.error());
  base::Bytes buffer(zeros_looked_at_once);
  for (const Extent& extent : *own) {
    for (std::uint64_t at = extent.begin; at < extent.end;) {
      const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), extent.end - at));
      const auto got = draft.file->read(at, base::MutableBytes(buffer).first(wanted));
      if (!got) return base::fail(got.error());
      if (*got == 0) break;
      for (std::size_t i = 0; i < *got; i += block_bytes) {
        const base::BytesView block = base::BytesView(buffer).subspan(i, std::min(block_bytes, *got - i));
        if (!hashing::is_zero(block)) continue;
        const auto mapped = mapped_within(store_.chunks(), root.top, at + i, at + i + block.size());
        if (!mapped) return base::fail(mapped.error());
        if (*mapped > 0) return base::fail(EINVAL);
      }
      at += *got;
    }
  }
  return {};
}

base::Result<void> Adopter::commit(std::span<AdoptDraft> drafts) {
  std::vector<RegistryEntry> entries;
  File* any = nullptr;
  for (const AdoptDraft& draft : drafts) {
    if (draft.outcome != AdoptOutcome::adopted) continue;
    entries.push_back({RegistryKind::sealed, tree_, draft.record.mapped, draft.handle});
    any = draft.file.get();
  }
  if (entries.empty()) return {};
  base::Result<void> done = store_.registry()->append(entries);
  for (AdoptDraft& draft : drafts) {
    if (draft.outcome != AdoptOutcome::adopted) continue;
    if (done) done = draft.file->set_hint(true);
    if (done)
      done = draft.file->set_attribute(record_name, encode(draft.record, store_.keys(), draft.handle));
  }
  if (done) done = entries.size() == 1 ? any->sync() : any->sync_file_system();
  return done;
}

}  // namespace braid::store
