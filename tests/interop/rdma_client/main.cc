// Reads or writes a file of a server over RDMA, with the calling side of rdma/ on the system's devices.
// NFSv4.0 with the anonymous stateid: it needs neither a client id nor an open.
//
//   braid-rdma-file read ADDRESS PORT NAME BYTES >DATA
//   braid-rdma-file write ADDRESS PORT NAME <DATA
//
// NAME is in the root of the exports. The exit status is 1, with the reason, when anything fails.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/metrics.h"
#include "io/gate.h"
#include "io/reactor.h"
#include "io/slab.h"
#include "nfs4/nfs4.x.h"
#include "rdma/connector.h"
#include "rdma/ibverbs/provider.h"
#include "rdma/registration.h"
#include "rpc/client.h"
#include "rpc/socket_address.h"

namespace braid {
namespace {

using nfs4::nfs_opnum4;
using nfs4::nfsstat4;

constexpr std::uint32_t call_bytes = 1024 * 1024;  // of data

struct Wish {
  bool write = false;
  rpc::PeerAddress server;
  std::string name;
  std::uint64_t bytes = 0;  // to read
};

std::optional<Wish> wish_of(const std::vector<std::string_view>& words) {
  if (words.size() < 4) return std::nullopt;
  Wish out;
  out.write = words[0] == "write";
  if (!out.write && words[0] != "read") return std::nullopt;
  if (words.size() != (out.write ? 4U : 5U)) return std::nullopt;
  const auto port = static_cast<std::uint16_t>(std::stoul(std::string(words[2])));
  const auto server = rpc::parse_address(words[1], port);
  if (!server) return std::nullopt;
  out.server = *server;
  out.name = words[3];
  if (!out.write) out.bytes = std::stoull(std::string(words[4]));
  return out;
}

// The next data of standard input, in slabs, as an adapter may read it; empty at the end.
io::Payload input(io::SlabCursor& cursor) {
  io::Payload out;
  std::size_t taken = io::small_slab_bytes;
  while (out.size() < call_bytes && taken == io::small_slab_bytes) {
    io::SlabRange range = cursor.carve(io::small_slab_bytes).value();
    const base::MutableBytes room = range.writable();
    taken = 0;
    for (ssize_t here = 1; here > 0 && taken < room.size();
         taken += static_cast<std::size_t>(std::max<ssize_t>(here, 0)))
      here = ::read(STDIN_FILENO, room.data() + taken, room.size() - taken);
    cursor.trim(range, taken);
    if (taken > 0) out.append(std::move(range));
  }
  return out;
}

bool output(const io::Payload& data) {
  base::Bytes bytes(data.size());
  data.in_memory().value().copy_to(0, bytes);
  std::size_t written = 0;
  while (written < bytes.size()) {
    const ssize_t here = ::write(STDOUT_FILENO, bytes.data() + written, bytes.size() - written);
    if (here <= 0) return false;
    written += static_cast<std::size_t>(here);
  }
  return true;
}

class FileClient {
 public:
  FileClient(io::Reactor& reactor, const Wish& wish) : reactor_(reactor), wish_(wish) {}
  // Nothing, or what went wrong.
  [[nodiscard]] const std::string& error() const { return error_; }

  io::Op<> run() {
    auto provider = rdma::ibverbs::IbProvider::create();
    if (!provider) co_return fail("no device", base::message_of(provider.error()));
    auto verbs = (*provider)->open(reactor_);
    if (!verbs) co_return fail("devices", base::message_of(verbs.error()));
    {
      rdma::MemoryMaps maps(pool_, rdma::Registration::cache, metrics_);
      rdma::RdmaConnector connector(reactor_, pool_, **verbs, maps, {});
      rpc::Client client(reactor_, pool_, static_cast<std::uint32_t>(::getpid()) << 8U);
      const auto connected = co_await connector.connect(wish_.server, client).as_result();
      if (!connected)
        fail("connecting", base::message_of(connected.error()));
      else
        co_await move(client);
      co_await client.close();
      co_await connector.close();
    }
    co_await (*verbs)->close();
  }

 private:
  void fail(std::string_view what, std::string_view why) { error_ = fmt::format("{}: {}", what, why); }

  io::Op<> move(rpc::Client& client) {
    std::uint64_t offset = 0;
    while (error_.empty()) {
      const std::uint64_t before = offset;
      if (wish_.write)
        co_await write_at(client, offset);
      else if (offset < wish_.bytes)
        co_await read_at(client, offset);
      if (offset == before) co_return;
    }
  }

