#include "bench/rdma/load_client.h"

#include <array>
#include <cstring>

#include "base/assert.h"
#include "rdma/private_data.h"

namespace braid::bench {
namespace {

constexpr std::uint32_t receive_bytes = 512;

void put(base::Bytes& out, std::uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<std::byte>(value >> shift & 0xff));
}
std::uint32_t word_at(base::BytesView bytes, std::size_t offset) {
  std::uint32_t value;
  std::memcpy(&value, bytes.data() + offset, 4);
  return __builtin_bswap32(value);
}
void put_segment(base::Bytes& out, const rdma::Segment& segment) {
  put(out, segment.key.value());
  put(out, segment.bytes);
  put(out, static_cast<std::uint32_t>(segment.address >> 32));
  put(out, static_cast<std::uint32_t>(segment.address));
}

// RFC 8166: the whole message, with one chunk. The WRITE's data stands behind forty bytes of RPC header and
// its length.
base::Bytes call_of(std::uint32_t xid, DataProcedure procedure, const rdma::Segment& memory) {
  base::Bytes out;
  for (const std::uint32_t word : {xid, 1U, 128U, 0U}) put(out, word);
  if (procedure == data_write) {
    for (const std::uint32_t word : {1U, 44U}) put(out, word);
    put_segment(out, memory);
    for (const std::uint32_t word : {0U, 0U, 0U}) put(out, word);
  } else {
    for (const std::uint32_t word : {0U, 1U, 1U}) put(out, word);
    put_segment(out, memory);
    for (const std::uint32_t word : {0U, 0U}) put(out, word);
  }
  for (const std::uint32_t word : {xid, 0U, 2U, data_program_number, 1U,
                                   static_cast<std::uint32_t>(procedure), 0U, 0U, 0U, 0U, memory.bytes})
    put(out, word);
  return out;
}

}  // namespace

struct LoadClient::Slot final : rdma::Work {
  void completed(rdma::WorkStatus, std::uint32_t) override { --client->posted_; }
  LoadClient* client = nullptr;
  base::Bytes call;
  std::unique_ptr<rdma::MemoryRegion> region;  // of the call
};

struct LoadClient::Receive final : rdma::Work {
  void completed(rdma::WorkStatus status, std::uint32_t bytes) override {
    --client->posted_;
    if (status != rdma::WorkStatus::success) return;
    const std::uint32_t xid = bytes >= 8 ? word_at(buffer, 0) : 0;
    const bool plain = bytes >= 16 && word_at(buffer, 12) == 0;
    if (xid >= client->slots_.size() || !plain) {
      client->broken_ = true;
      return client->stop();
    }
    ++client->answered_;
    client->post_receive(*this);
    client->post(*client->slots_[xid]);
  }
  LoadClient* client = nullptr;
  base::Bytes buffer;
  std::unique_ptr<rdma::MemoryRegion> region;
};

LoadClient::LoadClient(rdma::sim::Host& host, const rpc::PeerAddress& server, const LoadOptions& options)
    : host_(host), options_(options), memory_(std::size_t{options.bytes}) {
  using rdma::Access;
  const Access right = options.procedure == data_write ? Access::remote_read : Access::remote_write;
  region_ = host.register_memory(memory_, right).value();
  for (std::uint32_t xid = 0; xid < options.depth; ++xid) {
    auto& slot = *slots_.emplace_back(std::make_unique<Slot>());
    slot.client = this;
    slot.call =
        call_of(xid, options.procedure,
                {region_->remote_key(), options.bytes, reinterpret_cast<std::uintptr_t>(memory_.data())});
    slot.region = host.register_memory(slot.call, Access::local).value();
    auto& receive = *receives_.emplace_back(std::make_unique<Receive>());
    receive.client = this;
    receive.buffer.resize(receive_bytes);
    receive.region = host.register_memory(receive.buffer, Access::local).value();
  }
  endpoint_ = host.connect(server, {options.depth, 2 * options.depth}, *this).value();
}

LoadClient::~LoadClient() { base::check(drained(), "a client ends when nothing is posted"); }

void LoadClient::on_resolved() {
  for (const auto& receive : receives_) post_receive(*receive);
  const auto said = rdma::encode(rdma::PrivateData{4096, 4096, false});
  if (!endpoint_->start({.private_data = said, .reads_out = 0, .reads_in = 16})) stop();
}

void LoadClient::on_established(const rdma::ConnectParameters&) {
  for (const auto& slot : slots_) post(*slot);
}

void LoadClient::post_receive(Receive& receive) {
  if (endpoint_->post_receive(receive, {receive.buffer.data(), receive_bytes, receive.region->local_key()}))
    ++posted_;
}

void LoadClient::post(Slot& slot) {
  const rdma::LocalPiece piece{slot.call.data(), static_cast<std::uint32_t>(slot.call.size()),
                               slot.region->local_key()};
  const rdma::Request request{rdma::Opcode::send, {&piece, 1}, {}, 0};
  if (endpoint_->post(slot, {&request, 1})) ++posted_;
}

}  // namespace braid::bench
