// The control protocol as the metadata server speaks it, over TCP.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "base/manual/manual_clock.h"
#include "pnfs/control_peer.h"
#include "pnfs/control_service.h"
#include "pnfs_mds/cluster.h"
#include "pnfs_mds/control_calls.h"
#include "pnfs_mds/control_handler.h"
#include "pnfs_mds/fake/objects.h"
#include "tests/unit/pnfs/caller.h"
#include "tests/unit/pnfs_mds/data_side.h"
#include "tests/unit/pnfs_mds/scratch.h"
#include "tests/unit/rpc/tcp_fixture.h"

namespace braid::pnfs_mds::test {
namespace {

using pnfs::test::Caller;

using namespace std::chrono_literals;
using enum pnfs::control_status;

constexpr pnfs::ServerNumber first{1};
constexpr ObjectKey some_object{pnfs::ObjectId(5), 2};

pnfs::ServerId server_id(std::uint8_t number) {
  pnfs::ServerId id{};
  id[0] = std::byte{number};
  return id;
}

std::unique_ptr<rpc::test::TcpServer> serve(rpc::Program program) {
  const std::vector<rpc::Program> programs{program};
  rpc::test::TcpServerOptions options;
  options.tcp.record_bytes_max = 8 * base::MiB;
  return std::make_unique<rpc::test::TcpServer>(options, programs);
}
// "127.0.0.1.8.1"
std::string universal(const rpc::PeerAddress& address) {
  return fmt::format("127.0.0.1.{}.{}", address.port >> 8U, address.port & 0xffU);
}

class ControlTest : public ScratchTest {
 protected:
  ControlTest()
      : cluster_(std::move(*Cluster::open(
            {.state_dir = path_, .secret_file = "", .policy = {}, .servers = {}}, hand_clock_, unused_))) {}
  pnfs::Introduction data_server(std::uint8_t number = 1, std::string name = "ds") const {
    return {.role = pnfs::control_role::ROLE_DATA,
            .cluster = {},
            .server = server_id(number),
            .name = std::move(name),
            .addresses = addresses_};
  }

  base::ManualClock hand_clock_;  // of contact
  fake::Objects objects_, unused_;
  std::unique_ptr<Cluster> cluster_;
  std::vector<pnfs::Introduction::Address> addresses_{{"tcp", "192.0.2.1.8.1"}};
};

class CallsOverTcp : public ControlTest {
 protected:
  CallsOverTcp()
      : data_(objects_),
        service_(
            clock_, cluster_->secret(), [this] { return data_server(); }, data_),
        server_(serve(service_.program())) {
    admit({{"rdma", "127.0.0.1.8.1"}, {"tcp", universal(server_->address)}});
    const std::vector<pnfs::ControlPath> paths{pnfs::over_tcp(*caller_.tcp), pnfs::over_tcp(*second_.tcp)};
    calls_.register_in(metrics_);
    calls_.start(
        caller_.pool, cluster_->servers(), cluster_->secret(), [this] { return introduction_of(*cluster_); },
        paths);
  }
  ~CallsOverTcp() override {
    caller_.thread.await([this] { return calls_.close(); });
  }
  void admit(std::vector<Address> addresses) {
    EXPECT_TRUE(now(cluster_->servers().admit(server_id(1), "ds", std::move(addresses))));
    EXPECT_TRUE(
        now(cluster_->servers().heard(server_id(1), {.room = {}, .load = 0, .verifier = {{std::byte{1}}}})));
  }
  template <class T>
  base::Result<T, vfs::Error> ended(std::function<vfs::VfsOp<T>()> call, Caller& at) {
    std::optional<base::Result<T, vfs::Error>> out;
    at.thread.await([&]() { return keep<T>(call, out); });
    return std::move(*out);
  }
  template <class F>
  auto call(F f) {
    using T = typename std::invoke_result_t<F>::value_type;
    return ended<T>(std::function<vfs::VfsOp<T>()>(f), caller_);
  }
  template <class T>
  static io::Op<> keep(const std::function<vfs::VfsOp<T>()>& call,
                       std::optional<base::Result<T, vfs::Error>>& out) {
    out.emplace(co_await call().as_result());
  }
  io::Payload payload(std::size_t size) {
    io::Payload out;
    for (std::size_t at = 0; at < size; at += io::large_slab_bytes) {
      io::SlabRange range{caller_.pool.acquire(io::SlabSize::large).value(), 0,
                          static_cast<std::uint32_t>(std::min(size - at, io::large_slab_bytes))};
      std::ranges::fill(range.writable(), std::byte{'x'});
      out.append(std::move(range));
    }
    return out;
  }

