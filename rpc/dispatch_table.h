// All programs of a server, laid out for finding a procedure quickly, with the metrics of each procedure.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string_view>
#include <vector>

#include "base/metrics.h"
#include "rpc/program.h"
#include "rpc/rpc_msg.x.h"

namespace braid::rpc {

// What is counted of one procedure; the latency's count is the number of calls.
struct ProcedureMetrics {
  base::LatencyHistogram& latency;  // from the arrival of the call to its reply being queued
  base::Counter& errors;            // replies with a status of the protocol other than OK, and failed calls
  base::Counter& bytes_in;
  base::Counter& bytes_out;
};

// One procedure that exists.
struct Route {
  Handler handler;  // null: NULL, which answers nothing
  Service* service;
  Replay replay;
  std::uint32_t reply_bytes_max;
  bool (*keeps)(const Call& call);                           // null: all calls alike
  std::optional<std::uint32_t> (*bulk)(xdr::Decoder& args);  // null: no bulk data
  ProcedureMetrics* metrics;
};

// Immutable after construction. What the programs refer to must outlive it.
class DispatchTable {
 public:
  DispatchTable(std::span<const Program> programs, base::MetricRegistry& registry);
  DispatchTable(const DispatchTable&) = delete;
  DispatchTable& operator=(const DispatchTable&) = delete;

  struct Found {
    accept_stat stat = accept_stat::PROG_UNAVAIL;
    const Route* route = nullptr;  // with SUCCESS
    std::uint32_t low = 0;         // with PROG_MISMATCH
    std::uint32_t high = 0;
  };
  [[nodiscard]] Found find(std::uint32_t program, std::uint32_t version, std::uint32_t procedure) const;

  // What is counted of each procedure that exists, for reports.
  struct Row {
    std::string_view program;
    std::uint32_t version;
    std::string_view procedure;
    const ProcedureMetrics* metrics;
  };
  [[nodiscard]] const std::vector<Row>& rows() const { return rows_; }

 private:
  struct Versioned {
    std::uint32_t program;
    std::uint32_t version;
    std::vector<Route> routes;  // by procedure number; those without metrics do not exist
  };
  [[nodiscard]] Found mismatch(std::uint32_t program) const;

  std::deque<ProcedureMetrics> metrics_;
  std::vector<Row> rows_;
  std::vector<Versioned> versions_;
};

}  // namespace braid::rpc
