#include "tests/unit/nfs3/harness.h"

#include <algorithm>
#include <cstring>
#include <ranges>

namespace braid::nfs3::test {
namespace {

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

io::Payload cut(base::BytesView bytes, std::size_t piece_bytes, io::SlabPool& pool) {
  io::Payload payload;
  while (!bytes.empty()) {
    io::SlabCursor cursor(pool);
    const std::size_t step = std::min({piece_bytes, bytes.size(), io::small_slab_bytes});
    auto range = cursor.carve(step);
    std::memcpy(range->writable().data(), bytes.data(), step);
    payload.append(std::move(*range));
    bytes = bytes.subspan(step);
  }
  return payload;
}

base::Bytes bytes_of(const io::Payload& payload) {
  base::Bytes bytes(payload.size());
  payload.in_memory().value().copy_to(0, bytes);
  return bytes;
}

}  // namespace

base::Bytes hex(std::string_view text) {
  base::Bytes bytes;
  int high = -1;
  for (const char c : text) {
    const int digit = digit_of(c);
    if (digit < 0) continue;
    if (high < 0) {
      high = digit;
    } else {
      bytes.push_back(static_cast<std::byte>(high * 16 + digit));
      high = -1;
    }
  }
  EXPECT_EQ(high, -1) << "an odd number of digits";
  return bytes;
}

std::string to_hex(base::BytesView bytes) {
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i > 0 && i % 4 == 0) text += i % 32 == 0 ? '\n' : ' ';
    constexpr std::string_view digits = "0123456789abcdef";
    const auto value = std::to_integer<std::size_t>(bytes[i]);
    text += digits[value / 16];
    text += digits[value % 16];
  }
  return text;
}

std::string handle(const std::string& fileid) {
  const vfs::FileHandle made = Storage(vfs::ExportId{7}).handle_of(std::stoul(fileid, nullptr, 16));
  return "00000018 01000001 00000007" + to_hex(made.view().subspan(8, 8)) + "00000000" + fileid;
}

base::Bytes RunningCall::Reply::take() {
  if (!encoder_) return {};
  return bytes_of(encoder_->finish().bytes);
}

RunningCall::RunningCall(const rpc::Program& program, std::uint32_t procedure, base::BytesView args,
                         const rpc::Auth& auth, const vfs::Address& client, io::SlabPool& pool,
                         std::size_t fragment_bytes)
    : cursor_(pool), reply_(cursor_) {
  rpc::PeerAddress peer;
  peer.bytes = client.bytes;
  call_ = std::make_unique<rpc::Call>(cut(args, fragment_bytes, pool), peer, cursor_);
  call_->auth = auth;
  op_.emplace(program.versions.front().procedures[procedure].handler(*program.service, *call_, reply_));
  op_->start({});
}

Answered RunningCall::answered() {
  if (!done()) {
    ADD_FAILURE() << "the call still runs";
    return {};
  }
  return {*op_->result(), reply_.status, reply_.take()};
}

Nfs3Test::Nfs3Test() {
  io::ReadyQueue::make_current(&queue_);
  main_.id = main_id;
  main_.path = "/";
  main_.file_system = fs_;
  other_.id = other_id;
  other_.path = "/other";
  other_.file_system = std::make_shared<MemoryFileSystem>(*other_storage_, other_recorder_);
  publish();
  service_ = std::make_unique<Nfs3Service>(exports_, options_);
  rpc::AuthSys sys;
  sys.uid = 1000;
  sys.gid = 100;
  sys.group_count = 2;
  sys.group_list = {20, 30};
  auth_ = sys;
}

void Nfs3Test::empty_main() {
  fs_.reset();
  change_export([](vfs::Export& it) { it.file_system.reset(); });
  storage_.emplace(main_id);
  recorder_.park(false);
  fs_ = std::make_shared<MemoryFileSystem>(*storage_, recorder_);
  change_export([this](vfs::Export& it) { it.file_system = fs_; });
}

void Nfs3Test::publish() {
  exports_.replace(std::make_shared<const vfs::ExportTable>(std::vector<vfs::Export>{main_, other_}));
}

std::unique_ptr<RunningCall> Nfs3Test::start(NFS_V3_procedure procedure, base::BytesView args) {
  return std::make_unique<RunningCall>(service_->program(), static_cast<std::uint32_t>(procedure), args,
                                       auth_, client_, pool_, fragment_bytes_);
}

Answered Nfs3Test::call(NFS_V3_procedure procedure, base::BytesView args) {
  return start(procedure, args)->answered();
}

Answered Nfs3Test::mount_call(MOUNT_V3_procedure procedure, base::BytesView args) {
  RunningCall running(mounts_.program(), static_cast<std::uint32_t>(procedure), args, auth_, client_, pool_,
                      fragment_bytes_);
  return running.answered();
}

void Nfs3Test::expect_exchange(NFS_V3_procedure procedure, std::string_view request, std::string_view reply) {
  const Answered answered = call(procedure, hex(request));
  EXPECT_EQ(answered.answer, rpc::Answer::success);
  EXPECT_EQ(to_hex(answered.results), to_hex(hex(reply)));
}

io::Payload Nfs3Test::payload_of(base::BytesView bytes) { return cut(bytes, io::small_slab_bytes, pool_); }

const Recorded* Nfs3Test::last(std::string_view operation) const {
  for (const Recorded& recorded : std::views::reverse(recorder_.calls)) {
    if (recorded.operation == operation) return &recorded;
  }
  return nullptr;
}

std::size_t Nfs3Test::count(std::string_view operation) const {
  return static_cast<std::size_t>(std::ranges::count(recorder_.calls, operation, &Recorded::operation));
}

}  // namespace braid::nfs3::test
