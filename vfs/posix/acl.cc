// POSIX ACLs, as the kernel keeps them in extended attributes (linux/posix_acl_xattr.h): a version, then 8
// bytes for each entry, all little-endian.
#include <linux/posix_acl_xattr.h>
#include <sys/xattr.h>

#include <bit>
#include <cstring>
#include <string>

#include "vfs/posix/tree.h"

namespace braid::vfs::posix {
namespace {

static_assert(std::endian::native == std::endian::little, "ACLs are copied as they are");

constexpr const char* access_name = "system.posix_acl_access";
constexpr const char* default_name = "system.posix_acl_default";
constexpr std::size_t header_bytes = sizeof(posix_acl_xattr_header);
constexpr std::size_t entry_bytes = sizeof(posix_acl_xattr_entry);
constexpr std::size_t xattr_bytes_max = header_bytes + acl_entries_max * entry_bytes;
constexpr std::uint32_t undefined_id = 0xffffffff;  // ACL_UNDEFINED_ID

struct TagRow {
  AclTag tag;
  std::uint16_t number;  // linux/posix_acl.h, which is not for user space
};
constexpr TagRow tags[] = {{AclTag::user_obj, 0x01}, {AclTag::user, 0x02}, {AclTag::group_obj, 0x04},
                           {AclTag::group, 0x08},    {AclTag::mask, 0x10}, {AclTag::other, 0x20}};

bool has_id(AclTag tag) { return tag == AclTag::user || tag == AclTag::group; }

std::optional<AclTag> tag_of(std::uint16_t number) {
  for (const TagRow& row : tags)
    if (row.number == number) return row.tag;
  return std::nullopt;
}

std::uint16_t number_of(AclTag tag) {
  for (const TagRow& row : tags)
    if (row.tag == tag) return row.number;
  return 0;
}

Outcome<AclEntries> parse(std::string_view bytes) {
  posix_acl_xattr_header header{};
  if (bytes.size() < header_bytes || (bytes.size() - header_bytes) % entry_bytes != 0)
    return base::fail(Error::io);
  std::memcpy(&header, bytes.data(), header_bytes);
  if (header.a_version != POSIX_ACL_XATTR_VERSION) return base::fail(Error::notsupp);
  AclEntries out;
  for (std::size_t at = header_bytes; at < bytes.size(); at += entry_bytes) {
    posix_acl_xattr_entry entry{};
    std::memcpy(&entry, bytes.data() + at, entry_bytes);
    const auto tag = tag_of(entry.e_tag);
    if (!tag) return base::fail(Error::io);
    out.push_back({*tag, static_cast<std::uint8_t>(entry.e_perm & 7U), has_id(*tag) ? entry.e_id : 0});
  }
  return out;
}

std::string form(const AclEntries& entries) {
  std::string out(header_bytes + entries.size() * entry_bytes, '\0');
  const posix_acl_xattr_header header{POSIX_ACL_XATTR_VERSION};
  std::memcpy(out.data(), &header, header_bytes);
  std::size_t at = header_bytes;
  for (const AclEntry& entry : entries) {
    const posix_acl_xattr_entry raw{number_of(entry.tag), static_cast<std::uint16_t>(entry.permissions & 7U),
                                    has_id(entry.tag) ? entry.id : undefined_id};
    std::memcpy(out.data() + at, &raw, entry_bytes);
    at += entry_bytes;
  }
  return out;
}

Outcome<AclEntries> read_acl(const std::string& path, const char* name) {
  std::string bytes(4096, '\0');
  ssize_t size = ::getxattr(path.c_str(), name, bytes.data(), bytes.size());
  if (size < 0 && errno == ERANGE) {
    bytes.resize(xattr_bytes_max);
    size = ::getxattr(path.c_str(), name, bytes.data(), bytes.size());
  }
  if (size < 0) {
    if (errno == ENODATA) return AclEntries{};
    return failed_call();
  }
  return parse(std::string_view(bytes).substr(0, static_cast<std::size_t>(size)));
}

// As the calling thread's user.
Outcome<> write_acl(const std::string& path, const char* name, const AclEntries& entries) {
  if (entries.size() > acl_entries_max) return base::fail(Error::xattr2big);
  if (entries.empty()) {
    if (::removexattr(path.c_str(), name) == 0 || errno == ENODATA) return {};
    return failed_call();
  }
  const std::string value = form(entries);
  return outcome_of(::setxattr(path.c_str(), name, value.data(), value.size(), 0));
}

}  // namespace

Outcome<PosixAcl> Tree::get_acl(PosixFile& file) {
  if (auto alive = live_attributes(file); !alive) return base::fail(alive.error());
  // A link has none, and asking for its ACL is an error of its own kind in each file system.
  if (file.type() == FileType::symlink) return PosixAcl{};
  const std::string path = path_of(file.fd());
  PosixAcl out;
  auto access = read_acl(path, access_name);
  if (!access) return base::fail(access.error());
  out.access = std::move(*access);
  if (file.type() == FileType::directory) {
    auto inherited = read_acl(path, default_name);
    if (!inherited) return base::fail(inherited.error());
    out.inherited = std::move(*inherited);
  }
  return out;
}

Outcome<> Tree::set_acl(const Credentials& who, PosixFile& file, const SetAcl& set, Wcc* wcc) {
  PlannedSync plan;
  {
    const Change change(*this, file, wcc);
    if (auto allowed = change.allowed(who); !allowed) return allowed;
    if (file.type() == FileType::symlink) return base::fail(Error::notsupp);
    const auto free = ask_back(who, file, OwnChange::attributes);
    if (!free) return base::fail(free.error());
    const std::string path = path_of(file.fd());
    plan = plan_sync(file);
    const auto done = identity_.as(who, [&]() -> Outcome<> {
      if (set.access)
        if (auto written = write_acl(path, access_name, *set.access); !written) return written;
      if (set.inherited && file.type() == FileType::directory) {
        const auto written = write_acl(path, default_name, *set.inherited);
        if (!written && set.access) return late(written.error());
        return written;
      }
      // Only directories hand something on (acl(5)).
      if (set.inherited && !set.inherited->empty()) return base::fail(Error::acces);
      return {};
    });
    if (!done) return done;
  }
  return carry_out(plan);
}

}  // namespace braid::vfs::posix
