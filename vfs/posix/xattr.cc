// Extended attributes of the "user." name space (RFC 8276).
#include <sys/xattr.h>

#include <algorithm>
#include <climits>
#include <string>
#include <vector>

#include "vfs/posix/tree.h"

namespace braid::vfs::posix {
namespace {

constexpr std::string_view prefix = "user.";
constexpr std::size_t list_bytes_max = 65536;  // XATTR_LIST_MAX

// With the prefix, as the kernel wants it.
Outcome<std::string> kernel_name(std::string_view name) {
  if (name.empty() || name.find('\0') != name.npos) return base::fail(Error::inval);
  if (name.size() > XATTR_NAME_MAX - prefix.size()) return base::fail(Error::nametoolong);
  return std::string(prefix) + std::string(name);
}

Outcome<> xattr_outcome_of(int returned) {
  if (returned < 0) return failed_xattr_call();
  return {};
}

int flags_of(XattrMode mode) {
  switch (mode) {
    case XattrMode::either:
      return 0;
    case XattrMode::create:
      return XATTR_CREATE;
    case XattrMode::replace:
      return XATTR_REPLACE;
  }
  return 0;
}

struct Listed {
  std::uint64_t cookie = 0;
  std::string_view name;
  friend bool operator<(const Listed& a, const Listed& b) {
    return a.cookie != b.cookie ? a.cookie < b.cookie : a.name < b.name;
  }
};

}  // namespace

Outcome<std::size_t> Tree::get_xattr(const Credentials& who, PosixFile& file, std::string_view name,
                                     base::MutableBytes out) {
  const auto full = kernel_name(name);
  if (!full) return base::fail(full.error());
  if (auto alive = live_attributes(file); !alive) return base::fail(alive.error());
  const std::string path = path_of(file.fd());
  return identity_.as(who, [&]() -> Outcome<std::size_t> {
    const ssize_t size = ::getxattr(path.c_str(), full->c_str(), out.data(), out.size());
    if (size < 0) return failed_xattr_call();
    return static_cast<std::size_t>(size);
  });
}

Outcome<> Tree::set_xattr(const Credentials& who, PosixFile& file, std::string_view name,
                          base::BytesView value, XattrMode mode, Wcc& wcc) {
  PlannedSync plan;
  {
    const Change change(*this, file, &wcc);
    if (auto allowed = change.allowed(who); !allowed) return allowed;
    const auto full = kernel_name(name);
    if (!full) return base::fail(full.error());
    const auto free = ask_back(who, file, OwnChange::attributes);
    if (!free) return base::fail(free.error());
    const std::string path = path_of(file.fd());
    plan = plan_sync(file);
    const auto done = identity_.as(who, [&] {
      return xattr_outcome_of(
          ::setxattr(path.c_str(), full->c_str(), value.data(), value.size(), flags_of(mode)));
    });
    if (!done) return done;
  }
  return carry_out(plan);
}

// In the order of a keyed hash of the names, which is the cookie: a name keeps its place whatever comes and
// goes. Whoever may read the file may know the names; the kernel asks for no right at all.
Outcome<bool> Tree::list_xattrs(const Credentials& who, PosixFile& file, std::uint64_t cookie,
                                const XattrSink& sink) {
  const auto now = live_attributes(file);
  if (!now) return base::fail(now.error());
  if (auto permitted = permit(who, file, R_OK, *now); !permitted) return base::fail(permitted.error());
  std::string names(list_bytes_max, '\0');
  const ssize_t size = ::listxattr(path_of(file.fd()).c_str(), names.data(), names.size());
  if (size < 0) return failed_xattr_call();
  names.resize(static_cast<std::size_t>(size));
  const base::SipKey key{options_.key[0] ^ 0x78617474722d6e61, options_.key[1] ^ 0x6d652d636f6f6b69};
  std::vector<Listed> listed;
  for (std::string_view rest = names; !rest.empty();) {
    const std::string_view full = rest.substr(0, rest.find('\0'));
    rest.remove_prefix(std::min(rest.size(), full.size() + 1));
    if (!full.starts_with(prefix)) continue;
    const std::string_view name = full.substr(prefix.size());
    const Listed one{std::max<std::uint64_t>(base::siphash24(key, base::bytes_of(name)), 1), name};
    if (one.cookie > cookie) listed.push_back(one);
  }
  std::ranges::sort(listed, std::less<>());
  return std::ranges::all_of(listed, [&](const Listed& one) { return sink(one.name, one.cookie); });
}

Outcome<> Tree::remove_xattr(const Credentials& who, PosixFile& file, std::string_view name, Wcc& wcc) {
  PlannedSync plan;
  {
    const Change change(*this, file, &wcc);
    if (auto allowed = change.allowed(who); !allowed) return allowed;
    const auto full = kernel_name(name);
    if (!full) return base::fail(full.error());
    const auto free = ask_back(who, file, OwnChange::attributes);
    if (!free) return base::fail(free.error());
    const std::string path = path_of(file.fd());
    plan = plan_sync(file);
    const auto done =
        identity_.as(who, [&] { return xattr_outcome_of(::removexattr(path.c_str(), full->c_str())); });
    if (!done) return done;
  }
  return carry_out(plan);
}

}  // namespace braid::vfs::posix
