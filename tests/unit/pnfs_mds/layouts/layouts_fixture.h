// A metadata server: the real engine over a directory whose files are striped over data servers in memory,
// and clients that it can call.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/big_endian.h"
#include "base/metrics.h"
#include "pnfs/file_layout.x.h"
#include "pnfs_mds/cluster.h"
#include "pnfs_mds/fake/objects.h"
#include "pnfs_mds/layouts/layout_operations.h"
#include "pnfs_mds/layouts/layouts.h"
#include "tests/unit/nfs4/support/callback_world.h"

namespace braid::pnfs_mds::layouts::test {

// An argument-dependent `using namespace` would hide which of two servers a name is of.
using namespace braid::nfs4;        // NOLINT(google-build-using-namespace): the vocabulary of requests
using namespace braid::nfs4::test;  // NOLINT(google-build-using-namespace)
using enum nfs_opnum4;
using enum nfsstat4;

constexpr std::uint64_t to_the_end = ~std::uint64_t{0};
constexpr std::uint32_t files_type = 1;
constexpr auto reads = layoutiomode4::LAYOUTIOMODE4_READ;
constexpr auto writes = layoutiomode4::LAYOUTIOMODE4_RW;

// What a client keeps of a LAYOUTGET.
struct Granted {
  stateid4 id;
  bool return_on_close = false;
  layout4 layout;
  pnfs::nfsv4_1_file_layout4 file;
  std::vector<base::Bytes> handles;
};

// fattr4 with a size alone.
struct SizeToSet {
  explicit SizeToSet(std::uint64_t size) {
    io::SlabCursor cursor(test_slabs());
    xdr::Encoder out(cursor);
    out.u64(size);
    wire.attrmask = mask;
    wire.attr_vals = out.finish().bytes;
  }
  SizeToSet(const SizeToSet&) = delete;
  SizeToSet& operator=(const SizeToSet&) = delete;
  const std::array<std::uint32_t, 1> mask{1U << FATTR4_SIZE};
  fattr4 wire;
};

class LayoutsTest : public testing::Test {
 protected:
  static constexpr std::uint32_t unit = 64 * base::KiB;
  static constexpr std::uint32_t servers = 3;

  // `grants`: so many have been granted by a run before.
  explicit LayoutsTest(EngineOptions options = {}, std::uint32_t grants = 0) {
    if (::geteuid() != 0) return;
    std::string name = testing::TempDir() + "pnfs_layouts_XXXXXX";
    path_ = ::mkdtemp(name.data());
    auto cluster =
        Cluster::open({.state_dir = path_,
                       .secret_file = "",
                       .policy = {.unit = unit, .width = servers, .packing = pnfs::Packing::sparse},
                       .servers = {}},
                      clock_, objects_);
    cluster_ = std::move(*cluster);
    for (std::uint32_t number = 1; number <= servers; ++number) admit(number);
    if (grants > 0) {
      EXPECT_TRUE(now(cluster_->grants().next(grants)));
    }
    layouts_ = std::make_unique<Layouts>(*cluster_);
    layouts_->counters().register_in(metrics_);
    Capability capability;
    capability.sources = {&cluster_->source()};
    capability.parts = [this] {
      EngineParts parts;
      parts.operations.add(layout_operations());
      parts.role_flags = EXCHGID4_FLAG_USE_PNFS_MDS;
      parts.layout_types = {layouttype4::LAYOUT4_NFSV4_1_FILES};
      parts.kinds = {layouts_.get()};
      return parts;
    };
    world_ = std::make_unique<CallbackWorld>(std::move(options), std::vector<ExportSpec>{ExportSpec{}},
                                             std::move(capability));
    world_->on_reactor([this] { layouts_->recalls().start(world_->engine().state(), world_->reactor()); });
    alice_peer_ = std::make_unique<CallbackPeer>(*world_);
    bob_peer_ = std::make_unique<CallbackPeer>(*world_);
    alice_ = std::make_unique<SessionClient>(*world_, 2U, "alice",
                                             Caller{.connection = alice_peer_->connection()});
    bob_ = std::make_unique<SessionClient>(
        *world_, 1U, "bob", Caller{.address = "192.0.2.2", .connection = bob_peer_->connection()});
  }
  ~LayoutsTest() override {
    if (layouts_ != nullptr) drain();
    alice_.reset();
    bob_.reset();
    alice_peer_.reset();
    bob_peer_.reset();
    world_.reset();
    layouts_.reset();
    cluster_.reset();
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "trusted attributes are root's";
  }

