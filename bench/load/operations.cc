#include "bench/load/operations.h"

#include <algorithm>

namespace braid::load {

namespace {

using nfs3::NFS_V3_procedure;

// What the Linux client asks for by default.
constexpr std::uint32_t directory_bytes_max = 32 * base::KiB;

const Handle& random_file(Worker& worker) {
  const auto& files = worker.shared.workspace.files();
  return files[worker.random.below(files.size())];
}

std::uint64_t next_offset(Worker& worker) {
  const Options& options = worker.shared.options;
  const std::uint64_t blocks = options.file_bytes / options.size;
  const std::uint64_t block =
      options.sequential ? worker.shared.next_block++ % blocks : worker.random.below(blocks);
  return block * options.size;
}

LoadOp<Done> null(Worker& worker) { return worker.session.call_null(); }

LoadOp<Done> getattr(Worker& worker) {
  return worker.session.call<nfs3::GETATTR3res>(NFS_V3_procedure::NFSPROC3_GETATTR,
                                                nfs3::GETATTR3args{.object = random_file(worker).wire()});
}

LoadOp<Done> lookup(Worker& worker) {
  const Workspace& workspace = worker.shared.workspace;
  const FileName name(worker.random.below(workspace.files().size()));
  const nfs3::LOOKUP3args args{.what = {.dir = workspace.directory().wire(), .name = name.text()}};
  co_return co_await worker.session.call<nfs3::LOOKUP3res>(NFS_V3_procedure::NFSPROC3_LOOKUP, args);
}

LoadOp<Done> access(Worker& worker) {
  constexpr std::uint32_t all =
      nfs3::ACCESS3_READ | nfs3::ACCESS3_MODIFY | nfs3::ACCESS3_EXTEND | nfs3::ACCESS3_EXECUTE;
  return worker.session.call<nfs3::ACCESS3res>(
      NFS_V3_procedure::NFSPROC3_ACCESS,
      nfs3::ACCESS3args{.object = random_file(worker).wire(), .access = all});
}

LoadOp<Done> read(Worker& worker) {
  const std::uint32_t count = worker.shared.options.size;
  const nfs3::READ3args args{
      .file = worker.shared.workspace.data_file().wire(), .offset = next_offset(worker), .count = count};
  return worker.session.call<nfs3::READ3res>(
      NFS_V3_procedure::NFSPROC3_READ, args,
      [count](const nfs3::READ3resok& ok) -> base::Result<Done, Fault> {
        if (ok.count != count || ok.data.size() != count) return base::fail(Fault{"short READ"});
        return Done{.bytes = count};
      });
}

nfs3::stable_how wire_stability(Stability stability) {
  switch (stability) {
    case Stability::unstable:
      return nfs3::stable_how::UNSTABLE;
    case Stability::data_sync:
      return nfs3::stable_how::DATA_SYNC;
    case Stability::file_sync:
      return nfs3::stable_how::FILE_SYNC;
  }
  return nfs3::stable_how::UNSTABLE;
}

LoadOp<Done> write(Worker& worker) {
  const std::uint32_t count = worker.shared.options.size;
  const nfs3::WRITE3args args{.file = worker.shared.workspace.data_file().wire(),
                              .offset = next_offset(worker),
                              .count = count,
                              .stable = wire_stability(worker.shared.options.stability),
                              .data = worker.shared.workspace.data()};
  return worker.session.call<nfs3::WRITE3res>(
      NFS_V3_procedure::NFSPROC3_WRITE, args,
      [count, asked = args.stable](const nfs3::WRITE3resok& ok) -> base::Result<Done, Fault> {
        if (ok.count != count) return base::fail(Fault{"short WRITE"});
        if (ok.committed < asked) return base::fail(Fault{"WRITE less stable than asked"});
        return Done{.bytes = count};
      });
}

LoadOp<Done> create(Worker& worker) {
  Workspace& workspace = worker.shared.workspace;
  const std::uint64_t number = workspace.next_number();
  const FileName name(number);
  nfs3::sattr3 attributes;
  attributes.mode = nfs3::set_mode3::with_mode(0644);
  const nfs3::CREATE3args args{
      .where = {.dir = workspace.playground().wire(), .name = name.text()},
      .how = nfs3::createhow3::with_obj_attributes(nfs3::createmode3::UNCHECKED, attributes)};
  const Done done = co_await worker.session.call<nfs3::CREATE3res>(NFS_V3_procedure::NFSPROC3_CREATE, args);
  workspace.created(number);
  co_return done;
}

LoadOp<Done> remove(Worker& worker) {
  const FileName name(worker.removable);
  const nfs3::REMOVE3args args{
      .object = {.dir = worker.shared.workspace.playground().wire(), .name = name.text()}};
  co_return co_await worker.session.call<nfs3::REMOVE3res>(NFS_V3_procedure::NFSPROC3_REMOVE, args);
}

LoadOp<Done> readdirplus(Worker& worker) {
  const nfs3::READDIRPLUS3args args{.dir = worker.shared.workspace.directory().wire(),
                                    .cookie = worker.cookie,
                                    .cookieverf = worker.cookie_verifier,
                                    .dircount = directory_bytes_max,
                                    .maxcount = directory_bytes_max};
  return worker.session.call<nfs3::READDIRPLUS3res>(
      NFS_V3_procedure::NFSPROC3_READDIRPLUS, args,
      [&worker](const nfs3::READDIRPLUS3resok& ok) -> base::Result<Done, Fault> {
        const auto entries = ok.reply.entries;
        if (entries.empty() && !ok.reply.eof) return base::fail(Fault{"READDIRPLUS without progress"});
        worker.cookie = ok.reply.eof ? 0 : entries.back().cookie;
        worker.cookie_verifier = ok.reply.eof ? nfs3::cookieverf3{} : ok.cookieverf;
        return Done{.bytes = 0, .entries = static_cast<std::uint32_t>(entries.size())};
      });
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
