// A libibverbs and a librdmacm whose device is made of numbers: the functions that rdma/ibverbs calls, for a
// program that links them in place of the libraries'. Nothing is transferred; what counts is what a device
// takes, refuses, and gives back.
#pragma once

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace braid::rdma::test {

struct FakeQueue : ibv_cq {
  std::uint32_t size = 0;
  std::deque<ibv_wc> completed;
  bool armed = false;
};

struct FakePair : ibv_qp {
  struct Posted {
    std::uint64_t number;
    bool receive;
    ibv_wr_opcode opcode;
    unsigned flags;
  };
  std::vector<Posted> posted;  // that have not completed
};

struct FakeDevice : ibv_context {
  FakeDevice();
  ~FakeDevice();
  FakeDevice(const FakeDevice&) = delete;
  FakeDevice& operator=(const FakeDevice&) = delete;

  // The first request that was posted fails, and what is behind it is flushed.
  void fail(FakePair& pair, ibv_wc_status status);
  // Of itself, unasked.
  void tell(ibv_event_type type, int port = 0);
  // It is there no more.
  void vanish();
  // Completes everything that is posted, as when the queue pair has gone to the error state.
  void flush(FakePair& pair);

  ibv_device description{};
  ibv_device_attr attributes{};  // what it can do
  bool usable = true;
  std::uint32_t copies = 1024;  // bytes of an inline send; it refuses queue pairs that want more
  int takes = -1;               // requests before it refuses one; -1: all
  bool flushes = true;          // when a connection ends
  bool notifies = true;         // takes ibv_req_notify_cq()
  bool destroys = true;         // takes ibv_destroy_qp()
  std::vector<FakeQueue*> queues;
  std::vector<FakePair*> pairs;
  std::uint32_t pairs_made = 0;
  std::vector<ibv_port_state> ports{IBV_PORT_ACTIVE};
  std::deque<ibv_async_event> told;
  unsigned asked = 0;  // for such
  bool vanished = false;
};

// One at a time, before anything of rdma/ibverbs is made and until it is gone.
class FakeRdma {
 public:
  FakeRdma();
  ~FakeRdma();
  FakeRdma(const FakeRdma&) = delete;
  FakeRdma& operator=(const FakeRdma&) = delete;

  FakeDevice& add_device() { return *devices.emplace_back(std::make_unique<FakeDevice>()); }
  // A peer asks the last listener for a connection, on this device.
  void ask(FakeDevice& device);

  std::vector<std::unique_ptr<FakeDevice>> devices;
  std::vector<std::string> refusals;  // the private data of each
  rdma_event_channel channel{};       // the only one
  rdma_cm_id* listener = nullptr;
  std::deque<rdma_cm_event*> events;
  unsigned acknowledged = 0;  // of what devices told
};

}  // namespace braid::rdma::test