  Caller caller_, second_;
  DataSide data_;
  pnfs::ControlService service_;
  std::unique_ptr<rpc::test::TcpServer> server_;
  base::MetricRegistry metrics_;
  ControlCalls calls_, other_calls_;
};

TEST_F(CallsOverTcp, bytes_go_to_an_object_and_come_back) {
  const ObjectWrite what{some_object, 100, vfs::Stability::data_sync, 7, 8};
  const auto written = call([&] { return calls_.write(first, what, payload(2 * base::MiB)); });
  ASSERT_TRUE(written);
  EXPECT_EQ(written->count, 2 * base::MiB);
  EXPECT_EQ(written->committed, vfs::Stability::data_sync);
  EXPECT_EQ(written->verifier, objects_.verifier(first));
  EXPECT_EQ(objects_.owner(first, some_object), 7U);
  const auto got = call([&] { return calls_.read(first, some_object, 98, 4); });
  EXPECT_EQ(got->end, 2 * base::MiB + 100);
  EXPECT_EQ(base::text_of(got->data.in_memory()->bytes()), std::string_view("\0\0xx", 4));
  EXPECT_EQ(call([&] { return calls_.commit(first, some_object); }), objects_.verifier(first));
  EXPECT_EQ(data_.admitted, 1);
}

TEST_F(CallsOverTcp, each_thread_has_a_connection_of_its_own) {
  const auto op = [&] { return calls_.commit(first, some_object); };
  EXPECT_TRUE(ended<vfs::Verifier>(op, caller_));
  EXPECT_TRUE(ended<vfs::Verifier>(op, second_));
  EXPECT_TRUE(ended<vfs::Verifier>(op, second_));
  EXPECT_EQ(data_.admitted, 2);
}

TEST_F(CallsOverTcp, each_object_of_a_batch_has_a_result_of_its_own) {
  objects_.put(first, some_object, 0, "bytes");
  const ObjectKey other{pnfs::ObjectId(6), 0};
  const auto stats = call([&] { return calls_.stat(first, {some_object, other}, NextWrite::is_announced); });
  ASSERT_EQ(stats->size(), 2U);
  EXPECT_EQ((*stats)[0]->end, 5U);
  EXPECT_TRUE((*stats)[0]->changed);
  EXPECT_EQ((*stats)[1].error(), vfs::Error::stale);
  const pnfs::KeptHandles kept{.client = pnfs::ClientTag(7), .from = pnfs::GrantNumber(8)};
  const ObjectTruncation cut{{some_object, pnfs::Epoch(3), pnfs::GrantNumber(9), kept}, 2};
  EXPECT_TRUE(call([&] { return calls_.truncate(first, {cut}); })->front());
  EXPECT_EQ(objects_.bytes(first, some_object), "by");
  EXPECT_EQ(objects_.epoch(first, some_object), pnfs::Epoch(3));
  EXPECT_EQ(objects_.kept(first, some_object), kept);
  EXPECT_EQ(
      call([&] { return calls_.remove(first, {{some_object, pnfs::GrantNumber(9)}}); })->front().error(),
      vfs::Error::delay);
  EXPECT_TRUE(objects_.removed(first, some_object));
}

TEST_F(CallsOverTcp, searches_room_and_holes_arrive) {
  objects_.put(first, some_object, 10, "bytes");
  const pnfs::Striping striping{.unit = 65536, .width = 3, .first = 2, .packing = pnfs::Packing::dense};
  ObjectSearch search{
      .of = some_object, .striping = striping, .offset = 3, .end = 100, .to = vfs::SeekTo::data};
  auto sought = call([&] { return calls_.seek(first, search); });
  EXPECT_TRUE(sought->found);
  EXPECT_EQ(sought->offset, 10U);
  search.to = vfs::SeekTo::hole;
  search.offset = 10;
  search.end = 12;
  sought = call([&] { return calls_.seek(first, search); });
  EXPECT_FALSE(sought->found);
  EXPECT_EQ(sought->offset, 12U);
  const ObjectAllocation room{.of = some_object,
                              .ranges = {{some_object.index, 0, 5}, {some_object.index, 20, 10}},
                              .owner = {.uid = 7, .gid = 8},
                              .number = 9};
  EXPECT_TRUE(call([&] { return calls_.allocate(first, room); }));
  EXPECT_EQ(objects_.last_allocation().number, 9U);
  EXPECT_EQ(objects_.allocated(first, some_object), 15U);
  EXPECT_EQ(objects_.bytes(first, some_object)->size(), 30U);
  const pnfs::ObjectRange hole{some_object.index, 11, 3};
  EXPECT_TRUE(call([&] { return calls_.deallocate(first, hole, some_object.object); }));
  EXPECT_EQ(objects_.bytes(first, some_object)->substr(10, 5), std::string("b\0\0\0s", 5));
  objects_.set_error(first, vfs::Error::nospc);
  EXPECT_EQ(call([&] { return calls_.allocate(first, room); }).error(), vfs::Error::nospc);
  EXPECT_EQ(call([&] { return calls_.deallocate(first, hole, some_object.object); }).error(),
            vfs::Error::nospc);
  EXPECT_EQ(call([&] { return calls_.seek(first, search); }).error(), vfs::Error::nospc);
}

TEST_F(CallsOverTcp, fences_of_each_kind_arrive) {
  const std::vector<Fence> fences{EpochFence{some_object, pnfs::Epoch(2), pnfs::GrantNumber(5)},
                                  ClientFence{pnfs::ClientTag(1), pnfs::GrantNumber(5)}};
  EXPECT_TRUE(call([&] { return calls_.fence(first, fences); }));
  EXPECT_EQ(data_.fences, 2U);
  std::vector<Fence> more = fences;
  more.emplace_back(LowestFence{pnfs::GrantNumber(4)});
  EXPECT_EQ(call([&] { return calls_.fence(first, more); }).error(), vfs::Error::nospc);
}

TEST_F(CallsOverTcp, errors_of_a_data_server_are_those_of_the_file) {
  const ObjectWrite what{some_object, 0, vfs::Stability::unstable, 0, 0};
  for (const vfs::Error error : {vfs::Error::nospc, vfs::Error::dquot, vfs::Error::fbig, vfs::Error::delay,
                                 vfs::Error::io, vfs::Error::stale}) {
    objects_.set_error(first, error);
    EXPECT_EQ(call([&] { return calls_.write(first, what, payload(10)); }).error(), error);
  }
  EXPECT_EQ(error_of_status(99), vfs::Error::io);
}

TEST_F(CallsOverTcp, an_answer_of_another_shape_is_an_error) {
  data_.lies = true;
  EXPECT_EQ(call([&] { return calls_.stat(first, {some_object}, NextWrite::is_expected); }).error(),
            vfs::Error::io);
  const ObjectSearch search{
      .of = some_object, .striping = {}, .offset = 0, .end = 100, .to = vfs::SeekTo::data};
  EXPECT_EQ(call([&] { return calls_.seek(first, search); }).error(), vfs::Error::io);
}

TEST_F(CallsOverTcp, a_server_that_is_away_is_tried_again_and_found_elsewhere) {
  EXPECT_TRUE(call([&] { return calls_.commit(first, some_object); }));
  server_.reset();
  EXPECT_EQ(call([&] { return calls_.commit(first, some_object); }).error(), vfs::Error::delay);
  server_ = serve(service_.program());
  admit({{"tcp", universal(server_->address)}});
  EXPECT_TRUE(call([&] { return calls_.commit(first, some_object); }));
}

TEST_F(CallsOverTcp, calls_are_counted_by_what_they_are_and_how_they_end) {
  EXPECT_TRUE(call([&] { return calls_.commit(first, some_object); }));
  objects_.set_error(first, vfs::Error::nospc);
  EXPECT_FALSE(call([&] { return calls_.commit(first, some_object); }));
  server_.reset();
  EXPECT_FALSE(call([&] { return calls_.deallocate(first, {0, 0, 1}, pnfs::ObjectId(1)); }));
  const std::string text = metrics_.prometheus();
  const auto counted = [&](const char* call, const char* result, int times) {
    return text.find(fmt::format("braid_pnfs_control_calls_total{{call=\"{}\",result=\"{}\"}} {}\n", call,
                                 result, times)) != text.npos;
  };
  EXPECT_TRUE(counted("commit", "answered", 2)) << "an error of the file is an answer";
  EXPECT_TRUE(counted("deallocate", "unreachable", 1)) << text;
  EXPECT_TRUE(counted("fence", "answered", 0));
}

TEST_F(CallsOverTcp, a_write_that_was_not_answered_is_outlasted_before_there_is_another) {
  const ObjectWrite what{some_object, 0, vfs::Stability::data_sync, 7, 8};
  data_.held = true;
  std::optional<vfs::Error> error;
  std::jthread writer([&] { error = call([&] { return calls_.write(first, what, payload(5)); }).error(); });
  while (data_.writes == 0) std::this_thread::sleep_for(1ms);
  // The server has other addresses, so there is another connection.
  admit({{"tcp", universal(server_->address)}});
  EXPECT_EQ(call([&] { return calls_.commit(first, some_object); }).error(), vfs::Error::delay);
  writer.join();
  EXPECT_EQ(error, vfs::Error::delay);
  const auto write = [&] { return calls_.write(first, what, payload(7)); };
  EXPECT_EQ(call(write).error(), vfs::Error::delay);
  EXPECT_EQ(ended<ObjectWritten>(write, second_).error(), vfs::Error::delay) << "another thread's";
  EXPECT_TRUE(ended<vfs::Verifier>([&] { return calls_.commit(first, some_object); }, second_));
  EXPECT_EQ(objects_.bytes(first, some_object), std::nullopt);
  data_.held = false;
  EXPECT_TRUE(call([&] { return calls_.outlast(first); }));
  EXPECT_EQ(objects_.bytes(first, some_object)->size(), 5U);
  EXPECT_EQ(call(write)->count, 7U);
  EXPECT_EQ(data_.writes, 2);
}

TEST_F(CallsOverTcp, nobody_waits_for_a_server_that_is_lost) {
  const ObjectWrite what{some_object, 0, vfs::Stability::data_sync, 7, 8};
  data_.held = true;
  std::jthread writer([&] { EXPECT_FALSE(call([&] { return calls_.write(first, what, payload(5)); })); });
  while (data_.writes == 0) std::this_thread::sleep_for(1ms);
  admit({{"tcp", "127.0.0.1.0.1"}});
  EXPECT_EQ(call([&] { return calls_.commit(first, some_object); }).error(), vfs::Error::delay);
  writer.join();
  std::optional<base::Result<void, vfs::Error>> outlasted;
  std::jthread waiter([&] { outlasted = call([&] { return calls_.outlast(first); }); });
  hand_clock_.advance(1h);
  waiter.join();
  EXPECT_EQ(outlasted->error(), vfs::Error::io);
  EXPECT_EQ(call([&] { return calls_.stat(first, {some_object}, NextWrite::is_expected); }).error(),
            vfs::Error::io);
  EXPECT_EQ(call([&] { return calls_.remove(first, {{some_object, pnfs::GrantNumber(9)}}); }).error(),
            vfs::Error::delay)
      << "that can wait";
  data_.held = false;
}

TEST_F(CallsOverTcp, another_server_behind_the_address_is_not_taken_for_it) {
  EXPECT_TRUE(now(cluster_->servers().admit(server_id(2), "other", {{"tcp", universal(server_->address)}})));
  EXPECT_TRUE(now(cluster_->servers().heard(server_id(2), {.room = {}, .load = 0, .verifier = {}})));
  EXPECT_EQ(call([&] { return calls_.commit(pnfs::ServerNumber(2), some_object); }).error(),
            vfs::Error::delay);
  EXPECT_EQ(objects_.calls(), 0U);
}

TEST_F(CallsOverTcp, who_cannot_be_called_is_not) {
  EXPECT_EQ(call([&] { return calls_.commit(pnfs::ServerNumber(9), some_object); }).error(), vfs::Error::io);
  EXPECT_EQ(call([&] { return other_calls_.commit(first, some_object); }).error(), vfs::Error::delay)
      << "not started";
  EXPECT_TRUE(now(cluster_->servers().admit(server_id(3), "silent", {{"tcp", universal(server_->address)}})));
  EXPECT_EQ(call([&] { return calls_.commit(pnfs::ServerNumber(2), some_object); }).error(),
            vfs::Error::delay);
  EXPECT_EQ(data_.admitted, 0) << "no contact";
}

// A way that leads nowhere, and notes where it was to lead.
TEST_F(CallsOverTcp, only_addresses_of_the_transport_are_called) {
  std::vector<std::string> asked;
  const std::vector<pnfs::ControlPath> paths{
      {.reactor = caller_.thread.reactor(), .connect = [&](rpc::PeerAddress to, rpc::Client& /*client*/) {
         asked.push_back(to.text());
         return io::Op<>(base::Result<void>(base::fail(base::errno_of(ECONNREFUSED))));
       }}};
  ControlCalls by_rdma;
  const auto own = [this] { return introduction_of(*cluster_); };
  by_rdma.start(caller_.pool, cluster_->servers(), cluster_->secret(), own, paths, rpc::Transport::rdma);
  admit({{"tcp", universal(server_->address)}});
  EXPECT_EQ(call([&] { return by_rdma.commit(first, some_object); }).error(), vfs::Error::delay);
  EXPECT_THAT(asked, testing::ElementsAre()) << "it has none, and TCP is no substitute";
  admit(
      {{"tcp", universal(server_->address)}, {"rdma", "127.0.0.1.8.1"}, {"rdma6", "::1.8.2"}, {"rdma", "x"}});
  EXPECT_EQ(call([&] { return by_rdma.commit(first, some_object); }).error(), vfs::Error::delay);
  EXPECT_EQ(call([&] { return by_rdma.commit(first, some_object); }).error(), vfs::Error::delay);
  EXPECT_THAT(asked, testing::ElementsAre("127.0.0.1:2049", "[::1]:2050"));
  caller_.thread.await([&] { return by_rdma.close(); });
}

class CallsOfDataServers : public ControlTest {
 protected:
  CallsOfDataServers()
      : service_(
            clock_, cluster_->secret(), [this] { return introduction_of(*cluster_); }, control_),
        server_(serve(service_.program())) {}

