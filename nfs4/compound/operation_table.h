// Operations as a table: number, name, handler, and by which rules it runs. A table is a value: a server may
// combine rows of several folders.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "io/op.h"
#include "nfs4/nfs4.x.h"
#include "xdr/encoder.h"

namespace braid::nfs4 {

class Compound;
class ResultSink;

// Decodes the arguments, runs the operation and hands its result to the sink; ends with its status. Made by
// operation_handler.h.
using OperationHandler = io::Op<nfsstat4> (*)(Compound& compound, ResultSink& out);

// A set of minor versions.
struct Minors {
  bool v0 = false, v1 = false, v2 = false;
  [[nodiscard]] constexpr bool has(std::uint32_t minor) const {
    return (minor == 0 && v0) || (minor == 1 && v1) || (minor == 2 && v2);
  }
  // The one that added it. RFC 8178 section 4.4.2: it is no operation in an earlier one.
  [[nodiscard]] constexpr std::uint32_t first() const { return v0 ? 0 : v1 ? 1 : 2; }
};
constexpr Minors only_40{true, false, false};
constexpr Minors from_41{false, true, true};
constexpr Minors only_41{false, true, false};
constexpr Minors from_42{false, false, true};
constexpr Minors all_minors{true, true, true};

struct OperationFlags {
  bool needs_current = false;    // NFS4ERR_NOFILEHANDLE without a current filehandle
  bool needs_saved = false;      // NFS4ERR_NOFILEHANDLE without a saved one
  bool outside_session = false;  // may be the only operation, without SEQUENCE (RFC 8881 18.35.3 and others)
  // Executed twice it would have another effect: its result must fit the reply before it runs, and the
  // duplicate-request cache keeps the reply of a 4.0 call with it.
  bool changes = false;
  // Changes nothing and does not wait: what the operations before have seen of the current filehandle is true
  // after it. Or it drops that by itself (Compound::seen()).
  bool looks = false;
  // In 4.0 it carries a seqid, which is used up by the first answer (RFC 7530 9.1.7): it is not executed
  // again within its COMPOUND.
  bool seqid_40 = false;
  // Its result has a bitmap4 with every status (RFC 8881 18.30.2).
  bool bitmap_with_errors = false;
};

// One operation: all there is to say of it. Made by row() and unsupported() of operation_handler.h.
struct Operation {
  nfs_opnum4 number = nfs_opnum4::OP_ILLEGAL;
  std::string_view name;
  Minors minors;
  OperationHandler handler = nullptr;  // null: NFS4ERR_NOTSUPP
  OperationFlags flags;
  // Bound of what follows the status, for operations that change something: room for it is made sure of
  // before they run.
  std::uint32_t result_bytes_max = 0;
  std::string_view section;  // "RFC 8881 18.22"
};

// Rows by number. Immutable once in use.
class OperationTable {
 public:
  static constexpr std::uint32_t numbers = 76;  // 0 to OP_REMOVEXATTR

  OperationTable() = default;
  // A later row of a number replaces an earlier one.
  explicit OperationTable(std::span<const Operation> rows) { add(rows); }
  void add(std::span<const Operation> rows) {
    for (const Operation& row : rows) rows_[static_cast<std::uint32_t>(row.number)] = row;
  }
  // The same, where only these are executed: the others are NFS4ERR_NOTSUPP.
  [[nodiscard]] OperationTable only(std::span<const nfs_opnum4> executed) const {
    OperationTable table(*this);
    for (Operation& row : table.rows_)
      if (std::ranges::find(executed, row.number) == executed.end()) row.handler = nullptr;
    return table;
  }
  // Null for numbers that no minor version defines.
  [[nodiscard]] const Operation* find(std::uint32_t number) const {
    if (number >= numbers || rows_[number].name.empty()) return nullptr;
    return &rows_[number];
  }
  [[nodiscard]] std::span<const Operation> rows() const { return rows_; }

 private:
  std::array<Operation, numbers> rows_{};
};

}  // namespace braid::nfs4
