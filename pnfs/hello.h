// How two servers of a cluster come to know each other: each proves that it has the secret, without telling
// it, and both have then the key of a session. docs/protocol-pnfs-control.md has the messages.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/result.h"
#include "pnfs/control.x.h"
#include "pnfs/control_session.h"
#include "pnfs/keys.h"

namespace braid::pnfs {

// What a side says of itself in a hello, but for revisions, nonce and channel.
struct Introduction {
  struct Address {  // as control_address
    std::string netid;
    std::string uaddr;
    friend bool operator==(const Address&, const Address&) = default;
  };
  control_role role = control_role::ROLE_DATA;
  ClusterId cluster{};
  ServerId server{};
  std::string name;                // at most SERVER_NAME_BYTES_MAX
  std::vector<Address> addresses;  // at most ADDRESSES_MAX
  // Bulk data is to be signed: so it is where either side wants that.
  bool signs_bulk = false;
  friend bool operator==(const Introduction&, const Introduction&) = default;
};
Introduction introduction_of(const control_hello& hello);

// Of a metadata server that calls. What is said on a channel ends what was said on it before, and that of all
// channels of another start.
struct Channel {
  std::array<std::byte, BOOT_VERIFIER_BYTES> boot{};
  std::uint32_t number = 0;
  friend bool operator==(const Channel&, const Channel&) = default;
};

// A hello of this side, with the revisions that it speaks and a fresh nonce. `hello` refers to the rest.
class OwnHello {
 public:
  explicit OwnHello(Introduction own, const Channel& channel = {});
  OwnHello(const OwnHello&) = delete;
  OwnHello& operator=(const OwnHello&) = delete;
  [[nodiscard]] const control_hello& hello() const { return hello_; }

 private:
  const Introduction own_;
  std::vector<control_address> addresses_;
  control_hello hello_;
};

// The bytes of a hello, as they are signed.
base::Bytes bytes_of(const control_hello& hello);

// A nonce, numbers of sessions, and boot verifiers, that nobody can guess (getrandom(2)).
std::array<std::byte, NONCE_BYTES> random_nonce();
std::uint64_t random_session();
std::array<std::byte, BOOT_VERIFIER_BYTES> random_boot();

// What a side may be to one that calls it `ours`: CONTROL_OK, or why not. The cluster of a data server may be
// zeros: it joins.
control_status judge(const control_hello& ours, const control_hello& theirs);

// The calling side: sends `ours`, and makes of the welcome what it proves itself with.
struct Acquaintance {
  PROVEargs prove;
  std::uint32_t revision = 0;
  hashing::Key session_key;
  bool signs_bulk = false;
};
// CONTROL_REFUSED: the other side has not the secret. Otherwise as judge().
base::Result<Acquaintance, control_status> meet(const ClusterSecret& secret, const control_hello& ours,
                                                const control_welcome& welcome);

// The side that is called. Hellos that wait for their proof cost memory before anybody has proved anything:
// there are at most `pending_max`, `per_host_max` of one host, and each is forgotten after `patience`.
// Belongs to one thread.
class Reception {
 public:
  static constexpr std::size_t pending_max = 256;
  static constexpr std::size_t per_host_max = 8;
  static constexpr base::Duration patience = std::chrono::seconds(10);

  explicit Reception(const ClusterSecret& secret) : secret_(secret) {}

  // `ours`: with a fresh nonce; `session`: a new random one; `host`: where the caller is. CONTROL_BUSY: the
  // places of all, or of this host, are taken.
  base::Result<control_welcome, control_status> greet(const control_hello& ours, const control_hello& theirs,
                                                      std::uint64_t session, std::string_view host,
                                                      base::TimePoint now);
  struct Admitted {
    std::uint32_t revision = 0;
    hashing::Key session_key;
    Introduction caller;
    Channel channel;
    bool signs_bulk = false;
  };
  // Once for each hello. Nothing: the proof is wrong, and the hello is forgotten; or there is none such.
  std::optional<Admitted> admit(const PROVEargs& prove, base::TimePoint now);

 private:
  struct Pending {
    std::uint64_t session = 0;
    std::uint32_t revision = 0;
    base::Bytes transcript;
    Introduction caller;
    Channel channel;
    std::string host;
    base::TimePoint since;
    bool signs_bulk = false;
  };
  const ClusterSecret& secret_;
  std::deque<Pending> pending_;  // the oldest first
};

}  // namespace braid::pnfs