  // Whether the metrics have this line.
  [[nodiscard]] bool counted(const std::string& line) const {
    return metrics_.prometheus().find(line + "\n") != std::string::npos;
  }
  // Calls of silent servers take time.
  void drain() {
    layouts_->recalls().stop();
    std::optional<io::Op<>> draining;
    world_->on_reactor([&] {
      draining.emplace(layouts_->recalls().drained());
      draining->start({});
    });
    CallbackWorld::until([&] {
      world_->advance(fake::Objects::patience);
      bool done = false;
      world_->on_reactor([&] { done = draining->done(); });
      return done;
    });
  }
  static pnfs::ServerId id_of(std::uint32_t number) {
    pnfs::ServerId id{};
    id[0] = static_cast<std::byte>(number);
    return id;
  }
  template <class T>
  static base::Result<T, vfs::Error> now(vfs::VfsOp<T> op) {
    op.start({});
    EXPECT_TRUE(op.done());
    return std::move(op.result());
  }
  void admit(std::uint32_t number) {
    const std::string port = std::to_string(number);
    const std::vector<Address> addresses{{.netid = "tcp", .uaddr = "192.0.2.7.8." + port}};
    EXPECT_TRUE(now(cluster_->servers().admit(id_of(number), "ds" + port, addresses)));
    beat(number);
  }
  void beat(std::uint32_t number) {
    const ServerRoom room{base::GiB, base::GiB, base::GiB, 100};
    EXPECT_TRUE(now(cluster_->servers().heard(
        id_of(number),
        {.room = room, .load = 0, .verifier = objects_.verifier(pnfs::ServerNumber(number))})));
  }

