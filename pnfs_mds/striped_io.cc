// READ, WRITE and COMMIT of a striped file for clients that have no layout of it.
#include <algorithm>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "base/arith.h"
#include "hashing/blake3.h"
#include "pnfs/control.x.h"
#include "pnfs/zeros.h"
#include "pnfs_mds/striped_content.h"
#include "pnfs_mds/striped_source.h"
#include "pnfs_mds/together.h"

namespace braid::pnfs_mds {
namespace {

// False: there is no memory.
bool append_zeros(io::Payload& out, std::uint64_t count, io::SlabCursor& cursor) {
  const auto zeros = cursor.carve(std::min<std::uint64_t>(count, io::small_slab_bytes));
  if (!zeros) return false;
  std::ranges::fill(zeros->writable(), std::byte{});
  pnfs::append_zeros(out, count, *zeros);
  return true;
}

}  // namespace

// What is gone for ever, though its file is not, is lost.
vfs::Error error_of_object(vfs::Error error) { return error == vfs::Error::stale ? vfs::Error::io : error; }

std::vector<StripedContent::Piece> StripedContent::pieces_of(const pnfs::Striping& striping,
                                                             std::uint64_t offset, std::uint64_t count) {
  std::vector<Piece> pieces;
  pieces.reserve(count / striping.unit + 2);
  for (std::uint64_t at = offset; at < offset + count;) {
    const std::uint64_t left = std::min<std::uint64_t>(offset + count - at, pnfs::BULK_BYTES_MAX);
    const pnfs::ObjectRange range = striping.piece(at, left);
    pieces.push_back({range, at});
    at += range.length;
  }
  return pieces;
}

vfs::Verifier StripedContent::verifier_of(const pnfs::LayoutRecord& record, const SeenVerifiers& seen) const {
  hashing::Blake3 hash;
  hash.update(source_.verifier_.bytes);
  for (std::size_t i = 0; i < record.servers.size(); ++i) {
    if (i < seen.size() && !seen[i].empty())
      for (const vfs::Verifier& verifier : seen[i]) hash.update(verifier.bytes);
    else
      hash.update(source_.parts_.servers.verifier_of(record.servers[i]).bytes);
  }
  vfs::Verifier out;
  const hashing::Digest digest = hash.digest();
  std::ranges::copy(std::span(digest.bytes).first(out.bytes.size()), out.bytes.begin());
  return out;
}

vfs::Verifier StripedContent::write_verifier(const vfs::Verifier& /*own*/) const {
  return verifier_of(record(), {});
}

vfs::VfsOp<vfs::ReadResult> StripedContent::read(vfs::Stub& stub, std::uint64_t offset, std::uint32_t count,
                                                 vfs::ReadMemory memory) {
  source_.counters_.called(InBand::read, memory.protocol, source_.holds_layout(file(), memory.holder));
  const Turns::Hold hold = co_await enter(stub);
  const pnfs::LayoutRecord record = this->record();
  const std::uint64_t size = co_await size_for(stub, offset + count);
  vfs::ReadResult out;
  out.eof = offset >= size;
  if (out.eof || count == 0) co_return std::move(out);
  const std::vector<Piece> pieces =
      pieces_of(record.striping, offset, std::min<std::uint64_t>(count, size - offset));
  if (any_left_out(pieces)) co_await base::fail(vfs::Error::delay);
  std::vector<vfs::VfsOp<ObjectRead>> ops;
  ops.reserve(pieces.size());
  for (const Piece& piece : pieces)
    ops.push_back(source_.parts_.calls.read(record.servers[piece.range.index], key(piece.range.index),
                                            piece.range.offset,
                                            static_cast<std::uint32_t>(piece.range.length)));
  const auto results = co_await together(std::move(ops));
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const base::Result<void, vfs::Error> added =
        append_piece(out.data, pieces[i].range, results[i], memory.cursor);
    if (added) continue;
    // What came before is what there is for now.
    if (out.data.empty()) co_await base::Result<void, vfs::Error>(added);
    break;
  }
  out.eof = offset + out.data.size() >= size;
  source_.counters_.moved(InBand::read, out.data.size());
  co_return std::move(out);
}

