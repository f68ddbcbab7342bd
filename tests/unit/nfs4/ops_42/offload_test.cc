// COPY that goes on after its answer, and what the client hears of it: RFC 7862 section 4.8.
#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <string>

#include "nfs4/state/state_id.h"
#include "tests/unit/nfs4/support/callback_world.h"

namespace braid::nfs4::test {
namespace {

using namespace std::chrono_literals;
using enum nfs_opnum4;
using enum nfsstat4;

class Offload : public ::testing::Test {
 protected:
  Offload() {
    world_.write_local("from", "begin");
    world_.write_local("to", "");
    std::filesystem::resize_file(world_.directory() + "/from", file_bytes - 3);
    std::ofstream(world_.directory() + "/from", std::ios::app) << "end";
  }
  // The whole of `from` to `to`.
  std::optional<COPY4resok> copy(SessionClient& client, bool synchronous = false) {
    COPY4args args;
    args.ca_src_stateid = args.ca_dst_stateid = anonymous();
    args.ca_consecutive = true;
    args.ca_synchronous = synchronous;
    Request request = client.request().add(OP_PUTROOTFH).add(OP_LOOKUP, LOOKUP4args{"from"}).add(OP_SAVEFH);
    request.add(OP_PUTROOTFH).add(OP_LOOKUP, LOOKUP4args{"to"}).add(OP_GETFH).add(OP_COPY, args);
    kept_ = client.send(request);
    for (const nfs_opnum4 op : {OP_PUTROOTFH, OP_LOOKUP, OP_SAVEFH, OP_PUTROOTFH, OP_LOOKUP})
      EXPECT_EQ(kept_.status_of(op), NFS4_OK);
    const nfs_fh4 handle = kept_.result<GETFH4res>(OP_GETFH).resok4()->object;
    target_.assign(handle.begin(), handle.end());
    const auto result = kept_.result<COPY4res>(OP_COPY);
    if (result.cr_resok4() == nullptr) return std::nullopt;
    return *result.cr_resok4();
  }
  struct Status {
    nfsstat4 status = NFS4_OK;
    std::uint64_t count = 0;
    std::optional<nfsstat4> ended;
  };
  Status status(const stateid4& id) {
    Request request = alice_.request().add(OP_PUTROOTFH).add(OP_LOOKUP, LOOKUP4args{"to"});
    Reply reply = alice_.send(request.add(OP_OFFLOAD_STATUS, OFFLOAD_STATUS4args{id}));
    EXPECT_EQ(reply.status_of(OP_PUTROOTFH), NFS4_OK);
    EXPECT_EQ(reply.status_of(OP_LOOKUP), NFS4_OK);
    const auto result = reply.result<OFFLOAD_STATUS4res>(OP_OFFLOAD_STATUS);
    Status out;
    out.status = result.osr_status;
    if (const auto* ok = result.osr_resok4()) {
      out.count = ok->osr_count;
      if (!ok->osr_complete.empty()) out.ended = ok->osr_complete[0];
    }
    return out;
  }
  static nfsstat4 cancel(SessionClient& client, const stateid4& id) {
    Request request = client.request().add(OP_PUTROOTFH).add(OP_LOOKUP, LOOKUP4args{"to"});
    return client.send(request.add(OP_OFFLOAD_CANCEL, OFFLOAD_CANCEL4args{id})).status();
  }