  // The decoder then stands at the result of the last operation.
  bool succeeded(xdr::Decoder& in) {
    nfs4::COMPOUND4res head;
    if (!decode(in, head)) {
      fail("reply", "cannot be understood");
      return false;
    }
    if (head.status != nfsstat4::NFS4_OK) {
      fail("COMPOUND", name_of(head.status));
      return false;
    }
    std::uint32_t word = 0;
    return in.u32(word) && in.u32(word) && in.u32(word) && in.u32(word) && in.u32(word);
  }

  // One operation on the file, in a COMPOUND. Without a result error() says why.
  template <class Res, class Args>
  io::Op<std::optional<Res>> on_file(rpc::Client& client, nfs_opnum4 op, const Args& args,
                                     const rpc::CallOptions& options) {
    const std::string& name = wish_.name;
    const auto request = [&name, op, &args](xdr::Encoder& out) {
      encode(out, nfs4::COMPOUND4args{.tag = {}, .minorversion = 0, .argarray_count = 3});
      encode(out, nfs_opnum4::OP_PUTROOTFH);
      encode(out, nfs_opnum4::OP_LOOKUP);
      encode(out, nfs4::LOOKUP4args{name});
      encode(out, op);
      encode(out, args);
    };
    auto results = co_await client.call(compound, options, request).as_result();
    if (!results) {
      fail("call", rpc::name_of(results.error()));
      co_return std::nullopt;
    }
    xdr::Arena arena;
    xdr::Decoder in = results->decoder(arena);
    Res result;
    if (!succeeded(in)) co_return std::nullopt;
    if (decode(in, result) && result.resok4() != nullptr) co_return result;
    fail("result", "cannot be understood");
    co_return std::nullopt;
  }

  io::Op<> read_at(rpc::Client& client, std::uint64_t& offset) {
    const auto count = static_cast<std::uint32_t>(std::min<std::uint64_t>(call_bytes, wish_.bytes - offset));
    const nfs4::READ4args args{.stateid = {}, .offset = offset, .count = count};
    rpc::CallOptions options{.auth = rpc::AuthSys{}};
    options.room.items[0] = count;
    options.room.item_count = 1;
    options.room.rest_bytes = 256;
    const auto read = co_await on_file<nfs4::READ4res>(client, nfs_opnum4::OP_READ, args, options);
    if (!read) co_return;
    if (!output(read->resok4()->data)) co_return fail("standard output", std::strerror(errno));
    offset += read->resok4()->data.size();
  }

  io::Op<> write_at(rpc::Client& client, std::uint64_t& offset) {
    const io::Payload data = input(cursor_);
    if (data.size() == 0) co_return;
    const nfs4::WRITE4args args{
        .stateid = {}, .offset = offset, .stable = nfs4::stable_how4::FILE_SYNC4, .data = data};
    rpc::CallOptions options{.auth = rpc::AuthSys{}};
    options.room.rest_bytes = 256;
    const auto written = co_await on_file<nfs4::WRITE4res>(client, nfs_opnum4::OP_WRITE, args, options);
    if (!written) co_return;
    if (written->resok4()->count != data.size()) co_return fail("WRITE", "not all was written");
    offset += data.size();
  }

  static constexpr rpc::ProcedureId compound{nfs4::NFS4_PROGRAM, nfs4::NFS_V4, 1};

  io::Reactor& reactor_;
  const Wish& wish_;
  base::MetricRegistry registry_;
  rdma::RegistrationMetrics metrics_{registry_};
  io::SlabPool pool_{{.bytes_max = 64 * base::MiB, .huge_pages = false}};
  io::SlabCursor cursor_{pool_};
  std::string error_;
};

io::Op<> run_and_stop(FileClient& client, io::Reactor& reactor) {
  (void)co_await client.run().as_result();
  // Behind the end of this coroutine, which is in the ready queue then.
  reactor.post(std::function<void()>([&reactor] { reactor.stop(); }));
}

int run(const Wish& wish) {
  const base::SystemClock clock;
  auto reactor = io::Reactor::create({}, clock);
  if (!reactor) {
    fmt::print(stderr, "braid-rdma-file: {}\n", base::message_of(reactor.error()));
    return 1;
  }
  FileClient client(**reactor, wish);
  io::Gate gate;
  (*reactor)->post(std::function<void()>([&] { io::spawn(gate, run_and_stop(client, **reactor)); }));
  (*reactor)->run();
  if (client.error().empty()) return 0;
  fmt::print(stderr, "braid-rdma-file: {}\n", client.error());
  return 1;
}

}  // namespace
}  // namespace braid

int main(int argc, char** argv) {
  const auto wish = braid::wish_of({argv + 1, argv + argc});
  if (wish) return braid::run(*wish);
  fmt::print(stderr, "Usage: braid-rdma-file read ADDRESS PORT NAME BYTES | write ADDRESS PORT NAME\n");
  return 2;
}
