// A file system in memory for tests of it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "io/slab.h"
#include "tests/unit/rpc/loop.h"
#include "vfs/memory/file_system.h"
#include "vfs/memory/objects.h"
#include "vfs/memory/recorder.h"

namespace braid::vfs::memory::test {

class MemoryTest : public testing::Test {
 protected:
  static constexpr std::uint64_t top = Storage::root_id;

  // Runs a coroutine, which gives an io::Op<>, on a reactor.
  template <class F>
  void run(F body) {
    rpc::test::Loop loop(clock_);
    loop.run(body);
  }
  // One operation that must not wait for anything.
  template <class T>
  static base::Result<T, Error> now(VfsOp<T> op) {
    op.start({});
    EXPECT_TRUE(op.done());
    return std::move(op.result());
  }
  std::shared_ptr<MemoryFileSystem> mount(std::vector<ContentSource*> sources = {}) {
    return std::make_shared<MemoryFileSystem>(storage_, recorder_, std::move(sources));
  }
  FileRef at(MemoryFileSystem& fs, std::uint64_t id) {
    return *now(fs.resolve(storage_.handle_of(id).view()));
  }
  io::Payload payload(std::string_view text) {
    if (text.empty()) return {};
    auto range = cursor_.carve(text.size());
    std::memcpy(range->writable().data(), text.data(), text.size());
    return io::Payload(std::move(*range));
  }
  static std::string text(const io::Payload& data) {
    std::string out(data.size(), '\0');
    data.in_memory().value().copy_to(0, std::as_writable_bytes(std::span(out)));
    return out;
  }
  VfsOp<std::string> read(std::shared_ptr<MemoryFileSystem> fs, FileRef file, std::uint64_t offset = 0,
                          std::uint32_t count = 100) {
    const Borrowed io = fs->borrow(nobody_, file);
    const ReadMemory memory(cursor_);
    const ReadResult out = co_await io->read(offset, count, memory);
    co_return text(out.data);
  }
  VfsOp<WriteResult> write(std::shared_ptr<MemoryFileSystem> fs, FileRef file, std::uint64_t offset,
                           std::string bytes) {
    const Borrowed io = fs->borrow(nobody_, file);
    const io::Payload data = payload(bytes);
    co_return co_await io->write(nobody_, offset, data, Stability::file_sync, nullptr);
  }
  std::size_t calls(std::string_view operation) const {
    return static_cast<std::size_t>(std::ranges::count(recorder_.calls, operation, &Recorded::operation));
  }

  const base::SystemClock clock_;
  const Credentials nobody_;
  io::SlabPool pool_{{.bytes_max = 8 * io::region_bytes, .huge_pages = false}};
  io::SlabCursor cursor_{pool_};
  Storage storage_{ExportId{7}};
  Recorder recorder_;
  Wcc wcc_;
};

}  // namespace braid::vfs::memory::test
