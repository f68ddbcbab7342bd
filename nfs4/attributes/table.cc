#include "nfs4/attributes/table.h"

#include <algorithm>
#include <array>

#include "nfs4/attributes/take.h"
#include "xdr/sequence.h"

namespace braid::nfs4::attributes {
namespace {

using Out = FlatWriter;
using Source = AttributeSource;

constexpr std::uint32_t object = Facts::object, limits = Facts::limits, space = Facts::space;

void put_time(Out& out, const vfs::Time& time) {
  out.i64(time.seconds);
  out.u32(time.nanoseconds);
}

void put_bitmap(Out& out, const Bitmap& map) {
  const auto words = map.wire();
  out.u32(static_cast<std::uint32_t>(words.size()));
  for (const std::uint32_t word : words) out.u32(word);
}

// A bitmap4 of one word.
void put_word(Out& out, std::uint32_t word) {
  out.u32(1);
  out.u32(word);
}

void put_open_arguments(Out& out, const Source& s) {
  const OpenArguments& known = s.server->open_arguments;
  for (const std::uint32_t word :
       {known.share_access, known.share_deny, known.share_access_want, known.open_claim, known.create_mode})
    put_word(out, word);
}

nfs_ftype4 type_of(vfs::FileType type) {
  switch (type) {
    case vfs::FileType::regular:
      return nfs_ftype4::NF4REG;
    case vfs::FileType::directory:
      return nfs_ftype4::NF4DIR;
    case vfs::FileType::block_device:
      return nfs_ftype4::NF4BLK;
    case vfs::FileType::character_device:
      return nfs_ftype4::NF4CHR;
    case vfs::FileType::symlink:
      return nfs_ftype4::NF4LNK;
    case vfs::FileType::socket:
      return nfs_ftype4::NF4SOCK;
    case vfs::FileType::fifo:
      return nfs_ftype4::NF4FIFO;
  }
  return nfs_ftype4::NF4REG;
}

// The components of "/a/b", one after the other.
template <class F>
void for_each_component(std::string_view path, F f) {
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/'), path.size());
    if (end > 0) f(path.substr(0, end));
    path.remove_prefix(std::min(end + 1, path.size()));
  }
}

void put_path(Out& out, std::string_view path) {
  std::uint32_t count = 0;
  for_each_component(path, [&](std::string_view) { ++count; });
  out.u32(count);
  for_each_component(path, [&](std::string_view component) { out.text(component); });
}

std::size_t fs_locations_bytes(const Source& s) {
  std::size_t bytes = 8;
  for_each_component(s.fs_root, [&](std::string_view c) { bytes += xdr::opaque_size(c.size()); });
  for (const fs_location4& location : s.locations) bytes += encoded_size(location);
  return bytes;
}

void put_fs_locations(Out& out, const Source& s) {
  put_path(out, s.fs_root);
  out.u32(static_cast<std::uint32_t>(s.locations.size()));
  for (const fs_location4& location : s.locations) {
    out.u32(static_cast<std::uint32_t>(location.server.size()));
    for (const std::string_view server : location.server) out.text(server);
    out.u32(static_cast<std::uint32_t>(location.rootpath.size()));
    for (const std::string_view component : location.rootpath) out.text(component);
  }
}

std::size_t acl_bytes(const Source& s) {
  std::size_t bytes = 4;
  for (const nfsace4& ace : s.acl) bytes += 12 + xdr::opaque_size(ace.who.size());
  return bytes;
}

void put_acl(Out& out, const Source& s) {
  out.u32(static_cast<std::uint32_t>(s.acl.size()));
  for (const nfsace4& ace : s.acl) {
    out.u32(ace.type);
    out.u32(ace.flag);
    out.u32(ace.access_mask);
    out.text(ace.who);
  }
}

template <bool value>
void put_flag(Out& out, const Source&) {
  out.boolean(value);
}

void put_stripe_bytes(Out& out, const Source& s) { out.u32(s.limits.stripe_bytes); }

// How the table below says things.
constexpr Row u32(std::uint32_t number, std::string_view name, std::uint32_t facts,
                  void (*put)(Out&, const Source&), std::string_view section, std::uint8_t minor = 0) {
  return {.number = number,
          .name = name,
          .minor = minor,
          .facts = facts,
          .bytes = 4,
          .put = put,
          .section = section};
}
constexpr Row u64(std::uint32_t number, std::string_view name, std::uint32_t facts,
                  void (*put)(Out&, const Source&), std::string_view section, std::uint8_t minor = 0) {
  return {.number = number,
          .name = name,
          .minor = minor,
          .facts = facts,
          .bytes = 8,
          .put = put,
          .section = section};
}
constexpr Row time(std::uint32_t number, std::string_view name, std::uint32_t facts,
                   void (*put)(Out&, const Source&), std::string_view section) {
  return {.number = number, .name = name, .facts = facts, .bytes = 12, .put = put, .section = section};
}
constexpr Row sized(std::uint32_t number, std::string_view name, std::uint8_t minor, std::uint32_t facts,
                    std::size_t (*bytes_of)(const Source&), void (*put)(Out&, const Source&),
                    std::string_view section) {
  return {.number = number,
          .name = name,
          .minor = minor,
          .facts = facts,
          .bytes_of = bytes_of,
          .put = put,
          .section = section};
}
constexpr Row set_only(std::uint32_t number, std::string_view name, std::uint8_t minor,
                       nfsstat4 (*take)(xdr::Decoder&, SetRequest&), std::string_view section) {
  return {
      .number = number, .name = name, .minor = minor, .use = Use::write, .take = take, .section = section};
}
// An attribute of the RFCs that this server does not have.
constexpr Row none(std::uint32_t number, std::string_view name, std::uint8_t minor, Use use,
                   std::string_view section) {
  return {.number = number, .name = name, .minor = minor, .use = use, .section = section};
}
constexpr Row settable(Row row, nfsstat4 (*take)(xdr::Decoder&, SetRequest&)) {
  row.use = Use::both;
  row.take = take;
  return row;
}

std::size_t bitmap_bytes(const Source&) { return 4 + 4 * Bitmap::words_max; }

constexpr auto table = std::to_array<Row>({
    sized(
        FATTR4_SUPPORTED_ATTRS, "supported_attrs", 0, object | limits, bitmap_bytes,
        [](Out& out, const Source& s) { put_bitmap(out, supported(s)); }, "RFC 8881 5.8.1.1"),
    u32(
        FATTR4_TYPE, "type", object,
        [](Out& out, const Source& s) { out.u32(static_cast<std::uint32_t>(type_of(s.object.type))); },
        "RFC 8881 5.8.1.2"),
    u32(
        FATTR4_FH_EXPIRE_TYPE, "fh_expire_type", 0, [](Out& out, const Source&) { out.u32(FH4_PERSISTENT); },
        "RFC 8881 5.8.1.3"),
    u64(
        FATTR4_CHANGE, "change", object, [](Out& out, const Source& s) { out.u64(s.object.change); },
        "RFC 8881 5.8.1.4"),
    settable(u64(
                 FATTR4_SIZE, "size", object, [](Out& out, const Source& s) { out.u64(s.object.size); },
                 "RFC 8881 5.8.1.5"),
             take_size),
    u32(
        FATTR4_LINK_SUPPORT, "link_support", limits,
        [](Out& out, const Source& s) { out.boolean(s.limits.hard_links); }, "RFC 8881 5.8.1.6"),
    u32(
        FATTR4_SYMLINK_SUPPORT, "symlink_support", limits,
        [](Out& out, const Source& s) { out.boolean(s.limits.symlinks); }, "RFC 8881 5.8.1.7"),
    u32(FATTR4_NAMED_ATTR, "named_attr", 0, put_flag<false>, "RFC 8881 5.8.1.8"),
    {.number = FATTR4_FSID,
     .name = "fsid",
     .facts = object,
     .bytes = 16,
     .put =
         [](Out& out, const Source& s) {
           out.u64(s.fsid.major_);
           out.u64(s.fsid.minor_);
         },
     .section = "RFC 8881 5.8.1.9"},
    u32(FATTR4_UNIQUE_HANDLES, "unique_handles", 0, put_flag<true>, "RFC 8881 5.8.1.10"),
    u32(
        FATTR4_LEASE_TIME, "lease_time", 0,
        [](Out& out, const Source& s) { out.u32(s.server->lease_seconds); }, "RFC 8881 5.8.1.11"),
    u32(
        FATTR4_RDATTR_ERROR, "rdattr_error", 0,
        [](Out& out, const Source& s) { out.u32(static_cast<std::uint32_t>(s.rdattr_error)); },
        "RFC 8881 5.8.1.12"),
    settable(sized(FATTR4_ACL, "acl", 0, object | limits | Facts::acl, acl_bytes, put_acl, "RFC 8881 6.2.1"),
             take_acl),
    u32(
        FATTR4_ACLSUPPORT, "aclsupport", limits,
        [](Out& out, const Source& s) {
          out.u32(s.limits.acls ? ACL4_SUPPORT_ALLOW_ACL | ACL4_SUPPORT_DENY_ACL : 0);
        },
        "RFC 8881 6.2.1.2"),
    none(FATTR4_ARCHIVE, "archive", 0, Use::both, "RFC 8881 5.8.2.1"),
    u32(
        FATTR4_CANSETTIME, "cansettime", limits,
        [](Out& out, const Source& s) { out.boolean(s.limits.can_set_time); }, "RFC 8881 5.8.2.2"),
    u32(
        FATTR4_CASE_INSENSITIVE, "case_insensitive", limits,
        [](Out& out, const Source& s) { out.boolean(s.limits.case_insensitive); }, "RFC 8881 5.8.2.3"),
    u32(
        FATTR4_CASE_PRESERVING, "case_preserving", limits,
        [](Out& out, const Source& s) { out.boolean(s.limits.case_preserving); }, "RFC 8881 5.8.2.4"),
    u32(
        FATTR4_CHOWN_RESTRICTED, "chown_restricted", limits,
        [](Out& out, const Source& s) { out.boolean(s.limits.chown_restricted); }, "RFC 8881 5.8.2.7"),
    sized(
        FATTR4_FILEHANDLE, "filehandle", 0, 0,
        [](const Source& s) { return xdr::opaque_size(s.handle.size()); },
        [](Out& out, const Source& s) { out.opaque(s.handle); }, "RFC 8881 5.8.1.13"),
    u64(
        FATTR4_FILEID, "fileid", object, [](Out& out, const Source& s) { out.u64(s.object.fileid); },
        "RFC 8881 5.8.2.10"),
    u64(
        FATTR4_FILES_AVAIL, "files_avail", space,
        [](Out& out, const Source& s) { out.u64(s.space.files_available); }, "RFC 8881 5.8.2.11"),
    u64(
        FATTR4_FILES_FREE, "files_free", space,
        [](Out& out, const Source& s) { out.u64(s.space.files_free); }, "RFC 8881 5.8.2.12"),
    u64(
        FATTR4_FILES_TOTAL, "files_total", space,
        [](Out& out, const Source& s) { out.u64(s.space.files_total); }, "RFC 8881 5.8.2.13"),
    sized(FATTR4_FS_LOCATIONS, "fs_locations", 0, 0, fs_locations_bytes, put_fs_locations, "RFC 8881 11.16"),
    none(FATTR4_HIDDEN, "hidden", 0, Use::both, "RFC 8881 5.8.2.14"),
    u32(
        FATTR4_HOMOGENEOUS, "homogeneous", limits,
        [](Out& out, const Source& s) { out.boolean(s.limits.homogeneous); }, "RFC 8881 5.8.2.15"),
    u64(
        FATTR4_MAXFILESIZE, "maxfilesize", limits,
        [](Out& out, const Source& s) { out.u64(s.limits.file_bytes_max); }, "RFC 8881 5.8.2.16"),
    u32(
        FATTR4_MAXLINK, "maxlink", limits, [](Out& out, const Source& s) { out.u32(s.limits.link_max); },
        "RFC 8881 5.8.2.17"),
    u32(
        FATTR4_MAXNAME, "maxname", limits,
        [](Out& out, const Source& s) { out.u32(s.limits.name_bytes_max); }, "RFC 8881 5.8.2.18"),
    u64(
        FATTR4_MAXREAD, "maxread", 0, [](Out& out, const Source& s) { out.u64(s.server->read_bytes_max); },
        "RFC 8881 5.8.2.19"),
    u64(
        FATTR4_MAXWRITE, "maxwrite", 0, [](Out& out, const Source& s) { out.u64(s.server->write_bytes_max); },
        "RFC 8881 5.8.2.20"),
    none(FATTR4_MIMETYPE, "mimetype", 0, Use::both, "RFC 8881 5.8.2.21"),
    settable(u32(
                 FATTR4_MODE, "mode", object,
                 [](Out& out, const Source& s) { out.u32(s.object.mode & mode_bits); }, "RFC 8881 6.2.4"),
             take_mode),
    u32(
        FATTR4_NO_TRUNC, "no_trunc", limits,
        [](Out& out, const Source& s) { out.boolean(s.limits.no_truncation); }, "RFC 8881 5.8.2.24"),
    u32(
        FATTR4_NUMLINKS, "numlinks", object, [](Out& out, const Source& s) { out.u32(s.object.nlink); },
        "RFC 8881 5.8.2.25"),
    settable(sized(
                 FATTR4_OWNER, "owner", 0, object | Facts::owner,
                 [](const Source& s) { return xdr::opaque_size(s.owner.view().size()); },
                 [](Out& out, const Source& s) { out.text(s.owner.view()); }, "RFC 8881 5.8.2.26"),
             take_owner),
    settable(sized(
                 FATTR4_OWNER_GROUP, "owner_group", 0, object | Facts::group,
                 [](const Source& s) { return xdr::opaque_size(s.group.view().size()); },
                 [](Out& out, const Source& s) { out.text(s.group.view()); }, "RFC 8881 5.8.2.27"),
             take_group),
    none(FATTR4_QUOTA_AVAIL_HARD, "quota_avail_hard", 0, Use::read, "RFC 8881 5.8.2.28"),
    none(FATTR4_QUOTA_AVAIL_SOFT, "quota_avail_soft", 0, Use::read, "RFC 8881 5.8.2.29"),
    none(FATTR4_QUOTA_USED, "quota_used", 0, Use::read, "RFC 8881 5.8.2.30"),
    {.number = FATTR4_RAWDEV,
     .name = "rawdev",
     .facts = object,
     .bytes = 8,
     .put =
         [](Out& out, const Source& s) {
           out.u32(s.object.rdev.major);
           out.u32(s.object.rdev.minor);
         },
     .section = "RFC 8881 5.8.2.31"},
    u64(
        FATTR4_SPACE_AVAIL, "space_avail", space,
        [](Out& out, const Source& s) { out.u64(s.space.bytes_available); }, "RFC 8881 5.8.2.32"),
    u64(
        FATTR4_SPACE_FREE, "space_free", space,
        [](Out& out, const Source& s) { out.u64(s.space.bytes_free); }, "RFC 8881 5.8.2.33"),
    u64(
        FATTR4_SPACE_TOTAL, "space_total", space,
        [](Out& out, const Source& s) { out.u64(s.space.bytes_total); }, "RFC 8881 5.8.2.34"),
    u64(
        FATTR4_SPACE_USED, "space_used", object, [](Out& out, const Source& s) { out.u64(s.object.space); },
        "RFC 8881 5.8.2.35"),
    none(FATTR4_SYSTEM, "system", 0, Use::both, "RFC 8881 5.8.2.36"),
    time(
        FATTR4_TIME_ACCESS, "time_access", object,
        [](Out& out, const Source& s) { put_time(out, s.object.atime); }, "RFC 8881 5.8.2.37"),
    set_only(FATTR4_TIME_ACCESS_SET, "time_access_set", 0, take_atime, "RFC 8881 5.8.2.38"),
    none(FATTR4_TIME_BACKUP, "time_backup", 0, Use::both, "RFC 8881 5.8.2.39"),
    time(
        FATTR4_TIME_CREATE, "time_create", object,
        [](Out& out, const Source& s) { put_time(out, s.object.btime); }, "RFC 8881 5.8.2.40"),
    time(
        FATTR4_TIME_DELTA, "time_delta", limits,
        [](Out& out, const Source& s) { put_time(out, s.limits.time_delta); }, "RFC 8881 5.8.2.41"),
    time(
        FATTR4_TIME_METADATA, "time_metadata", object,
        [](Out& out, const Source& s) { put_time(out, s.object.ctime); }, "RFC 8881 5.8.2.42"),
    time(
        FATTR4_TIME_MODIFY, "time_modify", object,
        [](Out& out, const Source& s) { put_time(out, s.object.mtime); }, "RFC 8881 5.8.2.43"),
    set_only(FATTR4_TIME_MODIFY_SET, "time_modify_set", 0, take_mtime, "RFC 8881 5.8.2.44"),
    u64(
        FATTR4_MOUNTED_ON_FILEID, "mounted_on_fileid", object,
        [](Out& out, const Source& s) { out.u64(s.mounted_on_fileid); }, "RFC 8881 5.8.2.23"),
    none(FATTR4_DIR_NOTIF_DELAY, "dir_notif_delay", 1, Use::read, "RFC 8881 5.11.1"),
    none(FATTR4_DIRENT_NOTIF_DELAY, "dirent_notif_delay", 1, Use::read, "RFC 8881 5.11.2"),
    none(FATTR4_DACL, "dacl", 1, Use::both, "RFC 8881 6.2.2"),
    none(FATTR4_SACL, "sacl", 1, Use::both, "RFC 8881 6.2.3"),
    none(FATTR4_CHANGE_POLICY, "change_policy", 1, Use::read, "RFC 8881 5.8.2.8"),
    none(FATTR4_FS_STATUS, "fs_status", 1, Use::read, "RFC 8881 11.18"),
    {.number = FATTR4_FS_LAYOUT_TYPES,
     .name = "fs_layout_types",
     .minor = 1,
     .facts = limits,
     .bytes_of = [](const Source& s) { return 4 + 4 * s.server->layout_types.size(); },
     .put =
         [](Out& out, const Source& s) {
           out.u32(static_cast<std::uint32_t>(s.server->layout_types.size()));
           for (const layouttype4 type : s.server->layout_types) out.u32(static_cast<std::uint32_t>(type));
         },
     .section = "RFC 8881 5.12.1"},
    none(FATTR4_LAYOUT_HINT, "layout_hint", 1, Use::write, "RFC 8881 5.12.4"),
    none(FATTR4_LAYOUT_TYPES, "layout_types", 1, Use::read, "RFC 8881 5.12.5"),
    u32(FATTR4_LAYOUT_BLKSIZE, "layout_blksize", limits, put_stripe_bytes, "RFC 8881 5.12.3", 1),
    u32(FATTR4_LAYOUT_ALIGNMENT, "layout_alignment", limits, put_stripe_bytes, "RFC 8881 5.12.2", 1),
    none(FATTR4_FS_LOCATIONS_INFO, "fs_locations_info", 1, Use::read, "RFC 8881 11.17"),
    none(FATTR4_MDSTHRESHOLD, "mdsthreshold", 1, Use::read, "RFC 8881 5.12.6"),
    none(FATTR4_RETENTION_GET, "retention_get", 1, Use::read, "RFC 8881 5.13.1"),
    none(FATTR4_RETENTION_SET, "retention_set", 1, Use::write, "RFC 8881 5.13.2"),
    none(FATTR4_RETENTEVT_GET, "retentevt_get", 1, Use::read, "RFC 8881 5.13.3"),
    none(FATTR4_RETENTEVT_SET, "retentevt_set", 1, Use::write, "RFC 8881 5.13.4"),
    none(FATTR4_RETENTION_HOLD, "retention_hold", 1, Use::both, "RFC 8881 5.13.5"),
    set_only(FATTR4_MODE_SET_MASKED, "mode_set_masked", 1, take_mode_set_masked, "RFC 8881 6.2.5"),
    sized(
        FATTR4_SUPPATTR_EXCLCREAT, "suppattr_exclcreat", 1, object | limits, bitmap_bytes,
        [](Out& out, const Source& s) {
          put_bitmap(out, settable_at_exclusive_creation(s.minor) & supported(s));
        },
        "RFC 8881 5.8.1.14"),
    u32(
        FATTR4_FS_CHARSET_CAP, "fs_charset_cap", 0,
        [](Out& out, const Source&) { out.u32(FSCHARSET_CAP4_CONTAINS_NON_UTF8); }, "RFC 8881 14.4", 1),
    u32(
        FATTR4_CLONE_BLKSIZE, "clone_blksize", limits,
        [](Out& out, const Source& s) { out.u32(s.limits.clone_block_bytes); }, "RFC 7862 12.2.1", 2),
    none(FATTR4_SPACE_FREED, "space_freed", 2, Use::read, "RFC 7862 12.2.2"),
    u32(
        FATTR4_CHANGE_ATTR_TYPE, "change_attr_type", 0,
        [](Out& out, const Source&) {
          out.u32(static_cast<std::uint32_t>(change_attr_type4::NFS4_CHANGE_TYPE_IS_TIME_METADATA));
        },
        "RFC 7862 12.2.3", 2),
    none(FATTR4_SEC_LABEL, "sec_label", 2, Use::both, "RFC 7862 12.2.4"),
    set_only(FATTR4_MODE_UMASK, "mode_umask", 2, take_mode_umask, "RFC 8275 5"),
    u32(
        FATTR4_XATTR_SUPPORT, "xattr_support", limits,
        [](Out& out, const Source& s) { out.boolean(s.limits.xattrs); }, "RFC 8276 8.2", 2),
    none(FATTR4_OFFLINE, "offline", 2, Use::read, "RFC 9754 2"),
    set_only(FATTR4_TIME_DELEG_ACCESS, "time_deleg_access", 2, take_delegated_atime, "RFC 9754 5"),
    set_only(FATTR4_TIME_DELEG_MODIFY, "time_deleg_modify", 2, take_delegated_mtime, "RFC 9754 5"),
    sized(
        FATTR4_OPEN_ARGUMENTS, "open_arguments", 2, 0, [](const Source&) -> std::size_t { return 40; },
        put_open_arguments, "RFC 9754 3"),
});

constexpr bool in_order() {
  for (std::size_t i = 0; i < table.size(); ++i)
    if (table[i].number != i) return false;
  return true;
}
static_assert(in_order());
static_assert(table.size() == FATTR4_OPEN_ARGUMENTS + 1 && table.size() <= Bitmap::bits);

template <class F>
constexpr Bitmap bitmap_where(F condition) {
  Bitmap map;
  for (const Row& row : table)
    if (condition(row)) map.add(row.number);
  return map;
}

constexpr std::uint32_t minor_max = 2;
using PerMinor = std::array<Bitmap, minor_max + 1>;
template <class F>
constexpr PerMinor per_minor(F condition) {
  PerMinor maps;
  for (std::uint32_t minor = 0; minor <= minor_max; ++minor)
    maps[minor] = bitmap_where([&](const Row& row) { return row.minor <= minor && condition(row); });
  return maps;
}

constexpr PerMinor supported_maps =
    per_minor([](const Row& row) { return row.put != nullptr || row.take != nullptr; });
constexpr PerMinor settable_maps = per_minor([](const Row& row) { return row.take != nullptr; });
constexpr PerMinor write_only_maps = per_minor([](const Row& row) { return row.use == Use::write; });
constexpr Bitmap attributes_of_layouts{FATTR4_FS_LAYOUT_TYPES, FATTR4_LAYOUT_BLKSIZE,
                                       FATTR4_LAYOUT_ALIGNMENT};
constexpr Bitmap times_of_delegations{FATTR4_TIME_DELEG_ACCESS, FATTR4_TIME_DELEG_MODIFY};

}  // namespace

