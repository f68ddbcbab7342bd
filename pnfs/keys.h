// The keys of a pNFS cluster, and what is signed with them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "base/bytes.h"
#include "base/strong.h"
#include "hashing/digest.h"

namespace braid::pnfs {

// Names a cluster: its metadata server, and the data servers that belong to it. Random, made once.
using ClusterId = std::array<std::byte, 16>;
// Names a data server of a cluster: its object store. Random, made once.
using ServerId = std::array<std::byte, 16>;

// 128 bits of a keyed BLAKE3: nobody without the key can make one.
struct Mac {
  static constexpr std::size_t bytes_count = 16;
  std::array<std::byte, bytes_count> bytes{};
};
// Takes the same time wherever they differ.
bool equal(const Mac& mac, base::BytesView other);

// Of the parts one behind the other, each with its length before it: so no two lists of parts are alike.
Mac sign(const hashing::Key& key, std::initializer_list<base::BytesView> parts);

// Handles are signed with one of these; a cluster goes on to the next number now and then.
struct KeyNumberTag;
using KeyNumber = base::Strong<KeyNumberTag, std::uint16_t>;

// What the metadata server and its data servers share: at least 32 bytes that nobody else has. Keys for each
// purpose are derived from it and from the cluster's name (BLAKE3's key derivation), so none of them tells
// anything of another one.
class ClusterSecret {
 public:
  static constexpr std::size_t bytes_min = 32;
  static constexpr std::size_t bytes_max = 4096;

  // Nothing unless there are bytes_min to bytes_max bytes.
  static std::optional<ClusterSecret> from(base::BytesView content);

  // For the handles of objects (data_handle.h).
  [[nodiscard]] hashing::Key handle_key(const ClusterId& cluster, KeyNumber number) const;
  // For the proofs of a hello: that the other side has the secret, too.
  [[nodiscard]] hashing::Key proof_key() const;
  // For the messages that follow a hello: `transcript` is of both sides' hello.
  [[nodiscard]] hashing::Key session_key(base::BytesView transcript) const;

 private:
  explicit ClusterSecret(const hashing::Key& root) : root_(root) {}
  [[nodiscard]] hashing::Key derive(std::string_view purpose,
                                    std::initializer_list<base::BytesView> parts) const;

  hashing::Key root_;
};

// A client, as its metadata server and its data servers know it: it has another clientid at each of them, and
// one co_ownerid (RFC 8881 section 2.4). A hash of that and of the cluster's name. Where it counts it is
// signed; to find another co_ownerid with the same one takes 2^64 attempts.
struct ClientTagTag;
using ClientTag = base::Strong<ClientTagTag, std::uint64_t>;
ClientTag client_tag(const ClusterId& cluster, base::BytesView co_ownerid);

}  // namespace braid::pnfs
