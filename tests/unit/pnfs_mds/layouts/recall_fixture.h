// Clients that are asked for their layouts.
#pragma once

#include "nfs4/ops/state_access.h"
#include "tests/unit/pnfs_mds/layouts/layouts_fixture.h"

namespace braid::pnfs_mds::layouts::test {

using namespace std::chrono_literals;
using enum nfs_cb_opnum4;

class RecallTest : public LayoutsTest {
 protected:
  explicit RecallTest(std::uint32_t grants = 0) : LayoutsTest({}, grants) {}

  // CB_LAYOUTRECALL as it came.
  struct Recalled {
    std::uint32_t type = 0;
    layoutiomode4 iomode{};
    layoutreturn_type4 of{};
    std::uint64_t offset = 1, length = 0;
    stateid4 id;
    fsid4 fsid;
  };
  static Recalled understand(const CallbackPeer::Call& call) {
    io::SlabCursor cursor(test_slabs());
    auto range = cursor.carve(call.args.size());
    std::ranges::copy(call.args, range->writable().begin());
    io::Payload bytes;
    bytes.append(std::move(*range));
    xdr::Arena arena;
    xdr::Decoder in(bytes, arena);
    CB_LAYOUTRECALL4args args;
    EXPECT_TRUE(decode(in, args));
    Recalled out{.type = args.clora_type,
                 .iomode = args.clora_iomode,
                 .of = args.clora_recall.lor_recalltype,
                 .offset = 1,
                 .length = 0,
                 .id = {},
                 .fsid = {}};
    if (const layoutrecall_file4* const file = args.clora_recall.lor_layout()) {
      out.offset = file->lor_offset;
      out.length = file->lor_length;
      out.id = file->lor_stateid;
    }
    if (const fsid4* const fsid = args.clora_recall.lor_fsid()) out.fsid = *fsid;
    return out;
  }
  Recalled await_recall(CallbackPeer& peer, std::size_t number = 1) {
    return understand(peer.await(OP_CB_LAYOUTRECALL, number));
  }
  // The n-th recall, which comes after some time.
  Recalled await_later_recall(CallbackPeer& peer, std::size_t number) {
    while (recalls(peer) < number) world_->advance(5ms);
    return await_recall(peer, number);
  }
  static std::size_t recalls(CallbackPeer& peer) {
    return static_cast<std::size_t>(
        std::ranges::count(peer.calls(), OP_CB_LAYOUTRECALL, &CallbackPeer::Call::op));
  }
  Granted written_by(SessionClient& client, std::string_view name) {
    const auto granted = layoutget(client, name, layoutget_args(open(client, name, OPEN4_SHARE_ACCESS_BOTH)));
    EXPECT_TRUE(granted);
    return granted.value_or(Granted());
  }
  // An OPEN of bob's for reading, under way.
  std::shared_ptr<Sent> start_denying(std::uint32_t deny) {
    OPEN4args args;
    args.share_access = OPEN4_SHARE_ACCESS_READ | OPEN4_SHARE_ACCESS_WANT_NO_DELEG;
    args.share_deny = deny;
    args.owner.owner = base::bytes_of(std::string_view("owner"));
    args.openhow = openflag4::with_default(opentype4::OPEN4_NOCREATE);
    args.claim = open_claim4::with_file("file");
    return world_->start(bob_->request().add(OP_PUTROOTFH).add(OP_OPEN, args), bob_->caller());
  }
  // So that its lease does not end.
  void renew(SessionClient& client) { EXPECT_EQ(client.send(client.request()).status(), NFS4_OK); }
  void change(const std::function<void(state::DeferredWork& work)>& f) {
    world_->on_engine([&](Nfs4Engine& engine) {
      state::DeferredWork work;
      engine.state().states.with([&](state::States& /*states*/) { f(work); });
      return ops::settle(engine.state(), std::move(work));
    });
  }
  // With a size, so that there is something to cut.
  void fill(const Granted& granted) {
    const pnfs::DataHandle handle = handle_of(granted);
    written(handle.object);
    for (std::uint32_t server = 1; server <= servers; ++server)
      if (const auto here = opened(server, granted.handles[0]))
        objects_.put(pnfs::ServerNumber(server), {handle.object, here->index}, 0, "some bytes");
  }
  std::vector<ClientFence> bars(std::uint32_t server) {
    std::vector<ClientFence> out;
    for (const Fence& fence : objects_.fences(pnfs::ServerNumber(server)))
      if (const auto* const bar = std::get_if<ClientFence>(&fence)) out.push_back(*bar);
    return out;
  }
  void await_bars() {
    CallbackWorld::until([&] {
      for (std::uint32_t server = 1; server <= servers; ++server)
        if (bars(server).empty()) return false;
      return true;
    });
  }
};

}  // namespace braid::pnfs_mds::layouts::test
