// A data server over a directory, and whoever grants layouts to its clients: without a network.
#pragma once

#include <fcntl.h>
#include <gmock/gmock.h>

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "nfs4/recovery/client_records.h"
#include "pnfs_ds/control_calls.h"
#include "pnfs_ds/data_server.h"
#include "pnfs_ds/ops/operations.h"
#include "tests/unit/nfs4/support/world.h"

namespace braid::pnfs_ds::test {

using nfs4::nfs_opnum4;
using nfs4::nfsstat4;
using nfs4::Op4;
using enum nfs4::nfs_opnum4;
using enum nfs4::nfsstat4;

class KnownFiles final : public MetadataServer {
 public:
  vfs::VfsOp<FileFacts> facts_of(pnfs::ObjectId object) override {
    ++asked;
    const auto found = files.find(object);
    if (found == files.end()) return base::fail(vfs::Error::stale);
    return found->second;
  }
  vfs::VfsOp<EachObject> tell_dirty(std::vector<pnfs::ObjectId> objects) override {
    told.push_back(objects);
    if (during) during();
    if (silent) co_await base::fail(vfs::Error::delay);
    EachObject out(objects.size());
    for (std::size_t i = 0; i < objects.size(); ++i)
      if (!files.contains(objects[i])) out[i] = base::fail(vfs::Error::stale);
    co_return std::move(out);
  }
  std::map<pnfs::ObjectId, FileFacts> files;
  int asked = 0;
  std::vector<std::vector<pnfs::ObjectId>> told;  // by call
  std::function<void()> during;                   // of a call
  bool silent = false;
};

inline const pnfs::ClusterId cluster_id{std::byte{7}};
inline const pnfs::ServerId server_id{std::byte{8}};
inline constexpr base::Duration patience = std::chrono::seconds(45);
inline constexpr std::uint32_t good_for_ms = 45'000;  // the same

class DataServerTest : public testing::Test {
 protected:
  DataServerTest() {
    open();
    hear();
    metadata_.files[pnfs::ObjectId(1)] = {.size = 0, .owner = {}};
  }
  ~DataServerTest() override {
    client_.reset();
    close();
  }

