// Values that arguments are made of, and who makes them. Each add_...() adds the operation and returns true,
// if it is one of those that it knows.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/bytes.h"
#include "nfs4/nfs4.x.h"
#include "tests/fuzz/nfs4_state/registers.h"
#include "tests/fuzz/nfs4_state/script.h"
#include "tests/unit/nfs4/support/request.h"

namespace braid::nfs4::fuzz {

inline constexpr std::string_view names[] = {"file", "other", "large", "sub", "link",
                                             "new",  "newer", "",      "..",  "no/name"};
inline constexpr std::string_view owners[] = {"one", "two", "three", ""};
inline constexpr std::uint64_t offsets[] = {
    0, 1, 10, 4096, 65'536, 1U << 20, 0x7fff'ffff'ffff'fff0, ~std::uint64_t{0}};
inline constexpr std::uint64_t lengths[] = {
    1, 10, 100, 4096, ~std::uint64_t{0}, 0, ~std::uint64_t{0} - 1, 1U << 20};
inline constexpr std::uint32_t counts[] = {0, 1, 100, 4096, 70'000, 300'000, 0xffff'ffff};
inline constexpr std::uint32_t accesses[] = {1, 2, 3, 3, 0x101, 0x302, 0x403, 0x20003, 0x100003, 0};
inline constexpr std::uint32_t denies[] = {0, 0, 0, 1, 2, 3, 4};
inline constexpr std::uint32_t seqids[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 0xffff'ffff};

// Attributes whose values are words: up to three of them, with as many bytes as they take, or not.
struct Attributes {
  std::array<std::uint32_t, 3> mask{};
  fattr4 value;

  explicit Attributes(Bytes& bytes);
};

inline base::BytesView owner_of(Bytes& bytes) { return base::bytes_of(bytes.of(owners)); }

bool add_client(test::Request& request, nfs_opnum4 operation, Bytes& bytes, const Registers& from);
bool add_session(test::Request& request, nfs_opnum4 operation, Bytes& bytes, const Registers& from);
bool add_state(test::Request& request, nfs_opnum4 operation, Bytes& bytes, const Registers& from);
bool add_lock_state(test::Request& request, nfs_opnum4 operation, Bytes& bytes, const Registers& from);
bool add_data(test::Request& request, nfs_opnum4 operation, Bytes& bytes, const Registers& from);
bool add_copy(test::Request& request, nfs_opnum4 operation, Bytes& bytes, const Registers& from);
bool add_name(test::Request& request, nfs_opnum4 operation, Bytes& bytes, const Registers& from);

}  // namespace braid::nfs4::fuzz
