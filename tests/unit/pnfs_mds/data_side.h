// A data server of tests: the objects of the fake, by the control protocol.
#pragma once

#include <atomic>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "pnfs/control_service.h"
#include "pnfs_mds/control_calls.h"
#include "pnfs_mds/fake/objects.h"
#include "xdr/arena.h"

namespace braid::pnfs_mds::test {

// Its objects are those of server 1.
class DataSide final : public pnfs::ControlHandler {
 public:
  static ObjectTruncation truncation_of(const pnfs::object_truncation& one) {
    return {
        {key_of(one.fence.of), pnfs::Epoch(one.fence.epoch), pnfs::GrantNumber(one.fence.last),
         pnfs::KeptHandles{pnfs::ClientTag(one.fence.kept_client), pnfs::GrantNumber(one.fence.kept_from)}},
        one.end};
  }
  explicit DataSide(fake::Objects& objects) : objects_(objects) {}
  pnfs::control_status look_at(const pnfs::control_hello& /*hello*/,
                               const rpc::PeerAddress& /*peer*/) override {
    return pnfs::control_status::CONTROL_OK;
  }
  pnfs::ControlOp<> admit(const pnfs::ControlCaller& /*caller*/) override {
    ++admitted;
    return base::Result<void, pnfs::control_status>();
  }
  pnfs::ControlOp<pnfs::ControlAnswer> handle(const pnfs::ControlRequest& request) override {
    xdr::Arena arena;
    pnfs::to_data_args args;
    if (!pnfs::decode_body(request.body, arena, args))
      co_await base::fail(pnfs::control_status::CONTROL_BAD_BODY);
    const std::optional<pnfs::to_data_res> space = co_await handle_space(args);
    if (space) co_return co_await pnfs::answer_of(*space, request.memory);
    pnfs::to_data_res result;
    io::Payload bulk;
    std::vector<pnfs::object_stat> stats;
    std::vector<pnfs::data_status> statuses;
    if (const auto* const read = args.read()) {
      auto got = co_await objects_.read(server, key_of(read->of), read->offset, read->count).as_result();
      result = pnfs::to_data_res::with_read(got ? pnfs::OBJECT_READres::with_read({got->end})
                                                : failed<pnfs::OBJECT_READres>(got.error()));
      if (got) bulk = std::move(got->data);
    } else if (const auto* const write = args.write()) {
      ++writes;
      while (held) (void)co_await io::Reactor::current()->sleep(std::chrono::milliseconds(1)).as_result();
      const ObjectWrite what{key_of(write->of), write->offset, static_cast<vfs::Stability>(write->stable),
                             write->uid, write->gid};
      const auto got = co_await objects_.write(server, what, request.bulk).as_result();
      result = pnfs::to_data_res::with_write(
          got ? pnfs::OBJECT_WRITEres::with_written(
                    {got->count, static_cast<std::uint32_t>(got->committed), got->verifier.bytes})
              : failed<pnfs::OBJECT_WRITEres>(got.error()));
    } else if (const auto* const commit = args.commit()) {
      const auto got = co_await objects_.commit(server, key_of(commit->of)).as_result();
      result = pnfs::to_data_res::with_commit(got ? pnfs::OBJECT_COMMITres::with_committed({got->bytes})
                                                  : failed<pnfs::OBJECT_COMMITres>(got.error()));
    } else if (const auto* const stat = args.stat()) {
      std::vector<ObjectKey> of;
      for (const pnfs::object_key& key : stat->of) of.push_back(key_of(key));
      const auto got =
          co_await objects_
              .stat(server, of, stat->stay_announced ? NextWrite::is_expected : NextWrite::is_announced)
              .as_result();
      for (const auto& one : *got) stats.push_back({0, one->end, one->space_used, one->changed});
      if (of.size() > 1) stats.back().status = 70;
      if (lies) stats.pop_back();
      result = pnfs::to_data_res::with_stat({stats});
    } else if (const auto* const truncate = args.truncate()) {
      std::vector<ObjectTruncation> of;
      for (const pnfs::object_truncation& one : truncate->objects) of.push_back(truncation_of(one));
      (void)co_await objects_.truncate(server, of).as_result();
      statuses.assign(of.size(), 0);
      result = pnfs::to_data_res::with_truncate({statuses});
    } else if (const auto* const remove = args.remove()) {
      std::vector<ObjectRemoval> of;
      for (const pnfs::object_removal& one : remove->objects)
        of.push_back({key_of(one.of), pnfs::GrantNumber(one.last)});
      (void)co_await objects_.remove(server, of).as_result();
      statuses.assign(of.size(), 10008);
      result = pnfs::to_data_res::with_remove({statuses});
    } else {
      fences = args.fence()->fences.size();
      result = pnfs::to_data_res::with_fence({static_cast<pnfs::data_status>(fences > 2 ? 28 : 0)});
    }
    co_return co_await pnfs::answer_of(result, request.memory, std::move(bulk));
  }
  std::atomic<int> admitted{0};
  std::atomic<bool> lies{false};
  std::atomic<bool> held{false};  // writes wait
  std::atomic<int> writes{0};     // that have begun
  std::atomic<std::size_t> fences{0};

 private:
  static constexpr pnfs::ServerNumber server{1};
  // Holes, and room. Nothing: it is another call.
  pnfs::ControlOp<std::optional<pnfs::to_data_res>> handle_space(const pnfs::to_data_args& args) {
    if (const auto* const seek = args.seek()) {
      const ObjectSearch what{
          .of = key_of(seek->of),
          .striping = {.unit = seek->striping.unit,
                       .width = seek->striping.width,
                       .first = seek->striping.first,
                       .packing = seek->striping.dense ? pnfs::Packing::dense : pnfs::Packing::sparse},
          .offset = seek->offset,
          .end = seek->end,
          .to = seek->to_data ? vfs::SeekTo::data : vfs::SeekTo::hole};
      const auto got = co_await objects_.seek(server, what).as_result();
      co_return pnfs::to_data_res::with_seek(
          got ? pnfs::OBJECT_SEEKres::with_sought({got->found, got->offset + (lies ? seek->end : 0)})
              : failed<pnfs::OBJECT_SEEKres>(got.error()));
    }
    if (const auto* const allocate = args.allocate()) {
      ObjectAllocation what{.of = key_of(allocate->of),
                            .ranges = {},
                            .owner = {allocate->uid, allocate->gid},
                            .number = allocate->number};
      for (const pnfs::object_range& range : allocate->ranges)
        what.ranges.push_back({allocate->of.index, range.offset, range.length});
      const auto got = co_await objects_.allocate(server, what).as_result();
      co_return pnfs::to_data_res::with_allocate({got ? 0 : status_of_error(got.error())});
    }
    if (const auto* const deallocate = args.deallocate()) {
      const pnfs::ObjectRange range{deallocate->of.index, deallocate->range.offset, deallocate->range.length};
      const auto got =
          co_await objects_.deallocate(server, range, pnfs::ObjectId(deallocate->of.object)).as_result();
      co_return pnfs::to_data_res::with_deallocate({got ? 0 : status_of_error(got.error())});
    }
    co_return std::nullopt;
  }
  static ObjectKey key_of(const pnfs::object_key& key) { return {pnfs::ObjectId(key.object), key.index}; }
  template <class Res>
  static Res failed(vfs::Error error) {
    Res out;
    out.status = status_of_error(error);
    out.body = std::monostate{};
    return out;
  }

  fake::Objects& objects_;
};

}  // namespace braid::pnfs_mds::test
