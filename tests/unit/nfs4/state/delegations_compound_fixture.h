// Clients that get delegations, and what may have them recalled.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/unique_fd.h"
#include "tests/unit/nfs4/support/callback_world.h"

namespace braid::nfs4::test {

using enum nfs_opnum4;
using enum nfsstat4;
using enum open_delegation_type4;

constexpr std::uint32_t read_access = OPEN4_SHARE_ACCESS_READ;
constexpr std::uint32_t write_access = OPEN4_SHARE_ACCESS_WRITE;
constexpr std::uint32_t both_access = OPEN4_SHARE_ACCESS_BOTH;
constexpr std::uint32_t any_wish = OPEN4_SHARE_ACCESS_WANT_ANY_DELEG;

inline OPEN4args open_args(open_claim4 claim, std::uint32_t access) {
  OPEN4args args;
  args.share_access = access;
  args.owner.owner = base::bytes_of(std::string_view("owner"));
  args.openhow = openflag4::with_default(opentype4::OPEN4_NOCREATE);
  args.claim = std::move(claim);
  return args;
}

inline const open_read_delegation4* reading(const open_delegation4& delegation) {
  const bool reads = delegation.delegation_type == OPEN_DELEGATE_READ ||
                     delegation.delegation_type == OPEN_DELEGATE_READ_ATTRS_DELEG;
  return reads ? delegation.read() : nullptr;
}
inline const open_write_delegation4* writing(const open_delegation4& delegation) {
  const bool writes = delegation.delegation_type == OPEN_DELEGATE_WRITE ||
                      delegation.delegation_type == OPEN_DELEGATE_WRITE_ATTRS_DELEG;
  return writes ? delegation.write() : nullptr;
}
inline stateid4 id_of(const open_delegation4& delegation) {
  if (const auto* read = reading(delegation)) return read->stateid;
  if (const auto* write = writing(delegation)) return write->stateid;
  ADD_FAILURE() << "no delegation";
  return {};
}

inline EngineOptions giving(Delegations policy, EngineOptions options = {}) {
  options.nfs.delegations = policy;
  return options;
}

// The mode alone.
inline fattr4 mode_of(std::uint32_t mode) {
  static constexpr std::array<std::uint32_t, 2> mask{0, 1U << (FATTR4_MODE - 32)};
  io::SlabCursor cursor(test_slabs());
  xdr::Encoder out(cursor);
  out.u32(mode);
  return {.attrmask = mask, .attr_vals = out.finish().bytes};
}

// As NFSv3 does it. Without `directory`: in the root.
inline base::Result<void, vfs::Error> remove_without_nfsv4(CallbackWorld& world, std::string_view directory,
                                                           std::string_view name) {
  std::optional<base::Result<void, vfs::Error>> done;
  world.on_reactor([&] {
    vfs::FileSystem& fs = world.file_system();
    const vfs::Credentials who;
    vfs::FileRef at = fs.root();
    if (!directory.empty()) {
      auto looking = fs.lookup(who, at, directory);
      looking.start({});
      at = looking.result()->file;
    }
    vfs::Wcc wcc;
    auto op = fs.remove(who, at, name, wcc);
    op.start({});
    done = op.result();
  });
  return *done;
}

// What has a delegation of "file" recalled.
struct Conflict {
  const char* name;
  std::function<Request(SessionClient&)> request;
};

inline const Conflict conflicts[] = {
    {"OPEN",
     [](SessionClient& client) {
       return client.request().add(OP_PUTROOTFH).add(OP_OPEN, open_args(open_claim4::with_file("file"), 2));
     }},
    {"SETATTR",
     [](SessionClient& client) {
       return client.request()
           .add(OP_PUTROOTFH)
           .add(OP_LOOKUP, LOOKUP4args{"file"})
           .add(OP_SETATTR, SETATTR4args{{}, mode_of(0600)});
     }},
    {"WRITE",
     [](SessionClient& client) {
       return client.request()
           .add(OP_PUTROOTFH)
           .add(OP_LOOKUP, LOOKUP4args{"file"})
           .add(OP_WRITE, WRITE4args{.stateid = {}, .stable = stable_how4::UNSTABLE4});
     }},
    {"LINK",
     [](SessionClient& client) {
       return client.request()
           .add(OP_PUTROOTFH)
           .add(OP_LOOKUP, LOOKUP4args{"file"})
           .add(OP_SAVEFH)
           .add(OP_PUTROOTFH)
           .add(OP_LINK, LINK4args{"other"});
     }},
    {"RENAME",
     [](SessionClient& client) {
       return client.request().add(OP_PUTROOTFH).add(OP_SAVEFH).add(OP_RENAME, RENAME4args{"file", "moved"});
     }},
    {"REMOVE",
     [](SessionClient& client) {
       return client.request().add(OP_PUTROOTFH).add(OP_REMOVE, REMOVE4args{"file"});
     }},
};

class DelegationCompound : public testing::Test {
 protected:
  explicit DelegationCompound(Delegations policy = Delegations::write, const EngineOptions& options = {})
      : world_(giving(policy, options)) {
    world_.write_local("file", "content");
  }
  OPEN4resok open(SessionClient& client, const OPEN4args& args, nfsstat4 expected = NFS4_OK) {
    Request request = client.request();
    request.add(OP_PUTROOTFH);
    const bool by_handle = args.claim.claim != open_claim_type4::CLAIM_NULL &&
                           args.claim.claim != open_claim_type4::CLAIM_DELEGATE_CUR;
    if (by_handle) request.add(OP_LOOKUP, LOOKUP4args{"file"});
    Reply reply = client.send(request.add(OP_OPEN, args));
    EXPECT_EQ(reply.status(), expected);
    EXPECT_EQ(reply.status_of(OP_PUTROOTFH), NFS4_OK);
    if (by_handle) {
      EXPECT_EQ(reply.status_of(OP_LOOKUP), NFS4_OK);
    }
    if (reply.status() != NFS4_OK) return {};
    const OPEN4resok out = *reply.result<OPEN4res>(OP_OPEN).resok4();
    kept_ = std::move(reply);
    return out;
  }
  OPEN4resok open_file(SessionClient& client, std::uint32_t access, nfsstat4 expected = NFS4_OK) {
    return open(client, open_args(open_claim4::with_file("file"), access), expected);
  }
  // An operation on the file.
  template <class Args>
  Reply on_file(SessionClient& client, nfs_opnum4 op, const Args& args) {
    Reply reply =
        client.send(client.request().add(OP_PUTROOTFH).add(OP_LOOKUP, LOOKUP4args{"file"}).add(op, args));
    EXPECT_EQ(reply.status_of(OP_PUTROOTFH), NFS4_OK);
    EXPECT_EQ(reply.status_of(OP_LOOKUP), NFS4_OK);
    return reply;
  }
  nfsstat4 give_back(SessionClient& client, const stateid4& id) {
    return on_file(client, OP_DELEGRETURN, DELEGRETURN4args{id}).status();
  }
  // A read delegation of alice's, of a file that nobody has open; what was recalled before is forgotten.
  stateid4 delegate_anew() {
    world_.advance(std::chrono::seconds(60));
    world_.file_system().sweep();
    world_.write_local("file", "content");
    const OPEN4resok opened = open_file(alice_, read_access);
    EXPECT_EQ(on_file(alice_, OP_CLOSE, CLOSE4args{0, opened.stateid}).status(), NFS4_OK);
    return id_of(opened.delegation);
  }
  // Asks for the size alone.
  std::optional<std::uint64_t> size_seen_by(SessionClient& client) {
    static constexpr std::array<std::uint32_t, 1> mask{1U << FATTR4_SIZE};
    Reply reply = on_file(client, OP_GETATTR, GETATTR4args{mask});
    if (reply.status() != NFS4_OK) return std::nullopt;
    return size_in(reply.result<GETATTR4res>(OP_GETATTR));
  }
  [[nodiscard]] bool opens_locally(int flags) const {
    const std::string path = world_.directory() + "/file";
    return static_cast<bool>(base::UniqueFd(::open(path.c_str(), flags | O_NONBLOCK | O_CLOEXEC)));
  }

  CallbackWorld world_;
  CallbackPeer peer_{world_};
  SessionClient alice_{world_, 2, "alice", {.connection = peer_.connection()}};
  SessionClient bob_{world_, 1, "bob", {.address = "192.0.2.2"}};
  Reply kept_;  // what results refer to
};

}  // namespace braid::nfs4::test
