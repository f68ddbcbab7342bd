#include "tests/unit/nfs4/support/world.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <future>
#include <sstream>
#include <utility>

#include "base/assert.h"

namespace braid::nfs4::test {

// Owns the call as a transport would.
class Sent : private rpc::Reply {
 public:
  Sent(Nfs4Engine& engine, io::Payload args, const rpc::PeerAddress& peer, const rpc::Auth& auth,
       rpc::Session* connection, io::PipePool* pipes, io::SlabCursor& cursor)
      : program_(engine.program()), cursor_(cursor), call_(std::move(args), peer, cursor) {
    call_.auth = auth;
    call_.arrived = engine.state().clock.now();
    call_.session = connection;
    call_.pipes = pipes;
    call_.program = NFS4_PROGRAM;
    call_.version = NFS_V4;
    call_.procedure = 1;
  }
  // On the reactor's thread.
  void run() {
    op_.emplace(program_.versions.front().procedures[1].handler(*program_.service, call_, *this));
    op_->start({});
  }
  [[nodiscard]] bool done() const { return op_ && op_->done(); }
  test::Reply take() {
    const rpc::Answer answer = op_->result().value_or(rpc::Answer::system_err);
    test::Reply reply(answer, encoder_ ? encoder_->finish().bytes : io::Payload(), worth_keeping);
    encoder_.reset();
    op_.reset();
    return reply;
  }

 private:
  xdr::Encoder& begin() override { return encoder_.emplace(cursor_); }

