// Attributes that clients send: whatever arrives is refused or taken as a whole, it does not matter in which
// pieces it arrives, and ACLs that are taken become POSIX ACLs as the kernel wants them. Input: what to do,
// the minor version, the size of the pieces, twelve bytes of bitmap, the values.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "base/assert.h"
#include "io/slab.h"
#include "nfs4/attributes/acl.h"
#include "nfs4/attributes/compare.h"
#include "nfs4/attributes/table.h"

namespace {

using namespace braid;
using namespace braid::nfs4;
using namespace braid::nfs4::attributes;

constexpr std::size_t header_bytes = 3 + 4 * Bitmap::words_max;

io::Payload cut(base::BytesView bytes, std::size_t piece_bytes, io::SlabPool& pool) {
  io::Payload payload;
  io::SlabCursor cursor(pool);
  while (!bytes.empty()) {
    const std::size_t step = std::min(piece_bytes, bytes.size());
    auto range = cursor.carve(step);
    std::memcpy(range->writable().data(), bytes.data(), step);
    payload.append(std::move(*range));
    bytes = bytes.subspan(step);
  }
  return payload;
}

void check_acl(std::span<const nfsace4> wire, bool directory) {
  std::vector<Ace> aces;
  for (const nfsace4& ace : wire) {
    const auto kind = static_cast<Who::Kind>(ace.who.size() % 5);
    aces.push_back({ace.type, ace.flag, ace.access_mask, {kind, ace.access_mask % 16}});
  }
  const auto set = posix_acl_of(aces, directory);
  if (!set) return;
  const auto before = [](const vfs::AclEntry& a, const vfs::AclEntry& b) {
    return a.tag != b.tag ? a.tag < b.tag : a.id < b.id;
  };
  base::check(set->access && set->access->size() >= 3, "an ACL has at least what a mode says");
  base::check(std::ranges::is_sorted(*set->access, before), "entries are in the kernel's order");
  base::check(set->inherited.has_value() == directory, "only directories pass ACLs on");
  vfs::Attributes object;
  object.type = directory ? vfs::FileType::directory : vfs::FileType::regular;
  const auto again = posix_acl_of(aces_of({*set->access, {}}, object), directory);
  base::check(again.has_value(), "what was written as ACEs can be read");
}

void check_setting(const fattr4& whole, const fattr4& pieces, const AttributeSource& source) {
  xdr::Arena arena;
  const Bitmap known = supported(source);
  const Bitmap settable = settable_by_setattr(source.minor) | settable_at_creation(source.minor);
  const auto request = decode_settable(whole, known, settable, arena);
  xdr::Arena other_arena;
  const auto other = decode_settable(pieces, known, settable, other_arena);
  base::check(request.has_value() == other.has_value(), "pieces make no difference");
  if (!request) {
    base::check(request.error() == other.error(), "not to the error either");
    return;
  }
  base::check(request->named.within(settable), "only what can be set is taken");
  base::check(request->size == other->size && request->mode == other->mode && request->owner == other->owner,
              "not to the values either");
  if (request->acl) check_acl(*request->acl, source.object.type == vfs::FileType::directory);
}

void check_comparing(const fattr4& whole, const fattr4& pieces, const AttributeSource& source) {
  const Bitmap named = Bitmap::of_wire(whole.attrmask);
  const Bitmap incomparable = write_only(source.minor) | Bitmap{FATTR4_RDATTR_ERROR};
  if (named.intersects(incomparable) || !named.within(supported(source))) return;
  xdr::Arena arena;
  const auto compared = compare(whole, source, arena);
  xdr::Arena other_arena;
  const auto other = compare(pieces, source, other_arena);
  base::check(compared.has_value() == other.has_value(), "pieces make no difference");
  if (compared) base::check(compared->same == other->same, "not to the result either");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < header_bytes) return 0;
  static io::SlabPool pool({.bytes_max = 64 * base::MiB, .huge_pages = false});
  const auto bytes = std::as_bytes(std::span(data, size));
  std::array<std::uint32_t, Bitmap::words_max> words{};
  std::memcpy(words.data(), bytes.data() + 3, sizeof(words));

  ServerFacts server;
  server.delegated_times = (data[0] & 4U) != 0;
  AttributeSource source;
  source.minor = data[1] % 3U;
  source.server = &server;
  source.object.type = (data[0] & 2U) != 0 ? vfs::FileType::directory : vfs::FileType::regular;
  source.object.btime = {1, 0};
  source.limits.acls = true;
  source.limits.clone_block_bytes = 4096;
  source.owner = OwnerText::of_number(0);
  source.group = OwnerText::of_number(0);

  const base::BytesView values = bytes.subspan(header_bytes);
  fattr4 whole;
  whole.attrmask = words;
  whole.attr_vals = cut(values, io::small_slab_bytes, pool);
  fattr4 pieces;
  pieces.attrmask = words;
  pieces.attr_vals = cut(values, data[2] == 0 ? 1 : data[2], pool);
  if ((data[0] & 1U) != 0)
    check_setting(whole, pieces, source);
  else
    check_comparing(whole, pieces, source);
  return 0;
}
