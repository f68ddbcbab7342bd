#include "fake_content.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "io/reactor.h"

namespace braid::vfs {
namespace {

// Lets others run, on a reactor.
VfsOp<> linger(const FakeSource& source) {
  if (!source.slow.load() || io::Reactor::current() == nullptr) co_return;
  (void)co_await io::Reactor::current()->sleep(std::chrono::milliseconds(2)).as_result();
}

}  // namespace

ContentSource& FakeContent::source() const { return source_; }

void FakeContent::put(std::uint64_t offset, std::string_view data) {
  bytes_.with([&](std::string& own) {
    if (own.size() < offset + data.size()) own.resize(offset + data.size());
    std::ranges::copy(data, own.begin() + static_cast<std::ptrdiff_t>(offset));
  });
}

VfsOp<> FakeContent::put_size(Stub& stub, std::uint64_t size) {
  SetAttributes set;
  set.size = size;
  set.mtime.how = SetTime::How::server;
  co_await stub.put_size_and_times(set);
}

bool FakeContent::locate(std::uint64_t /*offset*/, std::uint32_t /*count*/, const Look& look,
                         Located& where) {
  if (slices.empty()) return false;
  const auto inode = look();
  if (!inode) return false;
  where.slices = slices;
  where.size = inode->size;
  return true;
}

VfsOp<ReadResult> FakeContent::read(Stub& /*stub*/, std::uint64_t offset, std::uint32_t count,
                                    ReadMemory memory) {
  ++reads;
  if (punched.load()) ++source_.wrong;
  co_await linger(source_);
  const std::string all = bytes();
  ReadResult out;
  for (std::uint64_t at = offset; at < std::min<std::uint64_t>(all.size(), offset + count);) {
    const std::uint64_t end = std::min<std::uint64_t>(all.size(), offset + count);
    const std::size_t piece = std::min<std::uint64_t>(end - at, io::small_slab_bytes);
    auto range = memory.cursor.carve(piece);
    if (!range) co_await base::fail(Error::delay);
    std::ranges::copy(base::bytes_of(std::string_view(all).substr(at, piece)), range->writable().begin());
    out.data.append(std::move(*range));
    at += piece;
  }
  out.eof = offset + out.data.size() >= all.size();
  if (punched.load()) ++source_.wrong;
  co_return std::move(out);
}

VfsOp<WriteResult> FakeContent::write(Stub& stub, const Credentials& /*who*/, std::uint64_t offset,
                                      const io::Payload& data, Stability stability) {
  if (punched.load()) ++source_.wrong;
  if (data.piped()) ++source_.wrong;
  co_await linger(source_);
  if (source_.before_write) source_.before_write();
  std::string text(data.size(), '\0');
  data.in_memory().value().copy_to(0, std::as_writable_bytes(std::span(text)));
  put(offset, text);
  co_await put_size(stub, bytes().size());
  co_return WriteResult{static_cast<std::uint32_t>(data.size()), stability, verifier};
}

VfsOp<Verifier> FakeContent::commit(Stub& stub, const Credentials& /*who*/, std::uint64_t /*offset*/,
                                    std::uint32_t /*count*/) {
  ++commits;
  if (source_.in_commit) source_.in_commit(stub);
  return Verifier(verifier);
}

VfsOp<> FakeContent::resize(Stub& stub, const Credentials& /*who*/, std::uint64_t size) {
  bytes_.with([&](std::string& own) { own.resize(size); });
  co_await put_size(stub, size);
}

VfsOp<SeekResult> FakeContent::seek(Stub& /*stub*/, std::uint64_t offset, SeekTo what,
                                    std::uint64_t /*until*/) {
  const std::uint64_t size = bytes().size();
  if (offset >= size) return base::fail(Error::nxio);
  return what == SeekTo::data ? SeekResult{offset, false} : SeekResult{size, true};
}

VfsOp<> FakeContent::allocate(Stub& stub, const Credentials& /*who*/, std::uint64_t offset,
                              std::uint64_t length) {
  bytes_.with([&](std::string& own) { own.resize(std::max<std::size_t>(own.size(), offset + length)); });
  co_await put_size(stub, bytes().size());
}

VfsOp<> FakeContent::deallocate(Stub& /*stub*/, const Credentials& /*who*/, std::uint64_t offset,
                                std::uint64_t length) {
  bytes_.with([&](std::string& own) {
    for (std::uint64_t at = offset; at < std::min<std::uint64_t>(own.size(), offset + length); ++at)
      own[at] = '\0';
  });
  return io::ready_op<Error>();
}

VfsOp<> FakeContent::clone_from(Stub& stub, const Credentials& who, const Range& from,
                                std::uint64_t to_offset) {
  (void)co_await copy_from(stub, who, from, to_offset);
}

VfsOp<std::uint64_t> FakeContent::copy_from(Stub& stub, const Credentials& /*who*/, const Range& from,
                                            std::uint64_t to_offset) {
  if (!source_.copies) co_await base::fail(Error::notsupp);
  const std::string all = static_cast<const FakeContent&>(from.content).bytes();
  if (from.offset >= all.size()) co_return std::uint64_t{0};
  const std::string piece = all.substr(from.offset, from.length == 0 ? all.npos : from.length);
  put(to_offset, piece);
  co_await put_size(stub, bytes().size());
  source_.note("copied");
  co_return std::uint64_t{piece.size()};
}

VfsOp<> FakeContent::settle(Stub& stub) {
  ++settles;
  co_await linger(source_);
  unsettled_.store(false);
  co_await put_size(stub, bytes().size());
}

std::shared_ptr<FakeContent> FakeSource::of(std::uint64_t fileid) const {
  return contents_.with([&](const auto& contents) {
    const auto found = contents.find(fileid);
    return found == contents.end() ? nullptr : found->second;
  });
}

VfsOp<ContentRef> FakeSource::load(Stub& stub, base::BytesView record) {
  ++loads;
  co_await linger(*this);
  if (loads_fail) co_await base::fail(load_error);
  if (record.size() != 4) co_await base::fail(Error::io);
  const ContentRef found = of(stub.fileid());
  if (found == nullptr) co_await base::fail(Error::io);
  co_return found;
}

VfsOp<ContentRef> FakeSource::place(Stub& stub, const ContentRef& former, const PlacementHint& hint) {
  const int fd = co_await stub.descriptor(OpenAccess::both);
  if (former != nullptr) {
    auto& placed = static_cast<FakeContent&>(*former);
    const std::string bytes = placed.bytes();
    (void)!::pwrite(fd, bytes.data(), bytes.size(), 0);
    placed.punched.store(true);
    co_await stub.erase_record();
    contents_.with([&](auto& contents) { contents.erase(stub.fileid()); });
    co_return ContentRef();
  }
  const Attributes now = co_await stub.attributes();
  std::string bytes(now.size, '\0');
  (void)!::pread(fd, bytes.data(), bytes.size(), 0);
  if (hint.bytes > 0)
    note(fmt::format("placed for {}+{}{}", hint.offset, hint.bytes, hint.shares ? " of another" : ""));
  auto content = std::make_shared<FakeContent>(*this, std::move(bytes));
  contents_.with([&](auto& contents) { contents[stub.fileid()] = content; });
  co_await stub.put_record(base::bytes_of(std::string_view("here")));
  // Nobody may read it any more: what is left are zeros.
  SetAttributes set;
  set.size = 0;
  co_await stub.put_size_and_times(set);
  set.size = now.size;
  co_await stub.put_size_and_times(set);
  co_return ContentRef(content);
}

VfsOp<> FakeSource::removing(Stub& stub, Content& /*content*/) {
  if (removing_error) return base::fail(*removing_error);
  note(fmt::format("removing {}", stub.fileid()));
  return io::ready_op<Error>();
}

void FakeSource::gone(ContentRef content) {
  note(fmt::format("gone {}", static_cast<const FakeContent&>(*content).bytes()));
}

VfsOp<> FakeSource::adjust(FileSystemStatus& status) {
  status.bytes_total = 777;
  return io::ready_op<Error>();
}

}  // namespace braid::vfs
