// libtirpc's XDR, which knows nothing of ours: the same values by its routines. Its headers define names and
// macros that rpc/rpc_msg.x has too, so they are included in tirpc.cc only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"

namespace braid::xdr_tests::tirpc {

struct Numbers {
  std::int32_t a;
  std::uint32_t b;
  std::uint32_t c;
  std::int64_t d;
  std::uint64_t e;
  float f;
  double g;
  bool h;
  std::int32_t i;
  std::uint32_t j;
};
base::Bytes encode(const Numbers& numbers);

// sample::bytes.
struct Strings {
  std::string fixed;  // 5 bytes
  std::string variable;
  std::string open;
  std::string tighter;
  std::string text;
};
base::Bytes encode(const Strings& strings);
std::optional<Strings> decode_strings(base::Bytes bytes);

// `int x<4>`, `int *x`, and a union of discriminant RED (0), GREEN (10): int, BLUE (-5): int.
base::Bytes encode_array(std::vector<std::int32_t> numbers);
base::Bytes encode_optional(std::optional<std::int32_t> number);
base::Bytes encode_union(std::int32_t discriminant, std::int32_t number);

struct Call {
  std::uint32_t xid;
  std::uint32_t program;
  std::uint32_t version;
  std::uint32_t procedure;
  std::uint32_t flavor;
  std::string credential;  // body
};
base::Bytes encode(const Call& call);

struct Reply {
  std::uint32_t xid;
  bool denied;
  std::uint32_t status;  // accept_stat or reject_stat
  std::uint32_t low;
  std::uint32_t high;
  std::uint32_t auth_status;
};
base::Bytes encode(const Reply& reply);

struct Unix {
  std::uint32_t stamp;
  std::string machine;
  std::uint32_t uid;
  std::uint32_t gid;
  std::vector<std::uint32_t> groups;
};
base::Bytes encode(const Unix& credential);

}  // namespace braid::xdr_tests::tirpc