  void open() {
    std::filesystem::create_directories(world_.state_directory());
    state_ = base::UniqueFd(::open(world_.state_directory().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const nfs4::EngineResources all = world_.resources();
    fences_ = std::make_unique<FenceTable>();
    log_ = FenceLog::open(state_.get(), *fences_, all.pool).value();
    contact_ = std::make_unique<Contact>(all.clock, secret_, server_id);
    const auto files = all.exports.current()->all().front().file_system;
    objects_ = std::make_unique<Objects>(Objects::Parts{.files = files,
                                                        .server = server_id,
                                                        .sets_owner = false,
                                                        .objects_max = objects_max_,
                                                        .fences = *fences_,
                                                        .log = *log_,
                                                        .cluster = [] { return cluster_id; }});
    metrics_ = std::make_unique<base::MetricRegistry>(all.metrics, R"(role="data_server")");
    server_ = DataServer::create(*objects_, *contact_, metadata_, all.slabs, *metrics_).value();
    calls_ = std::make_unique<ControlCalls>(*objects_);
    nfs4::EngineParts parts;
    parts.operations = operations();
    parts.role_flags = nfs4::EXCHGID4_FLAG_USE_PNFS_DS;
    parts.handles = server_.get();
    world_.on_reactor([&] {
      engine_ = std::make_unique<nfs4::Nfs4Engine>(
          nfs4::EngineOptions{}, nfs4::EngineResources{all.clock, nothing_, all.pool, all.slabs, *metrics_},
          std::make_unique<nfs4::recovery::NoRecords>(5, "data server"), std::move(parts));
    });
    there_.engine = engine_.get();
  }
  void close() {
    world_.on_reactor([this] {
      engine_.reset();
      calls_.reset();
      server_.reset();
      metrics_.reset();
      objects_.reset();
      contact_.reset();
      log_.reset();
      fences_.reset();
    });
  }
  // As after `kill -9`.
  void restart() {
    client_.reset();
    close();
    open();
    hear();
  }
  void hear() {
    EXPECT_TRUE(contact_->answered(
        world_.clock().now(), cluster_id,
        {.sent = 0, .lowest_grant = 0, .key_oldest = 1, .key_newest = 1, .good_for_ms = good_for_ms}));
  }
  nfs4::test::SessionClient& client() {
    if (!client_) client_.emplace(world_, 1, "client", there_, false);
    return *client_;
  }

  // Object 0 of 2, whose units alternate; granted for reading and writing.
  static pnfs::DataHandle handle(std::uint64_t size = 0) {
    return {.object = pnfs::ObjectId(1),
            .index = 0,
            .striping = {.unit = 65536, .width = 2, .first = 0, .packing = pnfs::Packing::sparse},
            .iomode = pnfs::Iomode::read_write,
            .export_id = vfs::ExportId(1),
            .client = pnfs::client_tag(cluster_id, base::bytes_of(std::string_view("client"))),
            .grant = pnfs::GrantNumber(10),
            .epoch = pnfs::Epoch(1),
            .size = size};
  }
  vfs::FileHandle sealed(const pnfs::DataHandle& handle) const {
    return pnfs::DataHandleCodec(secret_.handle_key(cluster_id, pnfs::KeyNumber(1)), pnfs::KeyNumber(1),
                                 server_id)
        .seal(handle);
  }
  static nfs4::stateid4 some_stateid() {
    nfs4::stateid4 id;
    id.seqid = 1;
    id.other.fill(std::byte{7});
    return id;
  }
  nfs4::test::Reply send_io(const vfs::FileHandle& to, nfs_opnum4 op, const auto& args) {
    nfs4::test::Request request = client().request();
    return client().send(request.add(OP_PUTFH, nfs4::PUTFH4args{to.view()}).add(op, args));
  }
  io::Payload payload(std::string_view text) {
    io::Payload out;
    if (text.empty()) return out;
    io::SlabRange range{world_.slabs().acquire(io::SlabSize::small).value(), 0,
                        static_cast<std::uint32_t>(text.size())};
    std::ranges::copy(base::bytes_of(text), range.writable().begin());
    out.append(std::move(range));
    return out;
  }
  nfsstat4 write(const pnfs::DataHandle& to, std::uint64_t offset, std::string_view text,
                 nfs4::stable_how4 stable = nfs4::stable_how4::UNSTABLE4) {
    nfs4::WRITE4args args;
    args.stateid = some_stateid();
    args.offset = offset;
    args.stable = stable;
    args.data = payload(text);
    return send_io(sealed(to), OP_WRITE, args).status();
  }
  struct Read {
    nfsstat4 status = NFS4_OK;
    std::string data;
    bool eof = false;
    friend bool operator==(const Read&, const Read&) = default;
    friend void PrintTo(const Read& one, std::ostream* out) {
      *out << name_of(one.status) << " \"" << one.data.substr(0, 50) << "\" (" << one.data.size() << ") "
           << (one.eof ? "eof" : "more");
    }
  };
  Read read(const pnfs::DataHandle& from, std::uint64_t offset, std::uint32_t count) {
    auto reply = send_io(sealed(from), OP_READ, nfs4::READ4args{some_stateid(), offset, count});
    if (reply.status() != NFS4_OK) return {reply.status(), {}, false};
    EXPECT_EQ(reply.status_of(OP_PUTFH), NFS4_OK);
    const auto got = reply.result<nfs4::READ4res>(OP_READ);
    return {NFS4_OK, std::string(base::text_of(got.resok4()->data.in_memory().value().bytes())),
            got.resok4()->eof};
  }
  nfsstat4 commit(const pnfs::DataHandle& to) {
    return send_io(sealed(to), OP_COMMIT, nfs4::COMMIT4args{0, 0}).status();
  }

  // A call of the metadata server; what it brings as bulk data is at `bulk_`.
  pnfs::to_data_res call(const pnfs::to_data_args& args, std::string_view bulk = {}) {
    pnfs::to_data_res out;
    world_.on_engine([&](nfs4::Nfs4Engine& /*engine*/) { return call_later(args, payload(bulk), out); });
    return out;
  }
  static pnfs::object_key key(std::uint64_t object = 1, std::uint32_t index = 0) { return {object, index}; }
  std::string object_path(std::uint64_t object = 1, std::uint32_t index = 0) const {
    const ObjectKey of{pnfs::ObjectId(object), index};
    return world_.directory() + "/" + shard_name(of) + "/" + object_name(of);
  }

 private:
  io::Op<> call_later(const pnfs::to_data_args& args, io::Payload bulk, pnfs::to_data_res& out) {
    io::SlabCursor cursor(world_.slabs());
    xdr::Encoder encoder(cursor);
    encode(encoder, args);
    const pnfs::Introduction caller{.role = pnfs::control_role::ROLE_METADATA,
                                    .cluster = cluster_id,
                                    .server = {},
                                    .name = "mds",
                                    .addresses = {}};
    const pnfs::ControlRequest request{.from = {caller, 1, {}},
                                       .body = encoder.finish().bytes,
                                       .bulk = std::move(bulk),
                                       .memory = cursor,
                                       .pipes = nullptr};
    auto answer = co_await calls_->handle(request).as_result();
    EXPECT_TRUE(answer);
    io::SlabRange range{world_.slabs().acquire(io::SlabSize::small).value(), 0,
                        static_cast<std::uint32_t>(answer->body.size())};
    std::ranges::copy(answer->body, range.writable().begin());
    body_ = io::Payload(std::move(range));
    arena_ = std::make_unique<xdr::Arena>();
    EXPECT_TRUE(pnfs::decode_body(body_, *arena_, out));
    bulk_ = base::text_of(answer->bulk.in_memory().value().bytes());
  }

 protected:
  nfs4::test::World world_;
  KnownFiles metadata_;
  std::size_t objects_max_ = 100;
  std::unique_ptr<FenceTable> fences_;
  std::unique_ptr<Contact> contact_;
  std::unique_ptr<Objects> objects_;
  std::string bulk_;
  std::unique_ptr<base::MetricRegistry> metrics_;

 private:
  const pnfs::ClusterSecret secret_ = pnfs::ClusterSecret::from(base::Bytes(32, std::byte{1})).value();
  vfs::Exports nothing_{std::make_shared<const vfs::ExportTable>(std::vector<vfs::Export>{})};
  base::UniqueFd state_;
  std::unique_ptr<FenceLog> log_;
  std::unique_ptr<DataServer> server_;
  std::unique_ptr<ControlCalls> calls_;
  io::Payload body_;
  std::unique_ptr<xdr::Arena> arena_;

 protected:
  std::unique_ptr<nfs4::Nfs4Engine> engine_;
  nfs4::test::Caller there_;
  std::optional<nfs4::test::SessionClient> client_;
};

}  // namespace braid::pnfs_ds::test