  const rpc::Program program_;
  io::SlabCursor& cursor_;
  rpc::Call call_;
  std::optional<xdr::Encoder> encoder_;
  std::optional<io::Op<rpc::Answer>> op_;
};

namespace {

std::string make_base() {
  const char* const where = std::filesystem::exists("/dev/shm") ? "/dev/shm" : "/tmp";
  std::string pattern = std::string(where) + "/braid-nfs4-XXXXXX";
  base::check(::mkdtemp(pattern.data()) != nullptr, "a directory for the test");
  return pattern;
}

vfs::Export open_export(const ExportSpec& spec, std::uint32_t number, const std::string& directory,
                        io::SlabPool& slabs, io::BlockingPool& pool, const base::Clock& clock,
                        const std::vector<vfs::ContentSource*>& sources) {
  vfs::posix::PosixOptions options;
  options.sources = sources;
  options.directory = directory;
  options.tree.id = vfs::ExportId(number + 7);
  options.tree.key = {number, 22};
  options.tree.export_path = spec.path;
  options.slabs = &slabs;
  options.pool = &pool;
  vfs::Export out;
  out.id = options.tree.id;
  out.path = spec.path;
  out.squash = spec.squash;
  out.rules = spec.rules;
  for (const std::string_view network : spec.clients) out.clients.push_back(*vfs::Network::parse(network));
  auto opened = vfs::posix::PosixFileSystem::open(options, clock);
  base::check(opened.has_value(), "the exported directory opens");
  out.file_system = std::move(*opened);
  return out;
}

}  // namespace

World::World(EngineOptions options, const std::vector<ExportSpec>& exports, Capability capability)
    : base_(make_base()), options_(std::move(options)), capability_(std::move(capability)) {
  reactor_ = std::move(io::Reactor::create({.ring_entries = 64}, clock_).value());
  cursor_ = std::make_unique<io::SlabCursor>(slabs_);
  std::vector<vfs::Export> table;
  for (std::uint32_t i = 0; i < exports.size(); ++i) {
    std::filesystem::create_directory(directory(i));
    table.push_back(open_export(exports[i], i, directory(i), slabs_, pool_, clock_, capability_.sources));
  }
  std::filesystem::create_directory(base_ + "/state");
  exports_ = std::make_unique<vfs::Exports>(std::make_shared<const vfs::ExportTable>(std::move(table)));
  open_engine();
  thread_ = std::thread([this] { reactor_->run(); });
}

World::~World() {
  on_reactor([this] { engine_.reset(); });
  reactor_->stop();
  thread_.join();
  exports_.reset();
  pool_.stop();
  cursor_.reset();
  std::error_code ignored;
  std::filesystem::remove_all(base_, ignored);
}

vfs::FaultyFileSystem& World::watched() {
  std::vector<vfs::Export> table = exports_->current()->all();
  auto counting = std::make_shared<vfs::FaultyFileSystem>(table.front().file_system);
  table.front().file_system = counting;
  on_reactor([&] { exports_->replace(std::make_shared<const vfs::ExportTable>(std::move(table))); });
  return *counting;
}

void World::open_engine() {
  metrics_ = std::make_unique<base::MetricRegistry>();
  engine_ = Nfs4Engine::create(options_, resources(), base_ + "/state", capability_.parts()).value();
}

void World::restart() {
  on_reactor([this] {
    engine_.reset();
    open_engine();
  });
}

void World::restart_in_order() {
  EXPECT_TRUE(engine_->note_held());
  restart();
}

void World::on_reactor(const std::function<void()>& f) {
  std::promise<void> done;
  reactor_->post([&] {
    f();
    done.set_value();
  });
  done.get_future().get();
}

std::shared_ptr<Sent> World::start(const Request& request, const Caller& caller) {
  return start_raw(request.encoded(), caller);
}

std::shared_ptr<Sent> World::start_raw(io::Payload args, const Caller& caller) {
  rpc::PeerAddress peer;
  peer.bytes = vfs::Address::parse(caller.address)->bytes;
  peer.port = 700;
  rpc::AuthSys sys;
  sys.uid = caller.uid;
  sys.gid = caller.gid;
  Nfs4Engine& engine = caller.engine != nullptr ? *caller.engine : *engine_;
  auto sent = std::make_shared<Sent>(engine, std::move(args), peer, sys, caller.connection,
                                     pipes_offered_ ? &pipes_ : nullptr, *cursor_);
  on_reactor([&] { sent->run(); });
  return sent;
}

bool World::ended(const std::shared_ptr<Sent>& sent) {
  bool done = false;
  on_reactor([&] { done = sent->done(); });
  return done;
}

Reply World::wait(const std::shared_ptr<Sent>& sent) {
  while (!ended(sent)) std::this_thread::yield();
  Reply reply;
  on_reactor([&] { reply = sent->take(); });
  return reply;
}

Reply World::send(const Request& request, const Caller& caller) { return wait(start(request, caller)); }

Reply World::send_raw(io::Payload args, const Caller& caller) {
  return wait(start_raw(std::move(args), caller));
}

void World::on_engine(Nfs4Engine& engine, const std::function<io::Op<>(Nfs4Engine&)>& f) {
  std::optional<io::Op<>> op;
  on_reactor([&] {
    op.emplace(f(engine));
    op->start({});
  });
  for (bool done = false; !done; std::this_thread::yield()) on_reactor([&] { done = op->done(); });
}

void World::tick() {
  on_engine([](Nfs4Engine& engine) { return engine.tick(); });
}

std::string World::directory(std::size_t number) const { return base_ + "/export" + std::to_string(number); }

void World::write_local(std::string_view name, std::string_view text) const {
  std::ofstream(directory() + "/" + std::string(name), std::ios::trunc) << text;
}

std::string World::read_local(std::string_view name) const {
  std::ostringstream out;
  out << std::ifstream(directory() + "/" + std::string(name)).rdbuf();
  return out.str();
}

SessionClient::SessionClient(World& world, std::uint32_t minor_version, std::string_view owner,
                             const Caller& caller, bool complete)
    : world_(world), minor_version_(minor_version), caller_(caller) {
  Request hello(minor_version);
  EXCHANGE_ID4args introduction;
  introduction.eia_clientowner = {.co_verifier = {std::byte{caller.boot}},
                                  .co_ownerid = base::bytes_of(owner)};
  hello.add(nfs_opnum4::OP_EXCHANGE_ID, introduction);
  Reply met = world.send(hello, caller);
  const auto known = met.result<EXCHANGE_ID4res>(nfs_opnum4::OP_EXCHANGE_ID);
  if (known.eir_resok4() == nullptr) {
    ADD_FAILURE() << "EXCHANGE_ID: " << name_of(known.eir_status);
    return;
  }
  id_ = known.eir_resok4()->eir_clientid;
  const channel_attrs4 wish{.ca_headerpadsize = 0,
                            .ca_maxrequestsize = MAX_PAYLOAD + 4096,
                            .ca_maxresponsesize = MAX_PAYLOAD + 4096,
                            .ca_maxresponsesize_cached = 8192,
                            .ca_maxoperations = 64,
                            .ca_maxrequests = 8,
                            .ca_rdma_ird = {}};
  CREATE_SESSION4args create;
  create.csa_clientid = id_;
  create.csa_sequence = known.eir_resok4()->eir_sequenceid;
  create.csa_fore_chan_attrs = wish;
  create.csa_back_chan_attrs = wish;
  create.csa_flags = caller.connection == nullptr ? 0 : CREATE_SESSION4_FLAG_CONN_BACK_CHAN;
  const std::array security{callback_sec_parms4::with_SECINFO_AUTH_NONE()};
  create.csa_sec_parms = security;
  Request open(minor_version);
  open.add(nfs_opnum4::OP_CREATE_SESSION, create);
  Reply opened = world.send(open, caller);
  const auto made = opened.result<CREATE_SESSION4res>(nfs_opnum4::OP_CREATE_SESSION);
  if (made.csr_resok4() == nullptr) {
    ADD_FAILURE() << "CREATE_SESSION: " << name_of(made.csr_status);
    return;
  }
  session_ = made.csr_resok4()->csr_sessionid;
  fore_ = made.csr_resok4()->csr_fore_chan_attrs;
  fore_.ca_rdma_ird = {};
  sequences_.resize(fore_.ca_maxrequests);
  if (!complete) return;
  Reply done = send(request().add(nfs_opnum4::OP_RECLAIM_COMPLETE, RECLAIM_COMPLETE4args{false}));
  EXPECT_EQ(done.status(), nfsstat4::NFS4_OK);
}

Request SessionClient::again(std::uint32_t slot, bool cache_this) const {
  Request request(minor_version_);
  request.add(nfs_opnum4::OP_SEQUENCE, SEQUENCE4args{session_, sequences_.at(slot), slot, slot, cache_this});
  return request;
}

Request SessionClient::request(std::uint32_t slot, bool cache_this) {
  ++sequences_.at(slot);
  return again(slot, cache_this);
}

Reply SessionClient::send(const Request& request) {
  Reply reply = world_.send(request, caller_);
  EXPECT_EQ(reply.answer(), rpc::Answer::success);
  const auto sequence = reply.result<SEQUENCE4res>(nfs_opnum4::OP_SEQUENCE);
  EXPECT_EQ(sequence.sr_status, nfsstat4::NFS4_OK);
  return reply;
}

clientid4 introduce_40(World& world, std::string_view name, const Caller& caller) {
  SETCLIENTID4args hello;
  hello.client.id = base::bytes_of(name);
  Reply met = world.send(Request(0).add(nfs_opnum4::OP_SETCLIENTID, hello), caller);
  const auto known = met.result<SETCLIENTID4res>(nfs_opnum4::OP_SETCLIENTID);
  if (known.resok4() == nullptr) {
    ADD_FAILURE() << "SETCLIENTID: " << name_of(known.status);
    return 0;
  }
  const SETCLIENTID_CONFIRM4args confirm{known.resok4()->clientid, known.resok4()->setclientid_confirm};
  EXPECT_EQ(world.send(Request(0).add(nfs_opnum4::OP_SETCLIENTID_CONFIRM, confirm), caller).status(),
            nfsstat4::NFS4_OK);
  return known.resok4()->clientid;
}

stateid4 anonymous() { return {}; }
stateid4 current() { return {.seqid = 1, .other = {}}; }

}  // namespace braid::nfs4::test