  // OPEN of a name in the root, which is made if it is to be written and is not there.
  // `size`: that of the file, as OPEN says it.
  stateid4 open(SessionClient& client, std::string_view name, std::uint32_t access,
                std::optional<std::uint64_t> size = std::nullopt) {
    const SizeToSet to(size.value_or(0));
    OPEN4args args;
    args.share_access = access;
    args.owner.owner = base::bytes_of(std::string_view("owner"));
    args.openhow = openflag4::with_default(opentype4::OPEN4_NOCREATE);
    if ((access & OPEN4_SHARE_ACCESS_WRITE) != 0)
      args.openhow = openflag4::with_how(
          createhow4::with_createattrs(createmode4::UNCHECKED4, size ? to.wire : fattr4()));
    args.claim = open_claim4::with_file(name);
    Reply reply = client.send(client.request().add(OP_PUTROOTFH).add(OP_OPEN, args));
    EXPECT_EQ(reply.status_of(OP_PUTROOTFH), NFS4_OK);
    const auto result = reply.result<OPEN4res>(OP_OPEN);
    EXPECT_EQ(result.status, NFS4_OK);
    return result.resok4() == nullptr ? stateid4{} : result.resok4()->stateid;
  }
  // SETATTR of the size.
  nfsstat4 truncate(SessionClient& client, std::string_view name, std::uint64_t size,
                    const stateid4& id = anonymous()) {
    const SizeToSet to(size);
    return on_file(client, name, OP_SETATTR, SETATTR4args{id, to.wire}).status();
  }
  // The same, under way.
  std::shared_ptr<Sent> start_truncation(SessionClient& client, std::string_view name, std::uint64_t size) {
    const SizeToSet to(size);
    return start_on_file(client, name, OP_SETATTR, SETATTR4args{anonymous(), to.wire});
  }
  template <class Args>
  std::shared_ptr<Sent> start_on_file(SessionClient& client, std::string_view name, nfs_opnum4 op,
                                      const Args& args) {
    return world_->start(client.request(1).add(OP_PUTROOTFH).add(OP_LOOKUP, LOOKUP4args{name}).add(op, args),
                         client.caller());
  }
  // Some bytes at the file's beginning, through the metadata server; under way.
  std::shared_ptr<Sent> start_write(SessionClient& client, std::string_view name, const stateid4& id) {
    io::SlabCursor cursor(test_slabs());
    auto bytes = cursor.carve(10);
    std::ranges::fill(bytes->writable(), std::byte{'x'});
    return start_on_file(client, name, OP_WRITE,
                         WRITE4args{id, 0, stable_how4::FILE_SYNC4, io::Payload(std::move(*bytes))});
  }
  // How it ended; time passes until it does.
  nfsstat4 ended(const std::shared_ptr<Sent>& sent) {
    while (!world_->ended(sent)) world_->advance(std::chrono::milliseconds(1));
    return world_->wait(sent).status();
  }
  template <class Args>
  Reply on_file(SessionClient& client, std::string_view name, nfs_opnum4 op, const Args& args) {
    Reply reply =
        client.send(client.request().add(OP_PUTROOTFH).add(OP_LOOKUP, LOOKUP4args{name}).add(op, args));
    EXPECT_EQ(reply.status_of(OP_PUTROOTFH), NFS4_OK);
    EXPECT_EQ(reply.status_of(OP_LOOKUP), NFS4_OK);
    return reply;
  }
  static LAYOUTGET4args layoutget_args(const stateid4& id,
                                       layoutiomode4 iomode = layoutiomode4::LAYOUTIOMODE4_RW) {
    LAYOUTGET4args args;
    args.loga_layout_type = files_type;
    args.loga_iomode = iomode;
    args.loga_length = to_the_end;
    args.loga_minlength = 4096;
    args.loga_stateid = id;
    args.loga_maxcount = 4096;
    return args;
  }
  nfsstat4 layoutget_status(SessionClient& client, std::string_view name, const LAYOUTGET4args& args) {
    return on_file(client, name, OP_LAYOUTGET, args).status();
  }
  // Nothing: it failed.
  std::optional<Granted> layoutget(SessionClient& client, std::string_view name, const LAYOUTGET4args& args) {
    Reply reply = on_file(client, name, OP_LAYOUTGET, args);
    const auto result = reply.result<LAYOUTGET4res>(OP_LAYOUTGET);
    const LAYOUTGET4resok* const ok = result.logr_resok4();
    if (ok == nullptr || ok->logr_layout.size() != 1) return std::nullopt;
    Granted out{.id = ok->logr_stateid,
                .return_on_close = ok->logr_return_on_close,
                .layout = ok->logr_layout[0],
                .file = {},
                .handles = {}};
    EXPECT_EQ(out.layout.lo_content.loc_type, files_type);
    io::SlabCursor cursor(test_slabs());
    auto range = cursor.carve(out.layout.lo_content.loc_body.size());
    std::ranges::copy(out.layout.lo_content.loc_body, range->writable().begin());
    io::Payload body;
    body.append(std::move(*range));
    xdr::Arena arena;
    xdr::Decoder in(body, arena);
    EXPECT_TRUE(decode(in, out.file));
    EXPECT_EQ(in.remaining(), 0U);
    for (const pnfs::layout_handle& handle : out.file.nfl_fh_list)
      out.handles.emplace_back(handle.data.begin(), handle.data.end());
    out.file.nfl_fh_list = {};
    out.layout.lo_content.loc_body = {};
    return out;
  }
  static LAYOUTRETURN4args returned(const stateid4& id,
                                    layoutiomode4 iomode = layoutiomode4::LAYOUTIOMODE4_ANY) {
    return {.lora_reclaim = false,
            .lora_layout_type = files_type,
            .lora_iomode = iomode,
            .lora_layoutreturn = layoutreturn4::with_lr_layout(
                {.lrf_offset = 0, .lrf_length = to_the_end, .lrf_stateid = id, .lrf_body = {}})};
  }
  nfsstat4 give_back(SessionClient& client, std::string_view name, const LAYOUTRETURN4args& args) {
    return on_file(client, name, OP_LAYOUTRETURN, args).status();
  }
  static LAYOUTCOMMIT4args layoutcommit_args(const stateid4& id) {
    LAYOUTCOMMIT4args args;
    args.loca_length = to_the_end;
    args.loca_stateid = id;
    args.loca_layoutupdate.lou_type = files_type;
    return args;
  }
  nfsstat4 layoutcommit(SessionClient& client, std::string_view name, const stateid4& id) {
    return on_file(client, name, OP_LAYOUTCOMMIT, layoutcommit_args(id)).status();
  }
  nfsstat4 close(SessionClient& client, std::string_view name, const stateid4& id) {
    return on_file(client, name, OP_CLOSE, CLOSE4args{.seqid = 0, .open_stateid = id}).status();
  }
  std::uint64_t size_of(std::string_view name) { return size_of(*alice_, name); }
  std::uint64_t size_of(SessionClient& client, std::string_view name) {
    const std::array<std::uint32_t, 1> wanted{1U << FATTR4_SIZE};
    Reply reply = on_file(client, name, OP_GETATTR, GETATTR4args{wanted});
    return number_in(reply);
  }
  static std::uint64_t number_in(Reply& reply) {
    const auto result = reply.result<GETATTR4res>(OP_GETATTR);
    const GETATTR4resok* const ok = result.resok4();
    if (ok == nullptr || ok->obj_attributes.attr_vals.size() != 8) return to_the_end;
    base::Bytes bytes(8);
    ok->obj_attributes.attr_vals.in_memory().value().copy_to(0, bytes);
    return base::load_be<std::uint64_t>(bytes, 0);
  }
  std::uint32_t layouts() {
    return world_->engine().state().states.with(
        [](const state::States& states) { return states.count().of(state::StateKind::layout); });
  }
  // What the handles of a layout say, but for their index.
  pnfs::DataHandle handle_of(const Granted& granted) {
    for (std::uint32_t server = 1; server <= servers; ++server)
      if (const auto handle = opened(server, granted.handles[0])) return *handle;
    return {};
  }
  // What a handle says; the servers' numbers count from 1, as those of handles do.
  std::optional<pnfs::DataHandle> opened(std::uint32_t server, const base::Bytes& handle) {
    const pnfs::DataHandleCodec codec(cluster_->secret().handle_key(cluster_->id(), cluster_->newest_key()),
                                      cluster_->newest_key(), id_of(server));
    return codec.open(handle);
  }

