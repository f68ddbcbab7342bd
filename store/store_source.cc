#include "store/store_source.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "io/reactor.h"
#include "vfs/wire_handle.h"

namespace braid::store {
namespace {

// Memory for `bytes` of a READ; nothing if there is none now.
std::optional<std::vector<io::SlabRange>> memory_for(io::SlabCursor& cursor, std::size_t bytes) {
  std::vector<io::SlabRange> out;
  while (bytes > 0) {
    const std::size_t piece = std::min(bytes, io::large_slab_bytes);
    if (piece <= io::small_slab_bytes) {
      auto range = cursor.carve(piece);
      if (!range) return std::nullopt;
      out.push_back(std::move(*range));
    } else {
      auto slab = cursor.pool().acquire(io::SlabSize::large);
      if (!slab) return std::nullopt;
      out.push_back({std::move(*slab), 0, static_cast<std::uint32_t>(piece)});
    }
    bytes -= piece;
  }
  return out;
}

std::optional<KernelHandle> kernel_handle_of(const vfs::FileHandle& wire) {
  const vfs::HandleBody body = vfs::HandleCodec::body_of(wire.view());
  if (body.transient || body.bytes.size() > KernelHandle::bytes_max) return std::nullopt;
  KernelHandle out{.type = body.type, .size = static_cast<std::uint8_t>(body.bytes.size()), .bytes = {}};
  std::ranges::copy(body.bytes, out.bytes.begin());
  return out;
}

std::string_view text_of_refusal(base::Errno error) {
  if (error == base::errno_of(EBADMSG))
    return "its record is damaged, of another store, or was copied from another file";
  if (error == base::errno_of(ENOTSUP)) return "its record is of a later version of braid";
  return "its root cannot be read";
}

// Runs where it may block; where nobody has said where that is, on the calling thread. delay: not now.
template <class F>
vfs::VfsOp<std::invoke_result_t<F&>> on_pool(std::optional<io::BlockingGroup>& group, F function) {
  io::Reactor* const reactor = io::Reactor::current();
  if (!group || reactor == nullptr) co_return function();
  auto ran = co_await group->run(*reactor, io::BlockingReason::read, std::move(function));
  if (!ran) co_await base::fail(vfs::Error::delay);
  co_return std::move(*ran);
}

}  // namespace

vfs::ContentSource& SealedContent::source() const { return source_; }

vfs::VfsOp<vfs::ReadResult> SealedContent::read(vfs::Stub& stub, std::uint64_t offset, std::uint32_t count,
                                                vfs::ReadMemory memory) {
  const vfs::Attributes now = co_await stub.attributes();
  vfs::ReadResult out;
  out.eof = offset >= now.size;
  if (out.eof || count == 0) co_return std::move(out);
  const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(count, now.size - offset));
  auto ranges = memory_for(memory.cursor, wanted);
  if (!ranges) co_await base::fail(vfs::Error::delay);
  const int fd = co_await stub.descriptor(vfs::OpenAccess::read);
  const auto file = source_.store_.medium().file_of(fd);
  const auto fill = [&]() -> base::Result<void> {
    std::uint64_t at = offset;
    for (const io::SlabRange& range : *ranges) {
      if (auto got = file_->read(*file, at, range.writable()); !got) return got;
      at += range.length;
    }
    return {};
  };
  const base::Result<void> done = co_await on_pool(source_.group_, fill);
  if (!done) {
    base::log_event(base::Level::error, "store_read_failed", "fileid={} offset={} bytes={}: {}",
                    stub.fileid(), offset, wanted, base::message_of(done.error()));
    co_await base::fail(vfs::Error::io);
  }
  for (io::SlabRange& range : *ranges) out.data.append(std::move(range));
  out.eof = offset + wanted >= now.size;
  co_return std::move(out);
}

vfs::VfsOp<vfs::WriteResult> SealedContent::write(vfs::Stub& /*stub*/, const vfs::Credentials& /*who*/,
                                                  std::uint64_t /*offset*/, const io::Payload& /*data*/,
                                                  vfs::Stability /*stability*/) {
  return base::fail(vfs::Error::rofs);
}

// Nothing was written that could be lost.
vfs::VfsOp<vfs::Verifier> SealedContent::commit(vfs::Stub& /*stub*/, const vfs::Credentials& /*who*/,
                                                std::uint64_t /*offset*/, std::uint32_t /*count*/) {
  return vfs::VfsOp<vfs::Verifier>(write_verifier());
}

vfs::VfsOp<> SealedContent::resize(vfs::Stub& /*stub*/, const vfs::Credentials& /*who*/,
                                   std::uint64_t /*size*/) {
  return base::fail(vfs::Error::rofs);
}

vfs::VfsOp<vfs::SeekResult> SealedContent::seek(vfs::Stub& stub, std::uint64_t offset, vfs::SeekTo what,
                                                std::uint64_t until) {
  const vfs::Attributes now = co_await stub.attributes();
  if (offset >= now.size) co_await base::fail(vfs::Error::nxio);
  const int fd = co_await stub.descriptor(vfs::OpenAccess::read);
  const auto file = source_.store_.medium().file_of(fd);
  const std::uint64_t end = std::max(offset, std::min(until, now.size));
  const auto look = [&] { return file_->seek(*file, offset, what == vfs::SeekTo::data, end); };
  const base::Result<std::uint64_t> found = co_await on_pool(source_.group_, look);
  if (!found) co_await base::fail(vfs::Error::io);
  co_return vfs::SeekResult{*found, *found >= now.size};
}

void SealedContent::adjust(vfs::Attributes& attributes) const { attributes.space += file_->record().mapped; }

vfs::VfsOp<vfs::ContentRef> StoreSource::load(vfs::Stub& stub, base::BytesView record) {
  const auto handle = kernel_handle_of(stub.handle());
  if (!handle) {
    base::log_event(base::Level::error, "store_record_refused",
                    "fileid={}: the export has no lasting file handles; the file cannot be read",
                    stub.fileid());
    co_await base::fail(vfs::Error::io);
  }
  const auto open = [&] { return SealedFile::open(store_.chunks(), store_.keys(), *handle, record); };
  base::Result<std::shared_ptr<const SealedFile>> sealed = co_await on_pool(group_, open);
  if (!sealed) {
    base::log_event(base::Level::error, "store_record_refused", "fileid={}: {}; the file cannot be read",
                    stub.fileid(), text_of_refusal(sealed.error()));
    co_await base::fail(vfs::Error::io);
  }
  co_return std::make_shared<SealedContent>(*this, std::move(*sealed));
}

vfs::VfsOp<vfs::ContentRef> StoreSource::place(vfs::Stub& /*stub*/, const vfs::ContentRef& former,
                                               const vfs::PlacementHint& /*hint*/) {
  return vfs::VfsOp<vfs::ContentRef>(former);
}

vfs::VfsOp<> StoreSource::removing(vfs::Stub& /*stub*/, vfs::Content& /*content*/) {
  return io::ready_op<vfs::Error>();
}

}  // namespace braid::store
