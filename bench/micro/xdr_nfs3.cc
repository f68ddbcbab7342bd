// The generated codec on the messages that matter most, beside code as rpcgen would generate it for libtirpc
// and beside copying the same bytes.
#include <benchmark/benchmark.h>
#include <rpc/xdr.h>

#include <cstring>
#include <vector>

#include "base/assert.h"
#include "io/slab.h"
#include "nfs3/nfs3.x.h"
#include "xdr/decoder.h"
#include "xdr/encoder.h"

namespace braid {
namespace {

constexpr std::size_t handle_bytes = 36;
constexpr std::uint32_t data_bytes = base::MiB;

class Memory {
 public:
  Memory() : pool_({.bytes_max = 64 * base::MiB}), cursor_(pool_) {}
  io::SlabCursor& cursor() { return cursor_; }
  io::Payload bulk() {
    auto slab = pool_.acquire(io::SlabSize::large);
    base::check(slab.has_value(), "the pool is large enough");
    std::memset(slab->data(), 7, slab->bytes());
    return io::Payload(io::SlabRange{std::move(*slab), 0, data_bytes});
  }
  template <class T>
  io::Payload encoded(const T& value) {
    xdr::Encoder out(cursor_);
    encode(out, value);
    return out.finish().bytes;
  }

 private:
  io::SlabPool pool_;
  io::SlabCursor cursor_;
};

nfs3::nfs_fh3 sample_handle() {
  static const std::array<std::byte, handle_bytes> bytes{};
  return {.data = bytes};
}

nfs3::fattr3 sample_attributes() {
  nfs3::fattr3 attributes;
  attributes.type = nfs3::ftype3::NF3REG;
  attributes.mode = 0644;
  attributes.nlink = 1;
  attributes.size = 123'456'789;
  attributes.fileid = 42;
  return attributes;
}

template <class T>
void decode_message(benchmark::State& state, const T& value) {
  Memory memory;
  const io::Payload message = memory.encoded(value);
  for (auto _ : state) {
    xdr::Arena arena;
    xdr::Decoder in(message, arena);
    T decoded;
    benchmark::DoNotOptimize(decode(in, decoded));
    benchmark::DoNotOptimize(decoded);
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(message.size()));
}

template <class T>
void encode_message(benchmark::State& state, Memory& memory, const T& value) {
  std::size_t bytes = 0;
  for (auto _ : state) {
    xdr::Encoder out(memory.cursor());
    encode(out, value);
    const xdr::Message message = out.finish();
    bytes = message.bytes.size();
    benchmark::DoNotOptimize(bytes);
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes));
}

nfs3::GETATTR3res sample_getattr() {
  return nfs3::GETATTR3res::with_resok({.obj_attributes = sample_attributes()});
}

void getattr_args_decode(benchmark::State& state) {
  decode_message(state, nfs3::GETATTR3args{.object = sample_handle()});
}

void getattr_res_decode(benchmark::State& state) { decode_message(state, sample_getattr()); }

void getattr_res_encode(benchmark::State& state) {
  Memory memory;
  encode_message(state, memory, sample_getattr());
}

nfs3::WRITE3args sample_write(Memory& memory) {
  return {.file = sample_handle(),
          .offset = 0,
          .count = data_bytes,
          .stable = nfs3::stable_how::UNSTABLE,
          .data = memory.bulk()};
}

void write_args_encode(benchmark::State& state) {
  Memory memory;
  encode_message(state, memory, sample_write(memory));
}

void write_args_decode(benchmark::State& state) {
  Memory memory;
  decode_message(state, sample_write(memory));
}

nfs3::READ3res sample_read(Memory& memory) {
  return nfs3::READ3res::with_resok(
      {.file_attributes = nfs3::post_op_attr::with_attributes(sample_attributes()),
       .count = data_bytes,
       .eof = false,
       .data = memory.bulk()});
}

void read_res_encode(benchmark::State& state) {
  Memory memory;
  encode_message(state, memory, sample_read(memory));
}

void read_res_decode(benchmark::State& state) {
  Memory memory;
  decode_message(state, sample_read(memory));
}

// What READ and WRITE would pay for one copy of their data.
void copy_of_the_data(benchmark::State& state) {
  const base::Bytes from(data_bytes, std::byte{7});
  base::Bytes to(data_bytes);
  for (auto _ : state) {
    std::memcpy(to.data(), from.data(), from.size());
    benchmark::DoNotOptimize(to.data());
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * data_bytes);
}

std::vector<nfs3::entryplus3> sample_entries(std::size_t count) {
  std::vector<nfs3::entryplus3> entries(count);
  for (std::size_t i = 0; i < count; ++i) {
    entries[i].fileid = i;
    entries[i].name = "a-file-name-of-usual-length.txt";
    entries[i].cookie = i + 1;
    entries[i].name_attributes = nfs3::post_op_attr::with_attributes(sample_attributes());
    entries[i].name_handle = nfs3::post_op_fh3::with_handle(sample_handle());
  }
  return entries;
}

nfs3::READDIRPLUS3res sample_listing(const std::vector<nfs3::entryplus3>& entries) {
  return nfs3::READDIRPLUS3res::with_resok(
      {.dir_attributes = nfs3::post_op_attr::with_attributes(sample_attributes()),
       .cookieverf = {},
       .reply = {.entries = entries, .eof = true}});
}

void readdirplus_res_encode(benchmark::State& state) {
  Memory memory;
  const auto entries = sample_entries(100);
  encode_message(state, memory, sample_listing(entries));
  state.SetItemsProcessed(state.iterations() * 100);
}

void readdirplus_res_decode(benchmark::State& state) {
  const auto entries = sample_entries(100);
  decode_message(state, sample_listing(entries));
  state.SetItemsProcessed(state.iterations() * 100);
}

// fattr3 as rpcgen -C for libtirpc would write it: a call through a table of functions per item.
struct RpcgenAttributes {
  u_int type, mode, nlink, uid, gid;
  std::uint64_t size, used;
  u_int specdata1, specdata2;
  std::uint64_t fsid, fileid;
  u_int times[6];
};

bool rpcgen_attributes(XDR* xdrs, RpcgenAttributes* to) {
  bool ok = xdr_u_int(xdrs, &to->type) && xdr_u_int(xdrs, &to->mode) && xdr_u_int(xdrs, &to->nlink) &&
            xdr_u_int(xdrs, &to->uid) && xdr_u_int(xdrs, &to->gid) && xdr_uint64_t(xdrs, &to->size) &&
            xdr_uint64_t(xdrs, &to->used) && xdr_u_int(xdrs, &to->specdata1) &&
            xdr_u_int(xdrs, &to->specdata2) && xdr_uint64_t(xdrs, &to->fsid) &&
            xdr_uint64_t(xdrs, &to->fileid);
  for (u_int& time : to->times) ok = ok && xdr_u_int(xdrs, &time);
  return ok;
}

void rpcgen_style(benchmark::State& state, xdr_op direction) {
  std::array<char, 256> memory{};
  RpcgenAttributes attributes{};
  u_int status = 0;
  u_int bytes = 0;
  for (auto _ : state) {
    XDR xdrs{};
    xdrmem_create(&xdrs, memory.data(), memory.size(), direction);
    benchmark::DoNotOptimize(xdr_u_int(&xdrs, &status) && rpcgen_attributes(&xdrs, &attributes));
    benchmark::DoNotOptimize(attributes);
    bytes = xdr_getpos(&xdrs);
  }
  state.SetBytesProcessed(state.iterations() * bytes);
}

void getattr_res_decode_rpcgen(benchmark::State& state) { rpcgen_style(state, XDR_DECODE); }
void getattr_res_encode_rpcgen(benchmark::State& state) { rpcgen_style(state, XDR_ENCODE); }

BENCHMARK(getattr_args_decode);
BENCHMARK(getattr_res_encode);
BENCHMARK(getattr_res_encode_rpcgen);
BENCHMARK(getattr_res_decode);
BENCHMARK(getattr_res_decode_rpcgen);
BENCHMARK(write_args_encode);
BENCHMARK(write_args_decode);
BENCHMARK(read_res_encode);
BENCHMARK(read_res_decode);
BENCHMARK(copy_of_the_data);
BENCHMARK(readdirplus_res_encode);
BENCHMARK(readdirplus_res_decode);

}  // namespace
}  // namespace braid
