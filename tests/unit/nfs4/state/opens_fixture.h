// Clients, files and opens for tests of States.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "nfs4/state/states.h"

namespace braid::nfs4::state::test {

using enum nfsstat4;
using namespace std::chrono_literals;

class FakeOpenFile final : public vfs::OpenFile {
 public:
  FakeOpenFile(vfs::OpenAccess access, int& alive) : access_(access), alive_(alive) { ++alive_; }
  ~FakeOpenFile() override { --alive_; }
  [[nodiscard]] vfs::FileRef file() const override { return file_; }
  [[nodiscard]] vfs::OpenAccess access() const override { return access_; }

 private:
  vfs::FileRef file_;
  const vfs::OpenAccess access_;
  int& alive_;
};

inline vfs::FileHandle handle(std::uint8_t number) {
  vfs::FileHandle handle;
  handle.size = 4;
  handle.bytes[0] = static_cast<std::byte>(number);
  return handle;
}

// `host`: the last byte of its address.
inline ClientRef make_client(std::uint32_t number, std::uint32_t minor_version, std::uint8_t host = 0) {
  Introduction introduction;
  introduction.minor_version = minor_version;
  introduction.address = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 0, 2, host};
  return std::make_shared<Client>(clientid4{7} << 32 | number, std::move(introduction),
                                  base::TimePoint(std::chrono::seconds(1)));
}

constexpr HeldRange write_0_9{{0, 9}, LockMode::write};
constexpr HeldRange read_0_9{{0, 9}, LockMode::read};
constexpr Share reads{.access = share_read, .deny = 0};
constexpr Share writes{.access = share_write, .deny = 0};
constexpr Share reads_and_writes{.access = share_both, .deny = 0};

class StatesTest : public testing::Test {
 protected:
  explicit StatesTest(const StateLimits& limits = {}) : states(7, limits) {}
  ~StatesTest() override { after = {}; }

  vfs::OpenFileRef descriptor(std::uint8_t access) {
    return std::make_shared<FakeOpenFile>(static_cast<vfs::OpenAccess>(access), opens_alive);
  }
  base::Result<OpenAnswer, Refusal> open(const ClientRef& client, std::string_view owner, const Share& share,
                                         const vfs::FileHandle& file = handle(1),
                                         DelegationWish wish = DelegationWish::none) {
    return states.opens().open({.client = client,
                                .minor_version = client->minor_version(),
                                .owner = owner,
                                .file = file,
                                .share = share,
                                .opener = {},
                                .descriptor = descriptor(share.access),
                                .wish = wish,
                                .reclaim = false,
                                .also_writes = false,
                                .now = now},
                               after);
  }
  // An open that has to work, of a confirmed owner.
  stateid4 opened(const ClientRef& client, std::string_view owner, const Share& share,
                  const vfs::FileHandle& file = handle(1)) {
    auto answer = open(client, owner, share, file);
    EXPECT_TRUE(answer.has_value());
    if (!answer) return {};
    if (!answer->confirm) return answer->id;
    return states.opens().confirm(use(client, answer->id, file)).value_or(stateid4{});
  }
  StateUse use(const ClientRef& client, const stateid4& id, const vfs::FileHandle& file = file_one) {
    return {.id = id,
            .minor_version = client->minor_version(),
            .client = client->minor_version() == 0 ? nullptr : client,
            .file = file,
            .now = now};
  }
  base::Result<LockAnswer, LockRefusal> lock(const ClientRef& client, const stateid4& id,
                                             std::optional<std::string_view> new_owner,
                                             const HeldRange& wanted, bool blocking = false) {
    return states.locks().lock({.use = use(client, id),
                                .new_owner = new_owner,
                                .new_owner_seqid = 0,
                                .wanted = wanted,
                                .blocking = blocking,
                                .can_be_told = client->minor_version() > 0},
                               after);
  }
  // In as many portions as it takes.
  base::Result<stateid4, nfsstat4> unlock(const StateUse& whose, ByteRange range) {
    for (;;) {
      const auto left = states.locks().unlock(whose, range, after);
      if (!left) return base::fail(left.error());
      if (*left) return **left;
    }
  }
  // The file system refused what lock() had granted, to somebody who would wait or who would not.
  void undo(const LockAnswer& answer, const HeldRange& wanted, bool blocking) {
    states.locks().undo(answer,
                        {.use = use(alice, answer.id),
                         .new_owner = std::nullopt,
                         .new_owner_seqid = 0,
                         .wanted = wanted,
                         .blocking = blocking,
                         .can_be_told = true},
                        true, after);
  }
  nfsstat4 io(const ClientRef& client, const stateid4& id, std::uint8_t access) {
    const auto grant = states.authorize(use(client, id), access, after);
    return grant ? NFS4_OK : grant.error().status;
  }

  static inline const vfs::FileHandle file_one = handle(1);
  int opens_alive = 0;
  base::TimePoint now{std::chrono::seconds(100)};
  DeferredWork after;
  States states;
  const ClientRef alice = make_client(1, 1);
  const ClientRef bob = make_client(2, 2);
  const ClientRef old = make_client(3, 0);  // speaks 4.0
  const ClientRef older = make_client(4, 0);
};

template <class T>
nfsstat4 status_of(const base::Result<T, nfsstat4>& result) {
  return result ? NFS4_OK : result.error();
}
template <class T>
nfsstat4 status_of(const base::Result<T, Refusal>& result) {
  return result ? NFS4_OK : result.error().status;
}
template <class T>
nfsstat4 status_of(const base::Result<T, LockRefusal>& result) {
  return result ? NFS4_OK : result.error().why.status;
}

}  // namespace braid::nfs4::state::test
