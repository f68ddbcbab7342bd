// The procedures that a client calls most allocate nothing once they have run a few times.
#include <atomic>
#include <cstdlib>
#include <new>
#include <optional>
#include <string>

#include "tests/unit/nfs3/harness.h"

namespace {

std::atomic<std::uint64_t> allocations{0};

}  // namespace

void* operator new(std::size_t bytes) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  void* memory = std::malloc(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace braid::nfs3::test {
namespace {

using enum NFS_V3_procedure;

// A file system that has everything at hand, as one with warm caches.
class WarmFileSystem final : public MemoryFileSystem {
 public:
  WarmFileSystem(Storage& storage, Recorder& recorder, io::SlabPool& pool)
      : MemoryFileSystem(storage, recorder), file_(root()), cursor_(pool) {
    data_ = io::Payload(*cursor_.carve(4096));
  }
  vfs::VfsOp<vfs::FileRef> resolve(base::BytesView) override { return file_; }
  vfs::VfsOp<vfs::Attributes> getattr(const vfs::FileRef&) override { return attributes_; }
  vfs::VfsOp<vfs::Found> lookup(const vfs::Credentials&, const vfs::FileRef&, std::string_view) override {
    return vfs::Found{file_, attributes_};
  }
  vfs::VfsOp<std::uint32_t> access(const vfs::Credentials&, const vfs::FileRef&, std::uint32_t wanted,
                                   std::optional<vfs::Attributes>& now) override {
    now = attributes_;
    return wanted;
  }
  vfs::Borrowed borrow(const vfs::Credentials&, const vfs::FileRef& file) override {
    return vfs::Borrowed(std::in_place_type<Lent>, *this, file);
  }

 private:
  class Lent final : public vfs::OpenFile {
   public:
    Lent(WarmFileSystem& home, const vfs::FileRef& file) : home_(home), file_(file) {}
    [[nodiscard]] vfs::FileRef file() const override { return file_; }
    [[nodiscard]] vfs::OpenAccess access() const override { return vfs::OpenAccess::both; }
    vfs::VfsOp<vfs::ReadResult> read(std::uint64_t, std::uint32_t, vfs::ReadMemory) override {
      return vfs::ReadResult{home_.data_, false, home_.attributes_};
    }
    vfs::VfsOp<vfs::WriteResult> write(const vfs::Credentials&, std::uint64_t, const io::Payload& data,
                                       vfs::Stability stability, vfs::Wcc* wcc) override {
      *wcc = {vfs::Before{}, home_.attributes_};
      return vfs::WriteResult{static_cast<std::uint32_t>(data.size()), stability, {}};
    }

   private:
    WarmFileSystem& home_;
    const vfs::FileRef& file_;
  };

  vfs::FileRef file_;
  vfs::Attributes attributes_;
  io::SlabCursor cursor_;
  io::Payload data_;
};

class Allocations : public Nfs3Test {
 protected:
  Allocations() {
    warm_ = std::make_shared<WarmFileSystem>(*storage_, recorder_, pool_);
    change_export([&](vfs::Export& it) { it.file_system = warm_; });
  }
  ~Allocations() override { withdraw_exports(); }

  // Allocations of one call, the harness's own left out.
  std::uint64_t allocations_of(NFS_V3_procedure procedure, base::BytesView args) {
    class Reply final : public rpc::Reply {
     public:
      explicit Reply(io::SlabCursor& cursor) : encoder_(cursor) {}
      xdr::Encoder& begin() override { return encoder_; }

     private:
      xdr::Encoder encoder_;
    };
    const auto& row = service_->program().versions.front().procedures[static_cast<std::size_t>(procedure)];
    std::uint64_t spent = 0;
    for (int i = 0; i < 3; ++i) {
      rpc::Call call(payload_of(args), {}, cursor_);
      call.auth = auth_;
      Reply reply(cursor_);
      const std::uint64_t before = allocations.load();
      {
        auto op = row.handler(*service_, call, reply);
        op.start({});
        EXPECT_EQ(*op.result(), rpc::Answer::success);
        EXPECT_EQ(reply.status, 0U);
      }
      spent = allocations.load() - before;
    }
    return spent;
  }
  diropargs3 name_{root_fh(), "name"};
  std::shared_ptr<WarmFileSystem> warm_;
};

TEST_F(Allocations, the_counter_counts) {
  const std::uint64_t before = allocations.load();
  const auto held = std::make_unique<std::string>(1000, 'x');
  EXPECT_EQ(allocations.load() - before, 2U);
}
TEST_F(Allocations, none_per_null) { EXPECT_EQ(allocations_of(NFSPROC3_NULL, {}), 0U); }
TEST_F(Allocations, none_per_getattr) {
  EXPECT_EQ(allocations_of(NFSPROC3_GETATTR, encoded(GETATTR3args{root_fh()})), 0U);
}
TEST_F(Allocations, none_per_lookup) {
  EXPECT_EQ(allocations_of(NFSPROC3_LOOKUP, encoded(LOOKUP3args{name_})), 0U);
}
TEST_F(Allocations, none_per_access) {
  EXPECT_EQ(allocations_of(NFSPROC3_ACCESS, encoded(ACCESS3args{root_fh(), 1})), 0U);
}
TEST_F(Allocations, none_per_read) {
  EXPECT_EQ(allocations_of(NFSPROC3_READ, encoded(READ3args{root_fh(), 0, 4096})), 0U);
}
TEST_F(Allocations, none_per_write) {
  const base::Bytes data(4096);
  const WRITE3args args{root_fh(), 0, 4096, stable_how::UNSTABLE, payload_of(data)};
  EXPECT_EQ(allocations_of(NFSPROC3_WRITE, encoded(args)), 0U);
}

}  // namespace
}  // namespace braid::nfs3::test