// A server that has missed a truncation is told of it before it has contact; a call of ours may be before
// that.
bool StripedContent::any_left_out(const std::vector<Piece>& pieces) const {
  const std::set<std::uint32_t> left_out = source_.parts_.truncations.left_out(object_);
  return std::ranges::any_of(pieces,
                             [&](const Piece& piece) { return left_out.contains(piece.range.index); });
}

// Behind the end of an object, and before that of the file, there are zeros.
base::Result<void, vfs::Error> StripedContent::append_piece(io::Payload& out, const pnfs::ObjectRange& range,
                                                            const base::Result<ObjectRead, vfs::Error>& read,
                                                            io::SlabCursor& cursor) {
  if (!read) return base::fail(error_of_object(read.error()));
  const std::uint64_t got = std::min<std::uint64_t>(read->data.size(), range.length);
  const std::uint64_t there = read->end > range.offset ? read->end - range.offset : 0;
  if (got < std::min(there, range.length)) return base::fail(vfs::Error::delay);
  if (range.length > got) {
    io::Payload zeros;
    if (!append_zeros(zeros, range.length - got, cursor)) return base::fail(vfs::Error::delay);
    out.append(read->data.slice(0, got));
    out.append(zeros);
  } else {
    out.append(read->data.slice(0, got));
  }
  return {};
}

vfs::VfsOp<vfs::WriteResult> StripedContent::write(vfs::Stub& stub, const vfs::Credentials& who,
                                                   std::uint64_t offset, const io::Payload& data,
                                                   vfs::Stability stability) {
  const bool holds = source_.holds_layout(file(), who.holder);
  source_.counters_.called(InBand::write, who.protocol, holds);
  if (holds) holders().note_in_band(who.holder, source_.parts_.grants.last());
  const Changes::Hold change = calls().changes.begin(source_.parts_.clock.now());
  Failed failed;
  auto done = co_await write_in_turn(stub, offset, data, stability, failed).as_result();
  co_return co_await outlast(failed, std::move(done));
}

vfs::VfsOp<> StripedContent::keep_growing() {
  source_.parts_.dirty.put(object_, file());
  return source_.parts_.dirty.keep(object_);
}

bool StripedContent::changing() const {
  const Calls* const made = calls_.load(std::memory_order_acquire);
  return made != nullptr && made->changes.any_before(base::TimePoint::max());
}

bool StripedContent::change_unanswered() const {
  const Calls* const made = calls_.load(std::memory_order_acquire);
  return made != nullptr && made->changes.any_before(source_.parts_.clock.now() - slow_change);
}

vfs::VfsOp<> StripedContent::outlast(pnfs::ServerNumber server) {
  return source_.parts_.calls.outlast(server);
}

