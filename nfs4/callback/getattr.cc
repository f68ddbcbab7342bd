// CB_GETATTR (RFC 8881 20.1): what the holder of a write delegation has changed and not told yet.
#include <array>

#include "nfs4/callback/callbacks.h"
#include "xdr/arena.h"

namespace braid::nfs4::callback {
namespace {

constexpr std::uint32_t first_word = 1U << FATTR4_CHANGE | 1U << FATTR4_SIZE;
constexpr std::uint32_t times_word =
    1U << (FATTR4_TIME_DELEG_ACCESS % 32) | 1U << (FATTR4_TIME_DELEG_MODIFY % 32);
static_assert(FATTR4_TIME_DELEG_ACCESS / 32 == 2 && FATTR4_TIME_DELEG_MODIFY / 32 == 2);

bool names(const bitmap4& mask, std::uint32_t attribute) {
  return attribute / 32 < mask.size() && ((mask[attribute / 32] >> (attribute % 32)) & 1U) != 0;
}

std::optional<vfs::Time> time_of(xdr::Decoder& in, bool& good) {
  nfstime4 time;
  good = good && decode(in, time) && time.nseconds < 1'000'000'000;
  if (!good) return std::nullopt;
  return vfs::Time{time.seconds, time.nseconds};
}

// The values come in the order of their numbers; any that were not asked for are nonsense.
std::optional<CachedAttributes> understand(const fattr4& wire, xdr::Arena& arena) {
  for (std::size_t word = 0; word < wire.attrmask.size(); ++word) {
    const std::uint32_t asked = word == 0 ? first_word : word == 2 ? times_word : 0;
    if ((wire.attrmask[word] & ~asked) != 0) return std::nullopt;
  }
  xdr::Decoder in(wire.attr_vals, arena);
  CachedAttributes out;
  bool good = names(wire.attrmask, FATTR4_CHANGE) && in.u64(out.change) &&
              names(wire.attrmask, FATTR4_SIZE) && in.u64(out.size);
  if (good && names(wire.attrmask, FATTR4_TIME_DELEG_ACCESS)) out.atime = time_of(in, good);
  if (good && names(wire.attrmask, FATTR4_TIME_DELEG_MODIFY)) out.mtime = time_of(in, good);
  if (!good || in.remaining() != 0) return std::nullopt;
  return out;
}

}  // namespace

CallbackOp<CachedAttributes> Callbacks::getattr(clientid4 client, vfs::FileHandle file, bool times) {
  constexpr std::array<std::uint32_t, 3> all{first_word, 0, times_word};
  const CB_GETATTR4args args{.fh = file.view(), .attr_request = std::span(all).first(times ? 3 : 1)};
  const Answer answer = co_await call(client, nfs_cb_opnum4::OP_CB_GETATTR, args);
  if (answer.status == nfsstat4::NFS4ERR_DELAY) co_return base::fail(Failure::busy);
  if (answer.status != nfsstat4::NFS4_OK) co_return base::fail(Failure::refused);
  xdr::Arena arena;
  xdr::Decoder in = answer.results(arena);
  CB_GETATTR4resok ok;
  if (!decode(in, ok)) co_return base::fail(Failure::refused);
  const auto understood = understand(ok.obj_attributes, arena);
  if (!understood) co_return base::fail(Failure::refused);
  co_return *understood;
}

}  // namespace braid::nfs4::callback
