// Two NFSv4 servers in one process: the full one, and one of five operations with handles and rules of its
// own, as a data server is.
#include <gmock/gmock.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "nfs4/recovery/client_records.h"
#include "nfs4/state/opens/share.h"
#include "tests/unit/nfs4/support/world.h"

namespace braid::nfs4::test {
namespace {

using enum nfs_opnum4;
using enum nfsstat4;

constexpr std::string_view prefix = "object:";

stateid4 stateid_of(std::uint32_t number) {
  stateid4 id;
  id.seqid = number;
  id.other.fill(std::byte{7});
  return id;
}

// Handles are "object:" and a name in the root of the first export.
class Objects final : public HandleResolver {
 public:
  explicit Objects(const vfs::Exports& exports) : exports_(exports) {}
  Op4<Place> resolve(const Compound& /*compound*/, base::BytesView handle) override {
    const std::string_view text = base::text_of(handle);
    if (!text.starts_with(prefix)) co_return refuse(NFS4ERR_BADHANDLE);
    const vfs::Export& from = exports_.current()->all().front();
    const vfs::Credentials server;
    auto found = co_await from.file_system
                     ->lookup(server, from.file_system->root(), std::string(text.substr(prefix.size())))
                     .as_result();
    if (!found) co_return refuse(NFS4ERR_STALE);
    co_return Place{&from, server, std::move(found->file), nullptr};
  }

 private:
  const vfs::Exports& exports_;
};

// Reads are for those who bring stateid_of(1); a COMMIT is for nobody.
class OnePass final : public IoAuthorizer {
 public:
  Op4<state::IoGrant> authorize(Compound& /*compound*/, const Place& /*at*/, const stateid4* id,
                                std::uint8_t access) override {
    if (id == nullptr) return refuse(NFS4ERR_ACCESS);
    if (*id != stateid_of(1)) return refuse(NFS4ERR_BAD_STATEID);
    if (access != state::share_read) return refuse(NFS4ERR_OPENMODE);
    return state::IoGrant{};
  }
};

std::string text_of(const io::Payload& data) {
  return std::string(base::text_of(data.in_memory().value().bytes()));
}

class RecordingObserver final : public state::ClientObserver {
 public:
  void stop(clientid4 client) override { told.push_back("stop " + std::to_string(client)); }
  void release(clientid4 client) override { told.push_back("release " + std::to_string(client)); }
  std::vector<std::string> told;
};

class Roles : public testing::Test {
 protected:
  Roles() {
    world_.write_local("file", "content");
    open({OP_EXCHANGE_ID, OP_CREATE_SESSION, OP_SEQUENCE, OP_PUTFH, OP_READ});
  }
  ~Roles() override { close(); }

  void open(const std::vector<nfs_opnum4>& operations) {
    EngineParts parts;
    parts.operations = parts.operations.only(operations);
    parts.role_flags = EXCHGID4_FLAG_USE_PNFS_DS;
    parts.handles = &objects_;
    parts.authorizer = &pass_;
    parts.observers = {&observer_};
    auto records = std::make_unique<recovery::NoRecords>(5, "second server");
    world_.on_reactor([&] {
      const EngineResources all = world_.resources();
      const EngineResources resources{all.clock, all.exports, all.pool, all.slabs, metrics_};
      second_ =
          std::make_unique<Nfs4Engine>(EngineOptions{}, resources, std::move(records), std::move(parts));
    });
    there_.engine = second_.get();
  }
  void close() {
    world_.on_reactor([this] { second_.reset(); });
  }
  // SEQUENCE has been answered already.
  nfsstat4 status_behind(SessionClient& client, const Request& request) {
    return client.send(request).status();
  }
  static Request with_handle(Request request, std::string_view handle) {
    return std::move(request.add(OP_PUTFH, PUTFH4args{base::bytes_of(handle)}));
  }
  EXCHANGE_ID4resok introduce(const Caller& caller) {
    Request hello(1);
    EXCHANGE_ID4args introduction;
    introduction.eia_clientowner = {.co_verifier = {}, .co_ownerid = base::bytes_of("somebody")};
    reply_ = world_.send(hello.add(OP_EXCHANGE_ID, introduction), caller);
    return *reply_.result<EXCHANGE_ID4res>(OP_EXCHANGE_ID).eir_resok4();
  }

