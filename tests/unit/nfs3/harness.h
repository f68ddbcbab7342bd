// Drives procedures without a network: arguments as bytes in, results as bytes out.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/ready_queue.h"
#include "io/slab.h"
#include "nfs3/mount/service.h"
#include "nfs3/mount3.x.h"
#include "nfs3/nfs3.x.h"
#include "nfs3/service.h"
#include "vfs/export.h"
#include "vfs/memory/file_system.h"
#include "vfs/memory/recorder.h"

namespace braid::nfs3::test {

using vfs::memory::MemoryFileSystem;
using vfs::memory::Recorded;
using vfs::memory::Recorder;
using vfs::memory::Storage;

// "00000001 6162" -> 6 bytes; anything but hexadecimal digits is ignored.
base::Bytes hex(std::string_view text);
std::string to_hex(base::BytesView bytes);
// The nfs_fh3 of a file of export 7 in hexadecimal: length 24, then version, flags, kernel type; export; what
// the storage signs it with; fileid (8 digits).
std::string handle(const std::string& fileid);

struct Answered {
  rpc::Answer answer = rpc::Answer::system_err;
  std::uint32_t status = 0;  // as reported to metrics
  base::Bytes results;
};

// One call that may still be running.
class RunningCall {
 public:
  RunningCall(const rpc::Program& program, std::uint32_t procedure, base::BytesView args,
              const rpc::Auth& auth, const vfs::Address& client, io::SlabPool& pool,
              std::size_t fragment_bytes);
  [[nodiscard]] bool done() const { return op_->done(); }
  [[nodiscard]] Answered answered();

 private:
  class Reply final : public rpc::Reply {
   public:
    explicit Reply(io::SlabCursor& cursor) : cursor_(cursor) {}
    xdr::Encoder& begin() override {
      EXPECT_FALSE(encoder_.has_value()) << "begin() is called once";
      return encoder_.emplace(cursor_);
    }
    base::Bytes take();

   private:
    io::SlabCursor& cursor_;
    std::optional<xdr::Encoder> encoder_;
  };

  io::SlabCursor cursor_;
  std::unique_ptr<rpc::Call> call_;
  Reply reply_;
  std::optional<io::Op<rpc::Answer>> op_;
};

// Two exports, "/" with id 7 and "/other" with id 8, and a caller with uid 1000 from 192.0.2.1.
class Nfs3Test : public ::testing::Test {
 protected:
  static constexpr vfs::ExportId main_id{7};
  static constexpr vfs::ExportId other_id{8};

  Nfs3Test();
  ~Nfs3Test() override { io::ReadyQueue::make_current(nullptr); }

  // Changes the first export for calls from now on.
  template <class F>
  void change_export(F&& change) {
    change(main_);
    publish();
  }
  // The first export is empty again.
  void empty_main();
  void withdraw_exports() {
    exports_.replace(std::make_shared<const vfs::ExportTable>(std::vector<vfs::Export>{}));
  }

  Answered call(NFS_V3_procedure procedure, base::BytesView args);
  std::unique_ptr<RunningCall> start(NFS_V3_procedure procedure, base::BytesView args);
  Answered mount_call(MOUNT_V3_procedure procedure, base::BytesView args);
  // Calls and compares whole results.
  void expect_exchange(NFS_V3_procedure procedure, std::string_view request, std::string_view reply);

  // Arguments encoded by the generated code.
  template <class Args>
  base::Bytes encoded(const Args& args) {
    xdr::Encoder out(cursor_);
    encode(out, args);
    const io::Payload message = out.finish().bytes;
    base::Bytes bytes(message.size());
    message.in_memory().value().copy_to(0, bytes);
    return bytes;
  }
  // Calls and decodes. The result's views live until the next ask().
  template <class Res, class Args>
  Res ask(NFS_V3_procedure procedure, const Args& args) {
    const Answered answered = call(procedure, encoded(args));
    EXPECT_EQ(answered.answer, rpc::Answer::success);
    return decoded<Res>(answered);
  }
  template <class Res>
  Res decoded(const Answered& answered) {
    results_ = payload_of(answered.results);
    arena_ = std::make_unique<xdr::Arena>();
    xdr::Decoder in(results_, *arena_);
    Res res;
    EXPECT_TRUE(decode(in, res));
    EXPECT_EQ(in.remaining(), 0U);
    EXPECT_EQ(static_cast<std::uint32_t>(res.status), answered.status);
    return res;
  }
  io::Payload payload_of(base::BytesView bytes);
  nfs_fh3 fh(std::uint64_t fileid) { return keep(storage_->handle_of(fileid)); }
  nfs_fh3 keep(const vfs::FileHandle& handle) {
    handles_.push_back(std::make_unique<vfs::FileHandle>(handle));
    return {handles_.back()->view()};
  }
  nfs_fh3 root_fh() { return fh(Storage::root_id); }
  // The last call of that name that reached the file system.
  const Recorded* last(std::string_view operation) const;
  std::size_t count(std::string_view operation) const;

  io::ReadyQueue queue_;
  io::SlabPool pool_{{.bytes_max = 16 * io::region_bytes, .huge_pages = false}};
  io::SlabCursor cursor_{pool_};
  std::optional<Storage> storage_{std::in_place, main_id};
  std::optional<Storage> other_storage_{std::in_place, other_id};
  Recorder recorder_;
  Recorder other_recorder_;
  std::shared_ptr<MemoryFileSystem> fs_ = std::make_shared<MemoryFileSystem>(*storage_, recorder_);
  vfs::Export main_;
  vfs::Export other_;
  vfs::Exports exports_{std::make_shared<const vfs::ExportTable>(std::vector<vfs::Export>{})};
  Nfs3Options options_;
  std::unique_ptr<Nfs3Service> service_;
  mount::MountService mounts_{exports_};
  rpc::Auth auth_;
  vfs::Address client_ = *vfs::Address::parse("192.0.2.1");
  std::size_t fragment_bytes_ = 65536;  // the arguments come cut into pieces of this size

 private:
  void publish();

  std::vector<std::unique_ptr<vfs::FileHandle>> handles_;
  io::Payload results_;
  std::unique_ptr<xdr::Arena> arena_;
};

}  // namespace braid::nfs3::test
