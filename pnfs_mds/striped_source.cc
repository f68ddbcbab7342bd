#include "pnfs_mds/striped_source.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "base/arith.h"
#include "base/log.h"

namespace braid::pnfs_mds {
namespace {

std::string_view text_of(pnfs::RecordFault fault) {
  switch (fault) {
    case pnfs::RecordFault::damaged:
      return "it is damaged";
    case pnfs::RecordFault::foreign:
      return "it was copied from another file";
    case pnfs::RecordFault::too_new:
      return "it is of a later version of braid";
  }
  return "";
}

// What a server says need not be true; the sum is at least a number that clients take.
std::uint64_t sum_at_most(std::uint64_t a, std::uint64_t b) {
  constexpr std::uint64_t most = std::numeric_limits<std::int64_t>::max();
  return std::min(base::add(a, b).value_or(most), most);
}

}  // namespace

StripedSource::StripedSource(const StripedParts& parts, const StripePolicy& policy, const hashing::Key& key,
                             const vfs::Verifier& verifier)
    : parts_(parts), policy_(policy), codec_(key), verifier_(verifier) {}

StripedContent* StripedSource::of(const vfs::ContentRef& content) const {
  if (content == nullptr || &content->source() != this) return nullptr;
  return static_cast<StripedContent*>(content.get());
}

// One that is made after the second look finds in the log that it is unsettled.
void StripedSource::written(pnfs::ObjectId object) {
  std::shared_ptr<StripedContent> content = living(object);
  if (content == nullptr) {
    parts_.dirty.written(object, {});
    content = living(object);
  }
  if (content != nullptr) content->note_written();
}

bool StripedSource::has_writers(pnfs::ObjectId object) const {
  const std::shared_ptr<StripedContent> content = living(object);
  return content != nullptr && (content->has_writers() || content->changing());
}

std::shared_ptr<StripedContent> StripedSource::content_of(const pnfs::LayoutRecord& record,
                                                          const vfs::FileHandle& file, bool fresh) {
  return living_.find_or_make(record.object,
                              [&] { return std::make_shared<StripedContent>(*this, record, file, fresh); });
}

vfs::VfsOp<> StripedSource::put_record(vfs::Stub& stub, pnfs::LayoutRecord record) const {
  const base::Bytes bytes = codec_.seal(record, stub.handle().view());
  co_await stub.put_record(bytes);
}

vfs::VfsOp<vfs::ContentRef> StripedSource::load(vfs::Stub& stub, base::BytesView record) {
  const auto opened = codec_.open(record, stub.handle().view());
  if (opened) return vfs::VfsOp<vfs::ContentRef>(content_of(*opened, stub.handle(), false));
  base::log_event(base::Level::error, "layout_record_refused",
                  "fileid={} attribute={}: {}; the file cannot be read", stub.fileid(), this->record(),
                  text_of(opened.error()));
  return base::fail(vfs::Error::io);
}

// Clients write the attribute, so nothing but numbers of it goes into the log.
vfs::VfsOp<StripePolicy> StripedSource::policy_of(vfs::Stub& stub) {
  const auto found = co_await stub.inherited(stripe_attribute).as_result();
  if (!found && found.error() == vfs::Error::delay) co_await base::fail(found.error());
  if (!found || !*found) co_return policy_;
  auto parsed = parse_stripes((*found)->value, policy_);
  if (parsed) co_return *parsed;
  const bool first = complaints_.with([&](std::set<std::uint64_t>& known) {
    return known.size() < complaints_max && known.insert((*found)->fileid).second;
  });
  if (first)
    base::log_event(base::Level::warning, "stripes_ignored",
                    "directory fileid={} attribute={}: {}; files are placed as elsewhere in the export",
                    (*found)->fileid, stripe_attribute, parsed.error());
  co_return policy_;
}

vfs::VfsOp<vfs::ContentRef> StripedSource::place(vfs::Stub& stub, const vfs::ContentRef& former,
                                                 const vfs::PlacementHint& /*hint*/) {
  if (former != nullptr) co_return former;
  const vfs::Attributes now = co_await stub.attributes();
  if (now.size > 0) co_return vfs::ContentRef();
  const StripePolicy policy = co_await policy_of(stub);
  const std::vector<ServerRoomLeft> servers = parts_.servers.in_contact();
  if (servers.empty()) co_await base::fail(vfs::Error::delay);
  const pnfs::ObjectId object(co_await parts_.objects.next(1));
  const std::optional<pnfs::LayoutRecord> record = choose(policy, object, servers);
  co_await put_record(stub, *record);
  co_return content_of(*record, stub.handle(), true);
}

vfs::VfsOp<> StripedSource::removing(vfs::Stub& stub, vfs::Content& content) {
  const pnfs::LayoutRecord record = static_cast<StripedContent&>(content).record();
  return parts_.removals.intend({record.object, record.servers, stub.handle()});
}

void StripedSource::gone(vfs::ContentRef content) {
  const pnfs::LayoutRecord record = static_cast<StripedContent&>(*content).record();
  parts_.removals.gone({record.object, record.servers, {}});
  parts_.dirty.forget(record.object);
  parts_.truncations.forget(record.object);
}

vfs::VfsOp<> StripedSource::adjust(vfs::FileSystemStatus& status) {
  vfs::FileSystemStatus all;
  constexpr decltype(ServerRoom::file_system) unknown{};
  std::set<decltype(ServerRoom::file_system)> counted;
  for (const DataServerInfo& server : parts_.servers.all()) {
    const bool is_shared = server.room.file_system != unknown;
    if (is_shared && !counted.insert(server.room.file_system).second) continue;
    all.bytes_total = sum_at_most(all.bytes_total, server.room.bytes_total);
    all.bytes_free = sum_at_most(all.bytes_free, server.room.bytes_free);
    all.bytes_available = sum_at_most(all.bytes_available, server.room.bytes_available);
  }
  if (all.bytes_total == 0) return io::ready_op<vfs::Error>();
  status.bytes_total = all.bytes_total;
  status.bytes_free = all.bytes_free;
  status.bytes_available = all.bytes_available;
  return io::ready_op<vfs::Error>();
}

}  // namespace braid::pnfs_mds
