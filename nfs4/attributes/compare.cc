#include "nfs4/attributes/compare.h"

#include "nfs4/attributes/table.h"

namespace braid::nfs4::attributes {
namespace {

enum class Verdict : std::uint8_t { same, different, garbage };

class Comparer {
 public:
  Comparer(xdr::Decoder& theirs, const AttributeSource& ours, base::MutableBytes written,
           base::MutableBytes read)
      : in_(theirs), ours_(ours), written_(written), read_(read) {}

  Verdict check(const Row& row) {
    switch (row.number) {
      case FATTR4_OWNER:
        return check_name(ours_.owner, result_.owner);
      case FATTR4_OWNER_GROUP:
        return check_name(ours_.group, result_.group);
      case FATTR4_SUPPORTED_ATTRS:
        return check_bitmap(supported(ours_));
      case FATTR4_SUPPATTR_EXCLCREAT:
        return check_bitmap(settable_at_exclusive_creation(ours_.minor) & supported(ours_));
      default:
        return check_bytes(row);
    }
  }
  [[nodiscard]] Comparison take(bool same) {
    result_.same = same;
    return result_;
  }

 private:
  Verdict check_name(const OwnerText& mine, std::optional<std::string_view>& other) {
    std::string_view text;
    if (!in_.text(text, NFS4_OPAQUE_LIMIT)) return Verdict::garbage;
    if (text != mine.view()) other = text;
    return Verdict::same;
  }
  // Words of zero at the end do not make a difference.
  Verdict check_bitmap(const Bitmap& mine) {
    bitmap4 words;
    if (!decode_bitmap4(in_, words)) return Verdict::garbage;
    return Bitmap::of_wire(words) == mine ? Verdict::same : Verdict::different;
  }
  Verdict check_bytes(const Row& row) {
    FlatWriter out(written_);
    row.put(out, ours_);
    const base::MutableBytes theirs = read_.first(out.size());
    // A value of variable length that ends early is another value.
    if (!in_.opaque_fixed(theirs)) return row.bytes_of != nullptr ? Verdict::different : Verdict::garbage;
    return base::equal(out.written(), theirs) ? Verdict::same : Verdict::different;
  }

  xdr::Decoder& in_;
  const AttributeSource& ours_;
  const base::MutableBytes written_;
  const base::MutableBytes read_;
  Comparison result_;
};

}  // namespace

Result4<Comparison> compare(const fattr4& theirs, const AttributeSource& ours, xdr::Arena& arena) {
  const Bitmap named = Bitmap::of_wire(theirs.attrmask);
  const std::size_t bytes = bytes_max(named, ours);
  bool fits = false;
  const auto memory = arena.make<std::byte>(2 * bytes, fits);
  if (!fits) return base::fail(nfsstat4::NFS4ERR_DELAY);
  xdr::Decoder in(theirs.attr_vals, arena);
  Comparer comparer(in, ours, memory.first(bytes), memory.subspan(bytes));
  Verdict verdict = Verdict::same;
  named.for_each([&](std::uint32_t number) {
    if (verdict == Verdict::same) verdict = comparer.check(rows()[number]);
  });
  if (verdict == Verdict::same && in.remaining() != 0) verdict = Verdict::garbage;
  if (verdict == Verdict::garbage) return base::fail(nfsstat4::NFS4ERR_BADXDR);
  return comparer.take(verdict == Verdict::same);
}

}  // namespace braid::nfs4::attributes
