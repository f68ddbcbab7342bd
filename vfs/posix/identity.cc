#include "vfs/posix/identity.h"

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "base/assert.h"

namespace braid::vfs::posix {
namespace {

// Invalid as an id: setfsuid(2) and setfsgid(2) change nothing and tell the present one.
constexpr long only_ask = -1;

// What the kernel has stored for this thread: a copy that saves system calls, not a context. The group parts
// stay as the last caller's between calls, where they mean nothing: the thread is user 0 then.
struct ThreadIdentity {
  std::optional<std::uint32_t> fsgid;
  bool groups_known = false;
  std::uint32_t group_count = 0;
  std::array<std::uint32_t, Credentials::groups_max> groups{};
  bool worn = false;
};
thread_local ThreadIdentity thread_identity;

// The raw calls: the C library's wrapper for groups changes every thread of the process.
bool set_fsuid(std::uint32_t uid) {
  ::syscall(SYS_setfsuid, uid);
  return static_cast<std::uint32_t>(::syscall(SYS_setfsuid, only_ask)) == uid;
}

bool set_fsgid(ThreadIdentity& thread, std::uint32_t gid) {
  if (thread.fsgid == gid) return true;
  ::syscall(SYS_setfsgid, gid);
  thread.fsgid = static_cast<std::uint32_t>(::syscall(SYS_setfsgid, only_ask));
  return thread.fsgid == gid;
}

bool set_groups(ThreadIdentity& thread, std::span<const std::uint32_t> groups) {
  const std::span<const std::uint32_t> present(thread.groups.data(), thread.group_count);
  if (thread.groups_known && std::ranges::equal(present, groups)) return true;
  if (::syscall(SYS_setgroups, groups.size(), groups.data()) != 0) return false;
  std::ranges::copy(groups, thread.groups.begin());
  thread.group_count = static_cast<std::uint32_t>(groups.size());
  thread.groups_known = true;
  return true;
}

bool has_capabilities(std::initializer_list<unsigned> wanted) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> data{};
  if (::syscall(SYS_capget, &header, data.data()) != 0) return false;
  return std::ranges::all_of(
      wanted, [&](unsigned bit) { return (data[bit / 32].effective >> (bit % 32) & 1U) != 0; });
}

// Of this thread; false if it may not, or has it already.
bool change_ownership(bool on) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> data{};
  constexpr std::uint32_t bit = 1U << CAP_FOWNER;
  if (::syscall(SYS_capget, &header, data.data()) != 0) return false;
  if (((data[0].effective & bit) != 0) == on || (data[0].permitted & bit) == 0) return false;
  data[0].effective ^= bit;
  return ::syscall(SYS_capset, &header, data.data()) == 0;
}

}  // namespace

Identity::Owning::Owning(bool wanted) : raised_(wanted && change_ownership(true)) {}

Identity::Owning::~Owning() {
  if (raised_) base::check(change_ownership(false), "a thread gives back what it took");
}

Identity::Identity(bool switching, bool opens_all)
    : switching_(switching), opens_all_(opens_all), own_uid_(::geteuid()) {}

Identity Identity::of_process() {
  const bool root = ::geteuid() == 0;
  return {root && has_capabilities({CAP_SETUID, CAP_SETGID}), root && has_capabilities({CAP_DAC_OVERRIDE})};
}

// Groups first: without CAP_SETGID they could not follow, but only the user decides about capabilities.
Identity::Worn::Worn(const Credentials& who) {
  ThreadIdentity& thread = thread_identity;
  base::check(!thread.worn, "one identity at a time");
  // User 0 has every right whatever its groups; only the group of what it makes matters.
  fits_ = who.uid == 0 || set_groups(thread, who.groups());
  fits_ = fits_ && set_fsgid(thread, who.gid);
  if (fits_ && who.uid != 0) {
    fits_ = set_fsuid(who.uid);
    thread.worn = true;
  }
}

Identity::Worn::~Worn() {
  if (!thread_identity.worn) return;
  thread_identity.worn = false;
  base::check(set_fsuid(0), "a thread becomes itself again");
}

}  // namespace braid::vfs::posix
