#include "bench/rdma/data_program.h"

#include <cstring>

namespace braid::bench {
namespace {

io::Op<rpc::Answer> null(rpc::Service&, rpc::Call&, rpc::Reply& reply) {
  reply.begin();
  return rpc::Answer::success;
}

io::Op<rpc::Answer> read(rpc::Service& service, rpc::Call& call, rpc::Reply& reply) {
  std::uint32_t bytes;
  if (!call.args.u32(bytes) || bytes > data_bytes_max) return rpc::Answer::garbage_args;
  reply.begin().ddp_payload(static_cast<DataService&>(service).first(bytes));
  return rpc::Answer::success;
}

io::Op<rpc::Answer> write(rpc::Service&, rpc::Call& call, rpc::Reply& reply) {
  io::Payload data;
  if (!call.args.ddp_payload(data, data_bytes_max)) return rpc::Answer::garbage_args;
  reply.begin().u32(static_cast<std::uint32_t>(data.size()));
  return rpc::Answer::success;
}

constexpr rpc::Procedure procedures[] = {{.name = "NULL", .handler = null},
                                         {.name = "READ", .handler = read, .reply_bytes_max = data_bytes_max},
                                         {.name = "WRITE", .handler = write}};
constexpr rpc::Version versions[] = {{1, procedures}};

}  // namespace

DataService::DataService(io::SlabPool& pool) {
  io::SlabRange all{pool.acquire(io::SlabSize::large).value(), 0, data_bytes_max};
  std::memset(all.writable().data(), 0x5a, data_bytes_max);
  data_.append(std::move(all));
}

rpc::Program DataService::program() {
  return {.number = data_program_number, .name = "DATA", .versions = versions, .service = this};
}

}  // namespace braid::bench