  using Answer = base::Result<pnfs::to_metadata_res, pnfs::PeerError>;
  Answer call(pnfs::Introduction own, const pnfs::to_metadata_args& args) {
    std::optional<Answer> out;
    std::optional<pnfs::ControlPeer> peer;
    caller_.thread.call([&] {
      peer.emplace(
          pnfs::over_tcp(*caller_.tcp), caller_.pool, server_->address, cluster_->secret(),
          [own] { return own; }, [](const pnfs::Introduction&) { return CONTROL_OK; });
    });
    caller_.thread.await([&] { return keep(*peer, args, out, dirty_); });
    caller_.thread.call([&] { peer.reset(); });
    return *out;
  }
  static io::Op<> keep(pnfs::ControlPeer& peer, const pnfs::to_metadata_args& args,
                       std::optional<Answer>& out, std::vector<pnfs::data_status>& dirty) {
    const auto reply = co_await peer.call_metadata(args, 10s).as_result();
    if (reply && reply->result.dirty() != nullptr)
      dirty.assign(reply->result.dirty()->objects.begin(), reply->result.dirty()->objects.end());
    if (reply)
      out.emplace(reply->result);
    else
      out.emplace(std::unexpect, reply.error());
    co_await peer.close();
  }
  static pnfs::to_metadata_args beat() {
    pnfs::HEARTBEATargs args;
    args.sent = 77;
    args.bytes_available = 1000;
    args.load = 17;
    args.file_system[15] = std::byte{3};
    args.verifier[0] = std::byte{9};
    return pnfs::to_metadata_args::with_heartbeat(args);
  }