  World world_;
  Objects objects_{world_.resources().exports};
  OnePass pass_;
  RecordingObserver observer_;
  base::MetricRegistry metrics_{world_.resources().metrics, R"(role="second")"};
  std::unique_ptr<Nfs4Engine> second_;
  Caller there_;
  Reply reply_;
};

TEST_F(Roles, each_says_what_it_is_and_under_its_own_name) {
  const EXCHANGE_ID4resok full = introduce({});
  EXPECT_EQ(full.eir_flags & EXCHGID4_FLAG_MASK_PNFS, EXCHGID4_FLAG_USE_NON_PNFS);
  const std::string owner(base::text_of(full.eir_server_owner.so_major_id));
  const EXCHANGE_ID4resok second = introduce(there_);
  EXPECT_EQ(second.eir_flags & EXCHGID4_FLAG_MASK_PNFS, EXCHGID4_FLAG_USE_PNFS_DS);
  EXPECT_EQ(base::text_of(second.eir_server_owner.so_major_id), "second server");
  EXPECT_NE(owner, "second server");
}

TEST_F(Roles, the_second_executes_its_five_operations_and_no_other) {
  SessionClient client(world_, 1, "client", there_, false);
  Reply reply = client.send(
      with_handle(client.request(), "object:file").add(OP_READ, READ4args{stateid_of(1), 0, 100}));
  ASSERT_EQ(reply.status(), NFS4_OK);
  EXPECT_EQ(reply.status_of(OP_PUTFH), NFS4_OK);
  const auto got = reply.result<READ4res>(OP_READ);
  EXPECT_EQ(text_of(got.resok4()->data), "content");
  EXPECT_EQ(
      status_behind(client, with_handle(client.request(), "object:file").add(OP_GETATTR, GETATTR4args{})),
      NFS4ERR_NOTSUPP);
  EXPECT_EQ(status_behind(client, client.request().add(OP_PUTROOTFH)), NFS4ERR_NOTSUPP);
  EXPECT_EQ(status_behind(client, client.request().add_raw(OperationTable::numbers, {})), NFS4ERR_OP_ILLEGAL);
  SessionClient full(world_, 1, "client");
  EXPECT_EQ(status_behind(full, full.request().add(OP_PUTROOTFH)), NFS4_OK);
}

TEST_F(Roles, handles_are_those_of_one_of_them) {
  SessionClient client(world_, 1, "client", there_, false);
  SessionClient full(world_, 1, "client");
  EXPECT_EQ(status_behind(full, with_handle(full.request(), "object:file")), NFS4ERR_BADHANDLE);
  EXPECT_EQ(status_behind(client, with_handle(client.request(), "object:none")), NFS4ERR_STALE);
  const std::string root(base::text_of(world_.file_system().root()->handle().view()));
  EXPECT_EQ(status_behind(full, with_handle(full.request(), root)), NFS4_OK);
  EXPECT_EQ(status_behind(client, with_handle(client.request(), root)), NFS4ERR_BADHANDLE);
}

TEST_F(Roles, the_authoriser_of_one_says_nothing_of_the_other) {
  open({OP_EXCHANGE_ID, OP_CREATE_SESSION, OP_SEQUENCE, OP_PUTFH, OP_READ, OP_COMMIT});
  SessionClient client(world_, 1, "client", there_, false);
  const auto reading = [&](const stateid4& id) {
    return status_behind(client,
                         with_handle(client.request(), "object:file").add(OP_READ, READ4args{id, 0, 100}));
  };
  EXPECT_EQ(reading(stateid_of(1)), NFS4_OK);
  EXPECT_EQ(reading(stateid_of(2)), NFS4ERR_BAD_STATEID);
  EXPECT_EQ(reading(anonymous()), NFS4ERR_BAD_STATEID);
  const COMMIT4args all{0, 0};
  EXPECT_EQ(status_behind(client, with_handle(client.request(), "object:file").add(OP_COMMIT, all)),
            NFS4ERR_ACCESS);
  SessionClient full(world_, 1, "client");
  const auto file = [&] { return full.request().add(OP_PUTROOTFH).add(OP_LOOKUP, LOOKUP4args{"file"}); };
  EXPECT_EQ(status_behind(full, file().add(OP_READ, READ4args{anonymous(), 0, 100})), NFS4_OK);
  EXPECT_EQ(status_behind(full, file().add(OP_READ, READ4args{stateid_of(1), 0, 100})), NFS4ERR_BAD_STATEID);
  EXPECT_EQ(status_behind(full, file().add(OP_COMMIT, all)), NFS4_OK);
}

TEST_F(Roles, clients_and_sessions_are_those_of_one_of_them) {
  SessionClient full(world_, 1, "client");
  SessionClient client(world_, 1, "client", there_, false);
  SEQUENCE4args sequence;
  sequence.sa_sessionid = full.session();
  sequence.sa_sequenceid = 9;
  EXPECT_EQ(world_.send(Request(1).add(OP_SEQUENCE, sequence), there_).status(), NFS4ERR_BADSESSION);
  EXPECT_EQ(status_behind(full, full.request().add(OP_PUTROOTFH)), NFS4_OK);
}

TEST_F(Roles, observers_are_observer_the_clients_of_their_own_server) {
  const SessionClient full(world_, 1, "client");
  const SessionClient client(world_, 1, "client", there_, false);
  const auto evict = [&](clientid4 id) {
    return [id](Nfs4Engine& engine) -> io::Op<> { (void)co_await engine.evict(id).as_result(); };
  };
  world_.on_engine(evict(full.id()));
  EXPECT_THAT(observer_.told, testing::IsEmpty());
  world_.on_engine(*second_, evict(client.id()));
  const std::string id = std::to_string(client.id());
  EXPECT_THAT(observer_.told, testing::ElementsAre("stop " + id, "release " + id));
}

TEST_F(Roles, metrics_of_the_second_have_its_label_and_those_of_the_first_none) {
  SessionClient client(world_, 1, "client", there_, false);
  (void)client.send(with_handle(client.request(), "object:file"));
  const std::string text = world_.metrics().prometheus();
  using testing::HasSubstr;
  EXPECT_THAT(text, HasSubstr("braid_nfs4_operations_total{operation=\"PUTFH\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("braid_nfs4_operations_total{role=\"second\",operation=\"PUTFH\"} 1\n"));
  EXPECT_THAT(text, testing::Not(HasSubstr("{role=\"second\",operation=\"WRITE\"}")));
  EXPECT_THAT(text, HasSubstr("\nbraid_nfs4_clients 0\n"));
  EXPECT_THAT(text, HasSubstr("\nbraid_nfs4_clients{role=\"second\"} 1\n"));
}

}  // namespace
}  // namespace braid::nfs4::test
