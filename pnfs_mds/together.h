// Several calls at once.
#pragma once

#include <utility>
#include <vector>

#include "base/result.h"
#include "io/gate.h"
#include "vfs/open_file.h"

namespace braid::pnfs_mds {

namespace detail {

template <class T>
io::Op<> keep_result(vfs::VfsOp<T> op, base::Result<T, vfs::Error>& result) {
  result = co_await std::move(op).as_result();
}

}  // namespace detail

// Starts all of them, and ends when all have: their results, in their order. They end on this thread.
template <class T>
io::Op<std::vector<base::Result<T, vfs::Error>>, vfs::Error> together(std::vector<vfs::VfsOp<T>> ops) {
  std::vector<base::Result<T, vfs::Error>> results(
      ops.size(), base::Result<T, vfs::Error>(std::unexpect, vfs::Error::server_fault));
  const io::PeerId peer = co_await io::this_peer();
  io::Gate gate;
  for (std::size_t i = 0; i < ops.size(); ++i)
    io::spawn(gate, peer, detail::keep_result<T>(std::move(ops[i]), results[i]));
  co_await gate.drained();
  co_return std::move(results);
}

}  // namespace braid::pnfs_mds
