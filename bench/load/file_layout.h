// File layouts as a client gets them (RFC 8881 chapter 13), and the operations about them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/result.h"
#include "bench/load/handle.h"
#include "bench/load/nfs4_steps.h"
#include "bench/load/outcome.h"
#include "nfs4/nfs4.x.h"
#include "rpc/call.h"

namespace braid::load {

// With sparse packing: offsets are those of the file.
struct FileLayout {
  nfs4::stateid4 id;
  nfs4::deviceid4 device{};
  std::uint32_t unit = 1;
  std::uint32_t first = 0;
  std::vector<Handle> handles;  // one for each server of the device

  // Of the server, and of its handle.
  [[nodiscard]] std::size_t index_of(std::uint64_t offset) const {
    return (offset / unit + first) % handles.size();
  }
};

// Of the current file, which was opened with the current stateid, for reading and writing.
Step<nfs4::LAYOUTGET4args> get_layout();
base::Result<FileLayout, Fault> take_layout(Results& results);
Step<nfs4::LAYOUTRETURN4args> return_layout(const FileLayout& layout);
// All that was written by it.
Step<nfs4::LAYOUTCOMMIT4args> commit_layout(const FileLayout& layout);
// One address of each server.
Step<nfs4::GETDEVICEINFO4args> get_device(const FileLayout& layout);
base::Result<std::vector<rpc::PeerAddress>, Fault> take_device(Results& results);

}  // namespace braid::load