vfs::VfsOp<vfs::WriteResult> StripedContent::write_in_turn(vfs::Stub& stub, std::uint64_t offset,
                                                           const io::Payload& data, vfs::Stability stability,
                                                           Failed& failed) {
  const Turns::Hold hold = co_await enter(stub);
  const pnfs::LayoutRecord record = this->record();
  if (!base::end_of<std::uint64_t>(offset, data.size(), pnfs::Striping::offset_max))
    co_await base::fail(vfs::Error::fbig);
  if (data.empty()) co_return vfs::WriteResult{0, stability, verifier_of(record, {})};
  const vfs::Attributes now = co_await stub.attributes();
  const std::vector<Piece> pieces = pieces_of(record.striping, offset, data.size());
  if (any_left_out(pieces)) co_await base::fail(vfs::Error::delay);
  if (offset + data.size() > now.size) co_await keep_growing();
  // The servers that nobody asks now: as they were before the first byte was written.
  const std::uint32_t width = record.striping.width;
  SeenVerifiers seen(width);
  for (std::uint32_t i = 0; i < width; ++i) seen[i] = {source_.parts_.servers.verifier_of(record.servers[i])};
  std::vector<vfs::VfsOp<ObjectWritten>> ops;
  ops.reserve(pieces.size());
  for (const Piece& piece : pieces) {
    const ObjectWrite what{key(piece.range.index), piece.range.offset, stability, now.uid, now.gid};
    ops.push_back(source_.parts_.calls.write(record.servers[piece.range.index], what,
                                             data.slice(piece.file_offset - offset, piece.range.length)));
  }
  const auto results = co_await together(std::move(ops));
  for (std::size_t i = 0; i < results.size(); ++i)
    if (!results[i]) failed.push_back(record.servers[pieces[i].range.index]);
  Written written = sum_of(pieces, width, results);
  note_verifiers(record, written.seen);
  for (std::uint32_t i = 0; i < width; ++i)
    if (!written.seen[i].empty()) seen[i] = std::move(written.seen[i]);
  // Of what lies behind the first that failed nobody is told, and it may be there.
  if (written.failed) note_behind();
  if (written.count == 0) co_await base::fail(written.failed.value_or(vfs::Error::io));
  const base::Result<void, vfs::Error> raised =
      co_await raise(stub, offset + written.count, true).as_result();
  if (!raised) note_behind();
  co_await base::Result<void, vfs::Error>(raised);
  source_.counters_.moved(InBand::write, written.count);
  // A stable write has a size that a crash does not take away.
  source_.parts_.dirty.put(object_, file());
  if (written.committed != vfs::Stability::unstable) co_await source_.parts_.dirty.keep(object_);
  co_return vfs::WriteResult{written.count, written.committed, verifier_of(record, seen)};
}

StripedContent::Written StripedContent::sum_of(
    const std::vector<Piece>& pieces, std::uint32_t width,
    const std::vector<base::Result<ObjectWritten, vfs::Error>>& results) {
  Written out;
  out.seen.resize(width);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const pnfs::ObjectRange& range = pieces[i].range;
    if (!results[i]) {
      if (!out.failed) out.failed = error_of_object(results[i].error());
      continue;
    }
    std::vector<vfs::Verifier>& seen = out.seen[range.index];
    if (std::ranges::find(seen, results[i]->verifier) == seen.end()) seen.push_back(results[i]->verifier);
    if (out.failed) continue;
    const auto count = static_cast<std::uint32_t>(std::min<std::uint64_t>(results[i]->count, range.length));
    out.count += count;
    out.committed = std::min(out.committed, results[i]->committed);
    if (count < range.length) out.failed = vfs::Error::delay;
  }
  return out;
}

void StripedContent::note_verifiers(const pnfs::LayoutRecord& record, const SeenVerifiers& seen) const {
  for (std::size_t i = 0; i < record.servers.size() && i < seen.size(); ++i)
    if (!seen[i].empty()) source_.parts_.servers.saw(record.servers[i], seen[i].back());
}

vfs::VfsOp<vfs::Verifier> StripedContent::commit(vfs::Stub& /*stub*/, const vfs::Credentials& /*who*/,
                                                 std::uint64_t /*offset*/, std::uint32_t /*count*/) {
  source_.counters_.called(InBand::commit);
  const pnfs::LayoutRecord record = this->record();
  std::vector<vfs::VfsOp<vfs::Verifier>> ops;
  ops.reserve(record.servers.size());
  for (std::uint32_t i = 0; i < record.servers.size(); ++i)
    ops.push_back(source_.parts_.calls.commit(record.servers[i], key(i)));
  const auto results = co_await together(std::move(ops));
  SeenVerifiers seen(results.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!results[i]) co_await base::fail(error_of_object(results[i].error()));
    seen[i] = {*results[i]};
  }
  note_verifiers(record, seen);
  co_await source_.parts_.dirty.keep(object_);
  co_return verifier_of(record, seen);
}

}  // namespace braid::pnfs_mds
