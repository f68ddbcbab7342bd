// Arguments of OPEN and LOCK, and two clients with sessions that send them.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/unique_fd.h"
#include "tests/unit/nfs4/support/world.h"

namespace braid::nfs4::test {

using enum nfs_opnum4;
using enum nfsstat4;

constexpr std::uint32_t read_access = OPEN4_SHARE_ACCESS_READ;
constexpr std::uint32_t write_access = OPEN4_SHARE_ACCESS_WRITE;
constexpr std::uint32_t both_access = OPEN4_SHARE_ACCESS_BOTH;

inline fattr4 size_of(std::uint64_t size) {
  static constexpr std::array<std::uint32_t, 1> mask{1U << FATTR4_SIZE};
  io::SlabCursor cursor(test_slabs());
  xdr::Encoder out(cursor);
  out.u64(size);
  return {.attrmask = mask, .attr_vals = out.finish().bytes};
}
inline fattr4 no_attributes() { return {}; }

inline OPEN4args open_args(std::string_view name, std::uint32_t access, std::uint32_t deny = 0,
                           std::string_view owner = "owner") {
  OPEN4args args;
  args.share_access = access;
  args.share_deny = deny;
  args.owner.owner = base::bytes_of(owner);
  args.openhow = openflag4::with_default(opentype4::OPEN4_NOCREATE);
  args.claim = open_claim4::with_file(name);
  return args;
}
inline OPEN4args create_args(std::string_view name, createhow4 how, std::uint32_t access = both_access) {
  OPEN4args args = open_args(name, access);
  args.openhow = openflag4::with_how(std::move(how));
  return args;
}
inline createhow4 unchecked(const fattr4& attributes) {
  return createhow4::with_createattrs(createmode4::UNCHECKED4, attributes);
}
inline createhow4 guarded() { return createhow4::with_createattrs(createmode4::GUARDED4, no_attributes()); }
inline createhow4 exclusive(std::uint8_t mark) {
  verifier4 verifier{};
  verifier[0] = static_cast<std::byte>(mark);
  return createhow4::with_createverf(verifier);
}
inline LOCK4args lock_args(const stateid4& open_id, std::string_view owner, nfs_lock_type4 type,
                           std::uint64_t offset, std::uint64_t length) {
  LOCK4args args;
  args.locktype = type;
  args.offset = offset;
  args.length = length;
  open_to_lock_owner4 locker;
  locker.open_stateid = open_id;
  locker.lock_owner.owner = base::bytes_of(owner);
  args.locker = locker4::with_open_owner(locker);
  return args;
}

// Of an owner that has not locked before, in 4.0.
inline LOCK4args first_lock_args(const stateid4& open_id, clientid4 client, std::uint32_t open_seqid,
                                 std::uint32_t lock_seqid) {
  LOCK4args args = lock_args(open_id, "locker", nfs_lock_type4::WRITE_LT, 0, 10);
  open_to_lock_owner4 locker = *args.locker.open_owner();
  locker.open_seqid = open_seqid;
  locker.lock_seqid = lock_seqid;
  locker.lock_owner.clientid = client;
  args.locker = locker4::with_open_owner(locker);
  return args;
}

// A local process that locks bytes of the file, by an open of its own.
class LocalLocker {
 public:
  explicit LocalLocker(const std::string& path) : fd_(::open(path.c_str(), O_RDWR | O_CLOEXEC)) {}
  [[nodiscard]] bool lock(short type, off_t start, off_t length) const {
    struct flock wanted{};
    wanted.l_type = type;
    wanted.l_whence = SEEK_SET;
    wanted.l_start = start;
    wanted.l_len = length;
    return ::fcntl(fd_.get(), F_OFD_SETLK, &wanted) == 0;
  }

 private:
  base::UniqueFd fd_;
};

class OpenCompound : public ::testing::Test {
 protected:
  // OPEN by name in the root; the result of OPEN, and the status.
  OPEN4res open(SessionClient& client, const OPEN4args& args) {
    Reply reply = client.send(client.request().add(OP_PUTROOTFH).add(OP_OPEN, args));
    EXPECT_EQ(reply.status_of(OP_PUTROOTFH), NFS4_OK);
    auto result = reply.result<OPEN4res>(OP_OPEN);
    kept_ = std::move(reply);
    return result;
  }
  stateid4 opened(SessionClient& client, const OPEN4args& args) {
    const OPEN4res result = open(client, args);
    EXPECT_EQ(result.status, NFS4_OK);
    return result.resok4() == nullptr ? stateid4{} : result.resok4()->stateid;
  }
  // An operation on a file in the root.
  template <class Args>
  Reply on_file(SessionClient& client, std::string_view name, nfs_opnum4 op, const Args& args) {
    Reply reply =
        client.send(client.request().add(OP_PUTROOTFH).add(OP_LOOKUP, LOOKUP4args{name}).add(op, args));
    EXPECT_EQ(reply.status_of(OP_PUTROOTFH), NFS4_OK);
    EXPECT_EQ(reply.status_of(OP_LOOKUP), NFS4_OK);
    return reply;
  }
  nfsstat4 lock(SessionClient& client, const LOCK4args& args) {
    return on_file(client, "file", OP_LOCK, args).status();
  }
  nfsstat4 read(SessionClient& client, const stateid4& id) {
    return on_file(client, "file", OP_READ, READ4args{id, 0, 10}).status();
  }

  World world_;
  SessionClient alice_{world_, 2, "alice"};
  SessionClient bob_{world_, 1, "bob", {.address = "192.0.2.2"}};
  Reply kept_;  // what results refer to
};

}  // namespace braid::nfs4::test
