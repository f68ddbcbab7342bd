#include "pnfs_ds/control_calls.h"

#include <algorithm>
#include <utility>

#include "base/arith.h"
#include "pnfs/striping.h"
#include "pnfs_ds/control_space.h"
#include "pnfs_ds/control_values.h"

namespace braid::pnfs_ds {
namespace {

using nfs4::nfsstat4;
using pnfs::control_status;

EpochFence fence_of(const pnfs::fence_epoch& fence) {
  EpochFence out{key_of(fence.of), pnfs::Epoch(fence.epoch), pnfs::GrantNumber(fence.last)};
  if (fence.kept_from != 0)
    out.kept = {.client = pnfs::ClientTag(fence.kept_client), .from = pnfs::GrantNumber(fence.kept_from)};
  return out;
}

FenceRecord fence_of(const pnfs::fence& one) {
  if (const auto* epoch = one.epoch()) return fence_of(*epoch);
  if (const auto* client = one.client())
    return BarredClient{pnfs::ClientTag(client->client), pnfs::GrantNumber(client->last)};
  return LowestGrant{pnfs::GrantNumber(*one.lowest())};
}

// What a call says of each of its objects.
template <class T>
std::span<T> results_of(std::size_t count, xdr::Arena& arena) {
  bool fits = false;
  return arena.make<T>(count, fits);  // there is room: a call has at most OBJECTS_MAX objects
}

}  // namespace

pnfs::ControlOp<pnfs::ControlAnswer> ControlCalls::handle(const pnfs::ControlRequest& request) {
  using Res = pnfs::to_data_res;
  xdr::Arena arena;
  pnfs::to_data_args args;
  if (!pnfs::decode_body(request.body, arena, args)) co_return base::fail(control_status::CONTROL_BAD_BODY);
  Res result;
  io::Payload bulk;
  if (const auto* one = args.fence()) {
    result = Res::with_fence(co_await fence(*one));
  } else if (const auto* one_read = args.read()) {
    const vfs::ReadMemory memory(request.memory, request.pipes);
    result = Res::with_read(co_await read(*one_read, memory, bulk));
  } else if (const auto* one_write = args.write()) {
    result = Res::with_write(co_await write(*one_write, request.bulk));
  } else if (const auto* one_commit = args.commit()) {
    result = Res::with_commit(co_await commit(*one_commit));
  } else if (const auto* one_stat = args.stat()) {
    result = Res::with_stat(co_await stat(*one_stat, arena));
  } else if (const auto* one_truncate = args.truncate()) {
    result = Res::with_truncate(co_await truncate(*one_truncate, arena));
  } else if (const auto* one_remove = args.remove()) {
    result = Res::with_remove(co_await remove(*one_remove, arena));
  } else if (const auto* one_seek = args.seek()) {
    result = Res::with_seek(co_await object_seek(objects_, *one_seek));
  } else if (const auto* one_allocate = args.allocate()) {
    result = Res::with_allocate(co_await object_allocate(objects_, *one_allocate));
  } else if (const auto* one_deallocate = args.deallocate()) {
    result = Res::with_deallocate(co_await object_deallocate(objects_, *one_deallocate));
  }
  co_return co_await pnfs::answer_of(result, request.memory, std::move(bulk));
}

ControlCalls::CallOp<pnfs::FENCEres> ControlCalls::fence(const pnfs::FENCEargs& args) {
  std::vector<FenceRecord> fences;
  fences.reserve(args.fences.size());
  for (const pnfs::fence& one : args.fences) fences.push_back(fence_of(one));
  const auto done = co_await objects_.fence(std::move(fences)).as_result();
  co_return pnfs::FENCEres{number(done)};
}

ControlCalls::CallOp<pnfs::OBJECT_READres> ControlCalls::read(const pnfs::OBJECT_READargs& args,
                                                              vfs::ReadMemory memory, io::Payload& bulk) {
  using Res = pnfs::OBJECT_READres;
  if (args.count > pnfs::BULK_BYTES_MAX) co_return Res::with_default(number(nfsstat4::NFS4ERR_INVAL));
  Objects::Use use(objects_, key_of(args.of));
  use.begin();
  const auto opened = co_await objects_.find(use).as_result();
  if (!opened) co_return Res::with_default(number(opened.error()));
  if (*opened == nullptr) co_return Res::with_read({.end = 0});
  const std::uint64_t offset = std::min(args.offset, pnfs::Striping::offset_max);
  const auto count =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(args.count, pnfs::Striping::offset_max - offset));
  auto got = co_await objects_.read(**opened, offset, count, memory).as_result();
  if (!got) co_return Res::with_default(number(got.error()));
  const auto now = co_await objects_.stat_of(**opened).as_result();
  if (!now) co_return Res::with_default(number(now.error()));
  bulk = std::move(got->data);
  co_return Res::with_read({.end = now->size});
}

