// COMPOUNDs as a client writes and reads them: a fixed list of operations, and their results in order.
//
//   steps(step(OP_PUTFH, PUTFH4args{...}), step(OP_GETFH))
#pragma once

#include <cstddef>
#include <tuple>
#include <utility>

#include "base/result.h"
#include "bench/load/outcome.h"
#include "nfs4/nfs4.x.h"
#include "xdr/decoder.h"
#include "xdr/encoder.h"

namespace braid::load {

struct NoArgs {};
inline void encode(xdr::Encoder&, const NoArgs&) {}

template <class Args>
struct Step {
  nfs4::nfs_opnum4 number;
  Args args;
};

template <class... Args>
struct Steps {
  static constexpr std::size_t count = sizeof...(Args);
  std::tuple<Step<Args>...> list;
};

template <class Args>
Step<Args> step(nfs4::nfs_opnum4 number, Args args) {
  return {number, std::move(args)};
}
inline Step<NoArgs> step(nfs4::nfs_opnum4 number) { return {number, {}}; }

template <class... Args>
Steps<Args...> steps(Step<Args>... list) {
  return {{std::move(list)...}};
}

template <class Args>
void encode(xdr::Encoder& out, const Step<Args>& value) {
  encode(out, value.number);
  encode(out, value.args);
}
template <class... Args>
void encode(xdr::Encoder& out, const Steps<Args...>& value) {
  std::apply([&out](const auto&... each) { (encode(out, each), ...); }, value.list);
}

// The results of one COMPOUND. The first that is not NFS4_OK, or not the one that was asked for, is the last.
class Results {
 public:
  explicit Results(xdr::Decoder& in) : in_(in) {
    nfs4::COMPOUND4res head;
    if (decode(in_, head)) status_ = head.status;
  }
  Results(const Results&) = delete;
  Results& operator=(const Results&) = delete;

  // Whether the next result is one of this operation, and NFS4_OK; its body then.
  bool next(nfs4::nfs_opnum4 number) {
    nfs4::nfs_opnum4 got{};
    return decode(in_, got) && decode(in_, status_) && got == number && status_ == nfs4::nfsstat4::NFS4_OK;
  }
  template <class Body>
  bool next(nfs4::nfs_opnum4 number, Body& body) {
    return next(number) && decode(in_, body);
  }
  // Of the last result that was looked at; of the whole if none was.
  [[nodiscard]] nfs4::nfsstat4 status() const { return status_; }
  // After next() was false.
  [[nodiscard]] Fault fault() const {
    using enum nfs4::nfsstat4;
    if (status_ == NFS4_OK) return {"results that do not decode"};
    return {nfs4::name_of(status_), status_ == NFS4ERR_DELAY || status_ == NFS4ERR_GRACE};
  }

 private:
  xdr::Decoder& in_;
  nfs4::nfsstat4 status_ = nfs4::nfsstat4::NFS4_OK;
};

// For results that are a status and nothing else.
inline auto expect(nfs4::nfs_opnum4 number) {
  return [number](Results& results) -> base::Result<Done, Fault> {
    if (!results.next(number)) return base::fail(results.fault());
    return Done{};
  };
}

}  // namespace braid::load