  pnfs::ObjectId object_of(const Granted& granted) {
    for (std::uint32_t server = 1; server <= servers; ++server)
      if (const auto handle = opened(server, granted.handles[0])) return handle->object;
    return {};
  }
  // As a data server says it.
  void written(pnfs::ObjectId object) {
    world_->on_engine([&](Nfs4Engine& /*engine*/) { return tell(*cluster_, object); });
  }
  // As the holder of the layout does: so many bytes from the file's beginning on, in one stripe unit. It lies
  // on the server that the layout begins with.
  void write_by(const Granted& granted, std::size_t bytes) {
    written(object_of(granted));
    write_unannounced(granted, bytes);
  }
  void write_unannounced(const Granted& granted, std::size_t bytes) {
    for (std::uint32_t server = 1; server <= servers; ++server) {
      const auto handle = opened(server, granted.handles[granted.file.nfl_first_stripe_index]);
      if (handle)
        objects_.put(pnfs::ServerNumber(server), {handle->object, handle->index}, 0, std::string(bytes, 'x'));
    }
  }

 private:
  static io::Op<> tell(Cluster& cluster, pnfs::ObjectId object) {
    std::vector<pnfs::ObjectId> objects(1, object);
    const auto told = co_await cluster.written(std::move(objects)).as_result();
    EXPECT_TRUE(told && told->front());
  }

 protected:
  base::ManualClock clock_;  // of the cluster
  std::filesystem::path path_;
  fake::Objects objects_;
  std::unique_ptr<Cluster> cluster_;
  base::MetricRegistry metrics_;
  std::unique_ptr<Layouts> layouts_;
  std::unique_ptr<CallbackWorld> world_;
  std::unique_ptr<CallbackPeer> alice_peer_, bob_peer_;
  std::unique_ptr<SessionClient> alice_, bob_;
};

}  // namespace braid::pnfs_mds::layouts::test
