// What a configuration decides about the NFSv4 service.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "base/clock.h"
#include "nfs4/nfs4.x.h"

namespace braid::nfs4 {

// Which delegations clients get.
enum class Delegations : std::uint8_t {
  none,
  read,   // nobody changes the file
  write,  // also: nobody else uses it. Local programs and NFSv3 clients that do not open a file see its size
          // and times as its holder wrote them last
};

// Sizes in bytes.
struct Nfs4Options {
  std::uint32_t read_bytes_max = MAX_PAYLOAD;   // of one READ; at most MAX_PAYLOAD
  std::uint32_t write_bytes_max = MAX_PAYLOAD;  // of one WRITE; at most MAX_PAYLOAD
  // Of the results of one READDIR: more would hardly save time, a client pays for a call once per some
  // hundred entries.
  std::uint32_t directory_bytes_max = 64 * base::KiB;
  // Of the results of a COMPOUND that belongs to no session; with one, the session's limits hold.
  std::uint32_t reply_bytes_max = MAX_PAYLOAD + 64 * base::KiB;
  // Of the results of a 4.0 COMPOUND that changes something: the duplicate-request cache keeps a copy.
  std::uint32_t kept_reply_bytes_max = 64 * base::KiB;
  // Of a COMPOUND that belongs to no session; with one, ca_maxoperations holds.
  std::uint32_t operations_max = 1024;
  // Tags are for people: longer ones are refused (NFS4ERR_INVAL).
  std::uint32_t tag_bytes_max = 1024;
  Delegations delegations = Delegations::read;
  // How long the operations of a COMPOUND wait in all for delegations that others are giving back, before one
  // is NFS4ERR_DELAY. Most come back within milliseconds; who is told to try again does so after 100 at the
  // earliest (Linux).
  base::Duration recall_patience{};
};

}  // namespace braid::nfs4