  static constexpr std::uint64_t file_bytes = 17 * base::MiB;
  static constexpr std::uint64_t slice_bytes = 4 * base::MiB;
  CallbackWorld world_;
  CallbackPeer peer_{world_};
  SessionClient alice_{world_, 2, "alice", {.connection = peer_.connection()}};
  SessionClient bob_{world_, 2, "bob", {.address = "192.0.2.2"}};
  Reply kept_;          // what results refer to
  base::Bytes target_;  // filehandle of `to`
};

TEST_F(Offload, a_large_copy_is_answered_before_it_is_done_and_its_end_is_told) {
  const auto begun = copy(alice_);
  ASSERT_TRUE(begun);
  ASSERT_EQ(begun->cr_response.wr_callback_id.size(), 1U);
  EXPECT_EQ(begun->cr_response.wr_count, 0U);
  EXPECT_FALSE(begun->cr_requirements.cr_synchronous);
  const stateid4 id = begun->cr_response.wr_callback_id[0];
  const auto told = peer_.await(nfs_cb_opnum4::OP_CB_OFFLOAD);

  io::SlabCursor cursor(test_slabs());
  xdr::Encoder expected(cursor);
  expected.opaque(target_);
  expected.u32(1);  // coa_stateid
  expected.opaque_fixed(id.other);
  expected.u32(0);  // coa_status: NFS4_OK
  expected.u32(0);  // wr_callback_id: none
  expected.u64(file_bytes);
  expected.u32(0);  // UNSTABLE4
  expected.opaque_fixed(begun->cr_response.wr_writeverf);
  base::Bytes bytes(expected.size());
  expected.finish().bytes.in_memory().value().copy_to(0, bytes);
  EXPECT_EQ(told.args, bytes);
  EXPECT_TRUE(world_.read_local("to") == world_.read_local("from"));
  CallbackWorld::until([&] { return status(id).status == NFS4ERR_BAD_STATEID; });
}

TEST_F(Offload, a_copy_that_runs_can_be_asked_about_and_ended_by_its_client) {
  world_.watched().inject({.operation = vfs::Operation::copy, .skip = 1, .delay = 1s});
  const auto begun = copy(alice_);
  ASSERT_TRUE(begun);
  ASSERT_EQ(begun->cr_response.wr_callback_id.size(), 1U);
  const stateid4 id = begun->cr_response.wr_callback_id[0];
  CallbackWorld::until([&] { return status(id).count == slice_bytes; });
  EXPECT_EQ(status(id).ended, std::nullopt);
  EXPECT_EQ(cancel(bob_, id), NFS4ERR_BAD_STATEID);
  Request request = alice_.request(1).add(OP_PUTROOTFH).add(OP_LOOKUP, LOOKUP4args{"to"});
  const auto cancelling =
      world_.start(request.add(OP_OFFLOAD_CANCEL, OFFLOAD_CANCEL4args{id}), alice_.caller());
  EXPECT_EQ(status(id).status, NFS4ERR_BAD_STATEID);
  EXPECT_FALSE(world_.ended(cancelling)) << "a slice is on its way";
  world_.advance(1s);
  EXPECT_EQ(world_.wait(cancelling).status(), NFS4_OK);
  EXPECT_EQ(std::filesystem::file_size(world_.directory() + "/to"), 2 * slice_bytes);
  EXPECT_EQ(cancel(alice_, id), NFS4ERR_BAD_STATEID);
}

TEST_F(Offload, a_copy_that_has_ended_can_be_asked_about_until_its_client_has_taken_note) {
  peer_.status = NFS4ERR_DELAY;
  const auto begun = copy(alice_);
  ASSERT_TRUE(begun);
  ASSERT_EQ(begun->cr_response.wr_callback_id.size(), 1U);
  const stateid4 id = begun->cr_response.wr_callback_id[0];
  peer_.await(nfs_cb_opnum4::OP_CB_OFFLOAD);
  EXPECT_EQ(status(id).ended, NFS4_OK);
  EXPECT_EQ(status(id).count, file_bytes);
  peer_.status = NFS4_OK;
  CallbackWorld::until([&] {
    world_.advance(1s);
    return peer_.calls().size() > 1;
  });
  CallbackWorld::until([&] { return status(id).status == NFS4ERR_BAD_STATEID; });
}

TEST_F(Offload, who_wants_to_wait_or_cannot_be_called_waits) {
  for (const auto& done : {copy(alice_, true), copy(bob_)}) {
    ASSERT_TRUE(done);
    EXPECT_TRUE(done->cr_response.wr_callback_id.empty());
    EXPECT_EQ(done->cr_response.wr_count, file_bytes);
    EXPECT_TRUE(done->cr_requirements.cr_synchronous);
  }
  EXPECT_TRUE(peer_.calls().empty());
}

// A file system that takes its time for one operation, and a client that is evicted, or whose state is
// revoked, meanwhile.
class Departure : public Offload {
 protected:
  using End = std::function<io::Op<>(Nfs4Engine&)>;
  Request to_file(SessionClient& client) {
    return client.request().add(OP_PUTROOTFH).add(OP_LOOKUP, LOOKUP4args{"to"});
  }
  // As eight bytes.
  static io::Payload three() {
    io::SlabCursor cursor(test_slabs());
    xdr::Encoder out(cursor);
    out.u64(3);
    return out.finish().bytes;
  }
  Request copying() {
    COPY4args args;
    args.ca_src_stateid = args.ca_dst_stateid = anonymous();
    args.ca_consecutive = args.ca_synchronous = true;
    return from_to().add(OP_COPY, args);
  }
  Request from_to() {
    Request request = bob_.request().add(OP_PUTROOTFH).add(OP_LOOKUP, LOOKUP4args{"from"}).add(OP_SAVEFH);
    return request.add(OP_PUTROOTFH).add(OP_LOOKUP, LOOKUP4args{"to"});
  }
  // What `request` does takes a second; ends when `end` has waited for it.
  Reply changes_and_ends(vfs::Operation slow, const Request& request, const End& end) {
    vfs::FaultyFileSystem& watched = world_.watched();
    watched.inject({.operation = slow, .delay = 1s});
    const auto changing = world_.start(request, bob_.caller());
    CallbackWorld::until([&] { return watched.calls(slow) > 0; });
    std::optional<io::Op<>> ending;
    bool ended = false;
    world_.on_reactor([&] {
      ending.emplace(end(world_.engine()));
      ending->start({});
    });
    world_.tick();
    world_.on_reactor([&] { ended = ending->done(); });
    EXPECT_FALSE(ended) << "a change is on its way";
    EXPECT_FALSE(world_.ended(changing));
    world_.advance(1s);
    CallbackWorld::until([&] {
      world_.on_reactor([&] { ended = ending->done(); });
      return ended;
    });
    return world_.wait(changing);
  }
  End evict() {
    return [id = bob_.id()](Nfs4Engine& engine) -> io::Op<> { (void)co_await engine.evict(id).as_result(); };
  }
  End revoke() {
    return [id = bob_.id()](Nfs4Engine& engine) -> io::Op<> { (void)co_await engine.revoke(id).as_result(); };
  }
};

TEST_F(Departure, waits_for_the_slice_of_a_copy_and_nothing_is_copied_after_it) {
  changes_and_ends(vfs::Operation::copy, copying(), evict());
  EXPECT_EQ(std::filesystem::file_size(world_.directory() + "/to"), slice_bytes);
}

TEST_F(Departure, waits_for_a_clone) {
  CLONE4args args;
  args.cl_src_stateid = args.cl_dst_stateid = anonymous();
  changes_and_ends(vfs::Operation::clone, from_to().add(OP_CLONE, args), evict());
}

TEST_F(Departure, waits_for_a_write) {
  WRITE4args args;
  args.stateid = anonymous();
  args.data = three();
  changes_and_ends(vfs::Operation::write, to_file(bob_).add(OP_WRITE, args), evict());
  EXPECT_EQ(std::filesystem::file_size(world_.directory() + "/to"), 8U);
}

TEST_F(Departure, waits_for_a_change_of_the_size) {
  static constexpr std::array<std::uint32_t, 1> size{1U << FATTR4_SIZE};
  const io::Payload bytes = three();
  const SETATTR4args args{.stateid = anonymous(), .obj_attributes = {.attrmask = size, .attr_vals = bytes}};
  changes_and_ends(vfs::Operation::set, to_file(bob_).add(OP_SETATTR, args), evict());
  EXPECT_EQ(std::filesystem::file_size(world_.directory() + "/to"), 3U);
}

TEST_F(Departure, of_state_alone_lets_its_client_change_bytes_again) {
  ALLOCATE4args args;
  args.aa_stateid = anonymous();
  args.aa_length = 10;
  changes_and_ends(vfs::Operation::allocate, to_file(bob_).add(OP_ALLOCATE, args), revoke());
  EXPECT_EQ(bob_.send(to_file(bob_).add(OP_ALLOCATE, args)).status(), NFS4_OK);
}

}  // namespace
}  // namespace braid::nfs4::test
