#include "vfs/posix/transient_handles.h"

#include <cstring>

namespace braid::vfs::posix {
namespace {

// Only this process reads it, so the machine's byte order will do.
struct Body {
  std::uint64_t epoch = 0;
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t birth = 0;  // nanoseconds since 1970; 0 where the file system does not know
};
static_assert(sizeof(Body) <= HandleCodec::body_bytes_max);

}  // namespace

FileHandle TransientHandles::handle_of(const Stat& stat) const {
  Body body{epoch_, device_of(stat), stat.stx_ino, 0};
  if ((stat.stx_mask & STATX_BTIME) != 0)
    body.birth = static_cast<std::uint64_t>(stat.stx_btime.tv_sec) * 1'000'000'000 + stat.stx_btime.tv_nsec;
  return codec_.seal({true, 0, std::as_bytes(std::span(&body, 1))});
}

bool TransientHandles::is_current(base::BytesView body) const {
  if (body.size() != sizeof(Body)) return false;
  std::uint64_t epoch = 0;
  std::memcpy(&epoch, body.data() + offsetof(Body, epoch), sizeof epoch);
  return epoch == epoch_;
}

void TransientHandles::place(const FileHandle& handle, const FileHandle& parent, std::string_view name) {
  const std::uint64_t mac = HandleCodec::mac_of(handle.view());
  std::scoped_lock lock(mutex_);
  if (const auto found = by_mac_.find(mac); found != by_mac_.end()) {
    Whereabouts& at = found->second->at;
    if (at.name != name || at.parent != parent) at = {parent, std::string(name)};
    by_use_.splice(by_use_.begin(), by_use_, found->second);
    return;
  }
  if (by_mac_.size() >= entries_max_) {
    by_mac_.erase(by_use_.back().mac);
    by_use_.pop_back();
  }
  by_use_.push_front({mac, {parent, std::string(name)}});
  by_mac_.emplace(mac, by_use_.begin());
}

void TransientHandles::forget(const FileHandle& handle) {
  std::scoped_lock lock(mutex_);
  const auto found = by_mac_.find(HandleCodec::mac_of(handle.view()));
  if (found == by_mac_.end()) return;
  by_use_.erase(found->second);
  by_mac_.erase(found);
}

std::optional<Whereabouts> TransientHandles::find(const FileHandle& handle) {
  std::scoped_lock lock(mutex_);
  const auto found = by_mac_.find(HandleCodec::mac_of(handle.view()));
  if (found == by_mac_.end()) return std::nullopt;
  by_use_.splice(by_use_.begin(), by_use_, found->second);
  return found->second->at;
}

}  // namespace braid::vfs::posix