std::span<const Row> rows() { return table; }

Bitmap supported_in(std::uint32_t minor) { return supported_maps[std::min(minor, minor_max)]; }

Bitmap supported(const AttributeSource& source) {
  Bitmap map = supported_in(source.minor);
  if (!source.limits.acls) map.remove(FATTR4_ACL);
  if (source.object.btime == vfs::Time{}) map.remove(FATTR4_TIME_CREATE);
  if (source.limits.clone_block_bytes == 0) map.remove(FATTR4_CLONE_BLKSIZE);
  if (!source.server->delegated_times) map = map - times_of_delegations;
  if (source.server->layout_types.empty() || source.limits.stripe_bytes == 0)
    map = map - attributes_of_layouts;
  return map;
}

// RFC 8275 section 5: mode_umask only makes sense when an object is made.
Bitmap settable_by_setattr(std::uint32_t minor) {
  return settable_maps[std::min(minor, minor_max)] - Bitmap{FATTR4_MODE_UMASK};
}

Bitmap settable_at_creation(std::uint32_t minor) {
  return settable_maps[std::min(minor, minor_max)] - times_of_delegations - Bitmap{FATTR4_MODE_SET_MASKED};
}

// The times hold the verifier, and a repetition must not cut what has been written since.
Bitmap settable_at_exclusive_creation(std::uint32_t minor) {
  return settable_at_creation(minor) - Bitmap{FATTR4_SIZE, FATTR4_TIME_ACCESS_SET, FATTR4_TIME_MODIFY_SET};
}

Bitmap write_only(std::uint32_t minor) { return write_only_maps[std::min(minor, minor_max)]; }

std::uint32_t facts_of(const Bitmap& wanted) {
  std::uint32_t facts = Facts::none;
  wanted.for_each([&](std::uint32_t number) {
    if (number < table.size()) facts |= table[number].facts;
  });
  return facts;
}

std::size_t bytes_max(const Bitmap& wanted, const AttributeSource& source) {
  std::size_t bytes = 0;
  wanted.for_each([&](std::uint32_t number) {
    if (number >= table.size()) return;
    const Row& row = table[number];
    bytes += row.bytes_of != nullptr ? row.bytes_of(source) : row.bytes;
  });
  return bytes;
}

Bitmap encode(const Bitmap& wanted, const AttributeSource& source, FlatWriter& out) {
  const Bitmap here = wanted & supported(source);
  Bitmap done;
  here.for_each([&](std::uint32_t number) {
    if (table[number].put == nullptr) return;
    table[number].put(out, source);
    done.add(number);
  });
  return done;
}

}  // namespace braid::nfs4::attributes
