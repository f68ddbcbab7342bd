// GETATTR as Linux clients send it allocates nothing once it has run a few times.
#include <atomic>
#include <cstdlib>
#include <new>

#include "io/ready_queue.h"
#include "tests/unit/nfs4/support/world.h"

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

namespace braid::nfs4::test {
namespace {

using enum nfs_opnum4;

class Allocations : public ::testing::Test {
 protected:
  Allocations() {
    world_.write_local("file", "12345");
    Request find(0);
    find.add(OP_PUTROOTFH).add(OP_LOOKUP, LOOKUP4args{"file"}).add(OP_GETFH);
    found_ = world_.send(find);
    EXPECT_EQ(found_.status_of(OP_PUTROOTFH), nfsstat4::NFS4_OK);
    EXPECT_EQ(found_.status_of(OP_LOOKUP), nfsstat4::NFS4_OK);
    handle_ = found_.result<GETFH4res>(OP_GETFH).resok4()->object;
    io::ReadyQueue::make_current(&queue_);
  }
  ~Allocations() override { io::ReadyQueue::make_current(nullptr); }

  // Of one COMPOUND, what it takes to send it left out.
  std::uint64_t allocations_of(const Request& request) {
    class Reply final : public rpc::Reply {
     public:
      explicit Reply(io::SlabCursor& cursor) : encoder_(cursor) {}
      xdr::Encoder& begin() override { return encoder_; }

     private:
      xdr::Encoder encoder_;
    };
    const rpc::Program program = world_.engine().program();
    rpc::Call call(request.encoded(), {}, cursor_);
    call.auth = rpc::AuthSys{};
    call.program = NFS4_PROGRAM;
    call.version = NFS_V4;
    call.procedure = 1;
    Reply reply(cursor_);
    const std::uint64_t before = allocations.load();
    {
      auto op = program.versions.front().procedures[1].handler(*program.service, call, reply);
      op.start({});
      EXPECT_TRUE(op.done() && op.result());
    }
    return allocations.load() - before;
  }

  World world_;
  Reply found_;
  nfs_fh4 handle_;
  io::ReadyQueue queue_;
  io::SlabCursor cursor_{world_.slabs()};
};

TEST_F(Allocations, getattr_allocates_nothing) {
  // What Linux asks for: type, change, size, fsid, fileid, mode, numlinks, owners, rawdev, space_used, times
  // and mounted_on_fileid.
  constexpr std::array<std::uint32_t, 2> usual{0x0010011a, 0x00b0a23a};
  Request without(0);
  without.add(OP_PUTFH, PUTFH4args{handle_});
  Request with(0);
  with.add(OP_PUTFH, PUTFH4args{handle_}).add(OP_GETATTR, GETATTR4args{usual});
  for (int warm = 0; warm < 10; ++warm) (void)allocations_of(with);
  EXPECT_EQ(allocations_of(with), allocations_of(without));
}

}  // namespace
}  // namespace braid::nfs4::test
