#include "nfs3/request.h"

#include <span>

#include "nfs3/caller.h"
#include "vfs/wire_handle.h"

namespace braid::nfs3 {

TargetAwaiter Request::target(const nfs_fh3& handle) const {
  const vfs::Export* from = exports_->by_handle(handle.data);
  if (from == nullptr) {
    const bool ours = vfs::HandleCodec::export_of(handle.data).has_value();
    return {{}, base::fail(ours ? vfs::Error::stale : vfs::Error::badhandle), call_.peer_id};
  }
  const vfs::ExportRule* const rule = from->rule_of(address_of(call_.peer));
  if (rule == nullptr) return {{}, base::fail(vfs::Error::acces), call_.peer_id};
  vfs::Credentials who = credentials_of(call_.auth, *rule);
  who.protocol = vfs::Protocol::nfs3;
  who.peer = call_.peer_id;
  return {{from, who, {}}, from->file_system->resolve(handle.data), call_.peer_id};
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