  Caller caller_;
  // Before anybody can ask.
  static Cluster& with_facts(Cluster& cluster) {
    cluster.set_file_facts([](pnfs::ObjectId object) -> vfs::VfsOp<FileFacts> {
      if (object.value() != 5) return base::fail(vfs::Error::stale);
      return FileFacts{.size = 123, .owner = {.uid = 1, .gid = 2}};
    });
    return cluster;
  }

  std::vector<pnfs::data_status> dirty_;  // what the last answer to DIRTY says
  MetadataControl control_{with_facts(*cluster_)};
  pnfs::ControlService service_;
  std::unique_ptr<rpc::test::TcpServer> server_;
};

TEST_F(CallsOfDataServers, a_heartbeat_makes_a_server_known) {
  const Answer answer = call(data_server(), beat());
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->heartbeat()->sent, 77U);
  EXPECT_EQ(answer->heartbeat()->key_newest, cluster_->newest_key().value());
  const auto info = cluster_->servers().find(first);
  ASSERT_TRUE(info);
  EXPECT_TRUE(info->in_contact);
  EXPECT_EQ(info->id, server_id(1));
  EXPECT_EQ(info->addresses, (std::vector<Address>{{"tcp", "192.0.2.1.8.1"}}));
  EXPECT_EQ(info->room.bytes_available, 1000U);
  EXPECT_EQ(info->load, 17U);
  EXPECT_EQ(info->room.file_system[15], std::byte{3});
  EXPECT_EQ(info->verifier.bytes[0], std::byte{9});
}

TEST_F(CallsOfDataServers, a_heartbeat_is_answered_once_the_server_has_what_is_pending) {
  EXPECT_TRUE(call(data_server(), beat()));
  unused_.set_silent(first, true);
  const ClientFence fence{pnfs::ClientTag(7), pnfs::GrantNumber(3)};
  EXPECT_EQ(now(cluster_->pending_fences().put(first, fence)).error(), vfs::Error::delay);
  const Answer refused = call(data_server(), beat());
  EXPECT_EQ(refused.error(), (pnfs::PeerError{pnfs::PeerFault::refused, CONTROL_DELAY}));
  EXPECT_TRUE(unused_.fences(first).empty());
  unused_.set_silent(first, false);
  EXPECT_TRUE(call(data_server(), beat()));
  ASSERT_EQ(unused_.fences(first).size(), 1U);
  EXPECT_EQ(std::get<ClientFence>(unused_.fences(first).front()).client, fence.client);
  EXPECT_EQ(cluster_->pending_fences().count(), 0U);
}

TEST_F(CallsOfDataServers, a_name_of_another_store_is_refused) {
  EXPECT_TRUE(call(data_server(1), beat()));
  const Answer refused = call(data_server(2), beat());
  EXPECT_EQ(refused.error(), (pnfs::PeerError{pnfs::PeerFault::refused, CONTROL_OTHER_SERVER}));
  EXPECT_EQ(cluster_->servers().all().size(), 1U);
}

TEST_F(CallsOfDataServers, facts_of_a_file_are_told) {
  const Answer known = call(data_server(), pnfs::to_metadata_args::with_file_facts({5}));
  EXPECT_EQ(known->file_facts()->facts()->size, 123U);
  EXPECT_EQ(known->file_facts()->facts()->gid, 2U);
  const Answer unknown = call(data_server(), pnfs::to_metadata_args::with_file_facts({6}));
  EXPECT_EQ(unknown->file_facts()->status, 70U);
}

TEST_F(CallsOfDataServers, of_a_file_that_there_is_not_nobody_keeps_anything) {
  const std::vector<std::uint64_t> objects{5, 6};
  const Answer none = call(data_server(), pnfs::to_metadata_args::with_dirty({objects}));
  ASSERT_TRUE(none);
  EXPECT_THAT(dirty_, testing::ElementsAre(70U, 70U)) << "no object was ever made";
}

}  // namespace
}  // namespace braid::pnfs_mds::test
