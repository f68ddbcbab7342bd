#include "nfs3/attributes.h"

#include <algorithm>
#include <limits>

namespace braid::nfs3 {
namespace {

constexpr std::uint32_t mode_bits = 07777;
constexpr std::uint32_t nanoseconds_per_second = 1'000'000'000;
constexpr std::uint64_t file_bytes_max = std::numeric_limits<std::int64_t>::max();

base::Result<vfs::SetTime, vfs::Error> set_time_of(time_how how, const nfstime3* value) {
  using How = vfs::SetTime::How;
  switch (how) {
    case time_how::DONT_CHANGE:
      return vfs::SetTime{};
    case time_how::SET_TO_SERVER_TIME:
      return vfs::SetTime{How::server, {}};
    case time_how::SET_TO_CLIENT_TIME: {
      const auto time = time_of(*value);
      if (!time) return base::fail(time.error());
      return vfs::SetTime{How::client, *time};
    }
  }
  return base::fail(vfs::Error::inval);
}

}  // namespace

nfstime3 nfstime3_of(const vfs::Time& time) {
  constexpr std::int64_t seconds_max = std::numeric_limits<std::uint32_t>::max();
  return {static_cast<std::uint32_t>(std::clamp<std::int64_t>(time.seconds, 0, seconds_max)),
          time.nanoseconds};
}

base::Result<vfs::Time, vfs::Error> time_of(const nfstime3& time) {
  if (time.nseconds >= nanoseconds_per_second) return base::fail(vfs::Error::inval);
  return vfs::Time{time.seconds, time.nseconds};
}

ftype3 ftype3_of(vfs::FileType type) {
  using enum ftype3;
  switch (type) {
    case vfs::FileType::regular:
      return NF3REG;
    case vfs::FileType::directory:
      return NF3DIR;
    case vfs::FileType::block_device:
      return NF3BLK;
    case vfs::FileType::character_device:
      return NF3CHR;
    case vfs::FileType::symlink:
      return NF3LNK;
    case vfs::FileType::socket:
      return NF3SOCK;
    case vfs::FileType::fifo:
      return NF3FIFO;
  }
  return NF3REG;
}

fattr3 fattr3_of(const vfs::Attributes& attributes) {
  return {
      .type = ftype3_of(attributes.type),
      .mode = attributes.mode & mode_bits,
      .nlink = attributes.nlink,
      .uid = attributes.uid,
      .gid = attributes.gid,
      .size = attributes.size,
      .used = attributes.space,
      .rdev = {attributes.rdev.major, attributes.rdev.minor},
      .fsid = attributes.fsid,
      .fileid = attributes.fileid,
      .atime = nfstime3_of(attributes.atime),
      .mtime = nfstime3_of(attributes.mtime),
      .ctime = nfstime3_of(attributes.ctime),
  };
}

post_op_attr post_op_attr_of(const std::optional<vfs::Attributes>& attributes) {
  if (!attributes) return {};
  return post_op_attr::with_attributes(fattr3_of(*attributes));
}

post_op_attr post_op_attr_of(const base::Result<vfs::Attributes, vfs::Error>& attributes) {
  if (!attributes) return {};
  return post_op_attr::with_attributes(fattr3_of(*attributes));
}

wcc_data wcc_data_of(const vfs::Wcc& wcc) {
  wcc_data result;
  if (wcc.before) {
    result.before = pre_op_attr::with_attributes(
        {wcc.before->size, nfstime3_of(wcc.before->mtime), nfstime3_of(wcc.before->ctime)});
  }
  result.after = post_op_attr_of(wcc.after);
  return result;
}

base::Result<vfs::SetAttributes, vfs::Error> set_attributes_of(const sattr3& wanted) {
  vfs::SetAttributes set;
  if (const auto* mode = wanted.mode.mode()) set.mode = *mode & mode_bits;
  if (const auto* uid = wanted.uid.uid()) set.uid = *uid;
  if (const auto* gid = wanted.gid.gid()) set.gid = *gid;
  if (const auto* size = wanted.size.size()) {
    if (*size > file_bytes_max) return base::fail(vfs::Error::fbig);
    set.size = *size;
  }
  const auto atime = set_time_of(wanted.atime.set_it, wanted.atime.atime());
  if (!atime) return base::fail(atime.error());
  const auto mtime = set_time_of(wanted.mtime.set_it, wanted.mtime.mtime());
  if (!mtime) return base::fail(mtime.error());
  set.atime = *atime;
  set.mtime = *mtime;
  return set;
}

}  // namespace braid::nfs3
