#include "nfs3/names.h"

#include <climits>

namespace braid::nfs3 {
namespace {

base::Result<void, vfs::Error> check_dots(bool parent, NameUse use) {
  switch (use) {
    case NameUse::lookup:
      return {};
    case NameUse::create:
      return base::fail(vfs::Error::exist);
    case NameUse::rmdir:
      return base::fail(parent ? vfs::Error::exist : vfs::Error::inval);
    case NameUse::remove:
    case NameUse::rename:
      return base::fail(vfs::Error::inval);
  }
  return base::fail(vfs::Error::inval);
}

}  // namespace

base::Result<void, vfs::Error> check_name(std::string_view name, NameUse use) {
  if (name.empty()) return base::fail(vfs::Error::acces);
  if (name.size() > NAME_MAX) return base::fail(vfs::Error::nametoolong);
  if (name.find('/') != name.npos || name.find('\0') != name.npos) return base::fail(vfs::Error::inval);
  if (name == ".") return check_dots(false, use);
  if (name == "..") return check_dots(true, use);
  return {};
}

base::Result<void, vfs::Error> check_link_target(std::string_view target) {
  if (target.empty() || target.find('\0') != target.npos) return base::fail(vfs::Error::inval);
  if (target.size() >= PATH_MAX) return base::fail(vfs::Error::nametoolong);
  return {};
}

}  // namespace braid::nfs3
