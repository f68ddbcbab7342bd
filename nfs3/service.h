// The NFSv3 program (RFC 1813) over the exports of a server.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "nfs3/nfs3.x.h"
#include "rpc/program.h"
#include "vfs/export.h"

namespace braid::nfs3 {

// Sizes in bytes. What is above its limit is lowered to it, what is below 4 KiB raised.
struct Nfs3Options {
  std::uint32_t read_bytes_max = MAX_PAYLOAD;   // of one READ; limit MAX_PAYLOAD
  std::uint32_t write_bytes_max = MAX_PAYLOAD;  // of one WRITE; limit MAX_PAYLOAD
  // Of the results of one READDIR or READDIRPLUS; limit 64 KiB. More would hardly save time: a client pays
  // for a call once per some hundred entries.
  std::uint32_t directory_bytes_max = 64 * base::KiB;
};

// Lives as long as the RPC server that calls it. Thread-safe: it only reads.
class Nfs3Service final : public rpc::Service {
 public:
  Nfs3Service(const vfs::Exports& exports, const Nfs3Options& options);

  [[nodiscard]] const vfs::Exports& exports() const { return exports_; }
  [[nodiscard]] const Nfs3Options& options() const { return options_; }
  // The program with its one version; it refers to this service.
  [[nodiscard]] rpc::Program program();

 private:
  const vfs::Exports& exports_;
  const Nfs3Options options_;
};

}  // namespace braid::nfs3
