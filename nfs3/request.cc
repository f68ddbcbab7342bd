#include "nfs3/request.h"

#include <array>
#include <span>

#include "nfs/caller.h"
#include "rpc/usage.h"
#include "vfs/wire_handle.h"

namespace braid::nfs3 {
namespace {

using enum rpc::Work;

// By the number of the procedure.
constexpr std::array<rpc::Work, 22> work_of{none,   look,   change, look,   look,   look,   read,   write,
                                            change, change, change, change, change, change, change, change,
                                            look,   look,   look,   look,   look,   write};
static_assert(work_of.size() == static_cast<std::size_t>(NFS_V3_procedure::NFSPROC3_COMMIT) + 1);

}  // namespace

TargetAwaiter Request::target(const nfs_fh3& handle) {
  const vfs::Export* from = exports_->by_handle(handle.data);
  if (from == nullptr) {
    const bool ours = vfs::HandleCodec::export_of(handle.data).has_value();
    return {{}, base::fail(ours ? vfs::Error::stale : vfs::Error::badhandle), call_.peer_id};
  }
  const vfs::ExportRule* const rule = from->rule_of(nfs::address_of(call_.peer));
  if (rule == nullptr) return {{}, base::fail(vfs::Error::acces), call_.peer_id};
  from_ = from->id.value();
  vfs::Credentials who = nfs::credentials_of(call_.auth, *rule);
  who.protocol = vfs::Protocol::nfs3;
  who.peer = call_.peer_id;
  return {{from, who, {}}, from->file_system->resolve(handle.data), call_.peer_id};
}

void Request::ended(nfsstat3 status) {
  if (call_.usage != nullptr)
    call_.usage->count(from_, work_of[call_.procedure], status != nfsstat3::NFS3_OK);
}

void Request::read(std::uint64_t bytes) {
  if (call_.usage != nullptr) call_.usage->read(from_, bytes);
}

void Request::wrote(std::uint64_t bytes) {
  if (call_.usage != nullptr) call_.usage->wrote(from_, bytes);
}

nfs_fh3 Request::keep(const vfs::FileHandle& handle) {
  handle_ = handle;
  return {handle_.view()};
}

std::optional<std::string_view> Request::keep(const io::Payload& text) const {
  const auto bytes = text.in_memory();
  if (!bytes) return std::nullopt;
  bool fits = false;
  const std::span<char> copy = call_.arena.make<char>(bytes->size(), fits);
  if (!fits) return std::nullopt;
  bytes->copy_to(0, std::as_writable_bytes(copy));
  return std::string_view(copy.data(), copy.size());
}

}  // namespace braid::nfs3
