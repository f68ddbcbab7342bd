#include "bench/load/operations.h"

#include <algorithm>

#include "io/reactor.h"

namespace braid::load {

namespace {

const Handle& random_file(Worker& worker) {
  const auto& files = worker.shared.workspace.files();
  return files[worker.random.below(files.size())];
}

Extent next_extent(Worker& worker) {
  const Options& options = worker.shared.options;
  if (options.fresh) return {worker.shared.next_block++ * options.size, options.size};
  const std::uint64_t blocks = options.file_bytes / options.size;
  const std::uint64_t block =
      options.sequential ? worker.shared.next_block++ % blocks : worker.random.below(blocks);
  return {block * options.size, options.size};
}

LoadOp<Done> null(Worker& worker) { return worker.protocol.null(); }

LoadOp<Done> getattr(Worker& worker) { return worker.protocol.getattr(random_file(worker)); }

LoadOp<Done> lookup(Worker& worker) {
  const Workspace& workspace = worker.shared.workspace;
  const FileName name(worker.random.below(workspace.files().size()));
  co_return co_await worker.protocol.lookup(workspace.directory(), name.text());
}

LoadOp<Done> access(Worker& worker) { return worker.protocol.access(random_file(worker)); }

LoadOp<Done> read(Worker& worker) { return worker.protocol.read(next_extent(worker)); }

LoadOp<Done> write_on(Worker& worker) {
  const Options& options = worker.shared.options;
  const Extent extent = next_extent(worker);
  const Workspace& workspace = worker.shared.workspace;
  io::Payload data = workspace.data();
  if (options.fresh) data = co_await workspace.fresh(extent.offset / options.size);
  const Done done = co_await worker.protocol.write(extent, data, options.stability);
  if (options.commit_every > 0 && ++worker.shared.writes % options.commit_every == 0) {
    const base::Clock& clock = io::Reactor::current()->clock();
    const base::TimePoint began = clock.now();
    co_await worker.protocol.commit();
    worker.shared.commits.add(clock.now() - began);
  }
  co_return done;
}

LoadOp<Done> write(Worker& worker) {
  if (worker.shared.options.commit_every > 0 || worker.shared.options.fresh) return write_on(worker);
  return worker.protocol.write(next_extent(worker), worker.shared.workspace.data(),
                               worker.shared.options.stability);
}

LoadOp<Done> create(Worker& worker) {
  Workspace& workspace = worker.shared.workspace;
  const std::uint64_t number = workspace.next_number();
  const FileName name(number);
  const Done done = co_await worker.protocol.create(workspace.playground(), name.text());
  workspace.created(number);
  co_return done;
}

LoadOp<Done> remove(Worker& worker) {
  const FileName name(worker.removable);
  co_return co_await worker.protocol.remove(worker.shared.workspace.playground(), name.text());
}

LoadOp<Done> readdirplus(Worker& worker) {
  return worker.protocol.list(worker.shared.workspace.directory(), worker.listing);
}

using Perform = LoadOp<Done> (*)(Worker& worker);
// In the order of Operation.
constexpr std::array<Perform, operation_count> table{null,  getattr, lookup, access,     read,
                                                     write, create,  remove, readdirplus};

}  // namespace

LoadOp<Done> perform(Operation operation, Worker& worker) {
  return table[static_cast<std::size_t>(operation)](worker);
}

}  // namespace braid::load