ControlCalls::CallOp<pnfs::OBJECT_WRITEres> ControlCalls::write(const pnfs::OBJECT_WRITEargs& args,
                                                                const io::Payload& bulk) {
  using Res = pnfs::OBJECT_WRITEres;
  if (args.stable > static_cast<std::uint32_t>(vfs::Stability::file_sync))
    co_return Res::with_default(number(nfsstat4::NFS4ERR_INVAL));
  if (!base::end_of<std::uint64_t>(args.offset, bulk.size(), pnfs::Striping::offset_max))
    co_return Res::with_default(number(nfsstat4::NFS4ERR_FBIG));
  Objects::Use use(objects_, key_of(args.of));
  use.begin();
  if (objects_.fences().is_removed(use.object().key))
    co_return Res::with_default(number(nfsstat4::NFS4ERR_STALE));
  auto opened = co_await objects_.find(use).as_result();
  const ObjectOwner owner{.uid = args.uid, .gid = args.gid};
  if (opened && *opened == nullptr) opened = co_await objects_.make(use, owner).as_result();
  if (!opened) co_return Res::with_default(number(opened.error()));
  const auto done =
      co_await objects_
          .write(use, std::move(*opened), args.offset, bulk, static_cast<vfs::Stability>(args.stable))
          .as_result();
  if (!done) co_return Res::with_default(number(done.error()));
  co_return Res::with_written({.count = done->count,
                               .committed = static_cast<std::uint32_t>(done->committed),
                               .verifier = done->verifier.bytes});
}

ControlCalls::CallOp<pnfs::OBJECT_COMMITres> ControlCalls::commit(const pnfs::OBJECT_COMMITargs& args) {
  Objects::Use use(objects_, key_of(args.of));
  use.begin();
  const auto done = co_await objects_.commit(use).as_result();
  if (!done) co_return pnfs::OBJECT_COMMITres::with_default(number(done.error()));
  co_return pnfs::OBJECT_COMMITres::with_committed({.verifier = done->bytes});
}

ControlCalls::CallOp<pnfs::OBJECT_STATres> ControlCalls::stat(const pnfs::OBJECT_STATargs& args,
                                                              xdr::Arena& arena) {
  const auto results = results_of<pnfs::object_stat>(args.of.size(), arena);
  for (std::size_t i = 0; i < results.size(); ++i) {
    const auto one = co_await objects_.stat(key_of(args.of[i]), args.stay_announced).as_result();
    results[i].status = number(one);
    if (!one) continue;
    results[i].end = one->end;
    results[i].space_used = one->space;
    results[i].changed = one->changed;
  }
  co_return pnfs::OBJECT_STATres{results};
}

ControlCalls::CallOp<pnfs::OBJECT_TRUNCATEres> ControlCalls::truncate(const pnfs::OBJECT_TRUNCATEargs& args,
                                                                      xdr::Arena& arena) {
  const auto results = results_of<pnfs::data_status>(args.objects.size(), arena);
  std::vector<FenceRecord> fences;
  fences.reserve(args.objects.size());
  for (const pnfs::object_truncation& one : args.objects) fences.push_back(fence_of(one.fence));
  const auto fenced = co_await objects_.fence(std::move(fences)).as_result();
  for (std::size_t i = 0; i < results.size(); ++i) {
    results[i] = number(fenced);
    if (!fenced) continue;
    if (args.objects[i].end > pnfs::Striping::offset_max) {
      results[i] = number(nfsstat4::NFS4ERR_FBIG);
      continue;
    }
    const auto done =
        co_await objects_.cut(key_of(args.objects[i].fence.of), args.objects[i].number, args.objects[i].end)
            .as_result();
    results[i] = number(done);
  }
  co_return pnfs::OBJECT_TRUNCATEres{results};
}

ControlCalls::CallOp<pnfs::OBJECT_REMOVEres> ControlCalls::remove(const pnfs::OBJECT_REMOVEargs& args,
                                                                  xdr::Arena& arena) {
  const auto results = results_of<pnfs::data_status>(args.objects.size(), arena);
  std::vector<FenceRecord> fences;
  fences.reserve(args.objects.size());
  for (const pnfs::object_removal& one : args.objects)
    fences.emplace_back(RemovedObject{key_of(one.of), pnfs::GrantNumber(one.last)});
  const auto fenced = co_await objects_.fence(std::move(fences)).as_result();
  for (std::size_t i = 0; i < results.size(); ++i) {
    results[i] = number(fenced);
    if (!fenced) continue;
    const auto done = co_await objects_.remove(key_of(args.objects[i].of)).as_result();
    results[i] = number(done);
  }
  co_return pnfs::OBJECT_REMOVEres{results};
}

}  // namespace braid::pnfs_ds
