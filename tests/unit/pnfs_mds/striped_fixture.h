// A cluster of servers in memory, and a file system in memory whose new files are striped over them.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/manual/manual_clock.h"
#include "io/slab.h"
#include "pnfs_mds/cluster.h"
#include "pnfs_mds/fake/objects.h"
#include "tests/unit/pnfs_mds/scratch.h"
#include "vfs/memory/file_system.h"
#include "vfs/memory/recorder.h"

namespace braid::pnfs_mds::test {

// Who has a layout for writing, of whatever file: nobody is asked for it.
class FakeLayouts final : public LayoutRecall {
 public:
  vfs::VfsOp<Pause> others(vfs::FileHandle /*file*/, vfs::LeaseHolder /*except*/) override {
    return vfs::VfsOp<Pause>(Pause());
  }
  [[nodiscard]] bool holds(const vfs::FileHandle& file, vfs::LeaseHolder who) const override {
    return handles(file, who).has_value();
  }
  [[nodiscard]] std::optional<pnfs::KeptHandles> handles(const vfs::FileHandle& /*file*/,
                                                         vfs::LeaseHolder who) const override {
    const auto found = known_.find(who);
    return found == known_.end() ? std::nullopt : std::optional(found->second);
  }
  // The client's tag is its number.
  void grant(vfs::LeaseHolder who, pnfs::GrantNumber number) {
    known_.try_emplace(who, pnfs::KeptHandles{pnfs::ClientTag(who.value()), number});
  }
  void take_back(vfs::LeaseHolder who) { known_.erase(who); }
  void clear() { known_.clear(); }

 private:
  std::map<vfs::LeaseHolder, pnfs::KeptHandles> known_;
};

class StripedTest : public ScratchTest {
 protected:
  static constexpr std::uint32_t unit = 64 * base::KiB;
  static constexpr std::uint64_t top = vfs::memory::Storage::root_id;

  StripedTest() {
    start();
    for (std::uint32_t number = 1; number <= 3; ++number) admit(number);
  }
  // As another process does, after this one has ended.
  void start(const StripePolicy& policy = {.unit = unit, .width = 3}) {
    fs_.reset();
    cluster_.reset();
    auto cluster = Cluster::open({.state_dir = path_, .secret_file = "", .policy = policy, .servers = {}},
                                 hand_clock_, objects_);
    cluster_ = std::move(*cluster);
    layouts_.clear();
    cluster_->source().set_layout_recall(layouts_);
    fs_ = std::make_shared<vfs::memory::MemoryFileSystem>(
        storage_, recorder_, std::vector<vfs::ContentSource*>{&cluster_->source()});
  }
  void admit(std::uint32_t number) {
    pnfs::ServerId id{};
    id[0] = static_cast<std::byte>(number);
    EXPECT_TRUE(now(cluster_->servers().admit(id, "ds" + std::to_string(number), {})));
    beat(number);
  }
  void beat(std::uint32_t number) {
    pnfs::ServerId id{};
    id[0] = static_cast<std::byte>(number);
    const ServerRoom room{base::GiB, base::GiB / 2, base::GiB / 2, 100};
    EXPECT_TRUE(now(cluster_->servers().heard(
        id, {.room = room, .load = 0, .verifier = objects_.verifier(pnfs::ServerNumber(number))})));
  }

  void beat_all() {
    for (std::uint32_t number = 1; number <= 3; ++number) beat(number);
  }

  std::uint64_t add(std::string_view name, std::string_view bytes = {}) {
    return storage_.add(top, name, vfs::FileType::regular, bytes);
  }
  vfs::FileRef file(std::string_view name) {
    return *now(fs_->resolve(storage_.handle_of(*storage_.find(top, name)).view()));
  }
  vfs::memory::Node& node(std::string_view name) { return storage_.node(*storage_.find(top, name)); }
  // Null: it is a plain one.
  StripedContent* content(std::string_view name) {
    const auto found = now(fs_->content(file(name)));
    return found ? cluster_->source().of(*found) : nullptr;
  }
  // The byte at `offset` of a file that has it.
  static char byte_at(std::uint64_t offset) { return static_cast<char>('a' + (offset / 1000) % 26); }
  static std::string pattern(std::uint64_t offset, std::size_t count) {
    std::string out(count, '\0');
    for (std::size_t i = 0; i < count; ++i) out[i] = byte_at(offset + i);
    return out;
  }
  io::Payload payload(std::string_view text) {
    io::Payload out;
    for (std::size_t at = 0; at < text.size(); at += io::small_slab_bytes) {
      const std::string_view piece = text.substr(at, io::small_slab_bytes);
      auto range = cursor_.carve(piece.size());
      std::ranges::copy(base::bytes_of(piece), range->writable().begin());
      out.append(std::move(*range));
    }
    return out;
  }
  vfs::VfsOp<vfs::WriteResult> write(std::string name, std::uint64_t offset, std::string bytes,
                                     vfs::Stability stability = vfs::Stability::unstable,
                                     vfs::LeaseHolder by = {}) {
    const vfs::FileRef at = file(name);
    const vfs::Borrowed io = fs_->borrow(nobody_, at);
    const io::Payload data = payload(bytes);
    vfs::Credentials who;
    who.holder = by;
    co_return co_await io->write(who, offset, data, stability, nullptr);
  }
  struct Bytes {
    std::string text;
    bool eof = false;
  };
  vfs::VfsOp<Bytes> read(std::string name, std::uint64_t offset, std::uint32_t count) {
    const vfs::FileRef at = file(name);
    const vfs::Borrowed io = fs_->borrow(nobody_, at);
    const vfs::ReadMemory memory(cursor_);
    const vfs::ReadResult got = co_await io->read(offset, count, memory);
    Bytes out{std::string(got.data.size(), '\0'), got.eof};
    got.data.in_memory().value().copy_to(0, std::as_writable_bytes(std::span(out.text)));
    co_return std::move(out);
  }
  vfs::VfsOp<vfs::Verifier> commit(std::string name) {
    const vfs::FileRef at = file(name);
    const vfs::Borrowed io = fs_->borrow(nobody_, at);
    co_return co_await io->commit(nobody_, 0, 0, nullptr);
  }
  vfs::VfsOp<> resize(std::string name, std::uint64_t size, vfs::LeaseHolder by = {}) {
    const vfs::FileRef at = file(name);
    vfs::Credentials who;
    who.holder = by;
    vfs::SetAttributes set;
    set.size = size;
    vfs::Wcc wcc;
    co_await fs_->setattr(who, at, set, std::nullopt, &wcc);
  }
  base::Result<vfs::Attributes, vfs::Error> attributes(std::string_view name) {
    return now(fs_->getattr(file(name)));
  }
  // The server and the object that have the byte at `offset`.
  std::pair<pnfs::ServerNumber, ObjectKey> place_of(std::string_view name, std::uint64_t offset) {
    const pnfs::LayoutRecord record = content(name)->record();
    const std::uint32_t index = record.striping.index_of(offset);
    return {record.servers[index], {record.object, index}};
  }
  // As a data server does before a client's first WRITE since it was asked.
  void announce(std::string_view name) {
    const auto told = now(cluster_->written({content(name)->object()}));
    EXPECT_TRUE(told && told->front());
  }
  // As LAYOUTGET does, for writing if `size` is 0: the size that the handles tell of.
  std::uint64_t give_handles(std::string_view name, vfs::LeaseHolder client, std::uint64_t size = 0) {
    const EpochHolders holders = content(name)->holders();
    const auto number = now(cluster_->grants().next(1));
    EXPECT_TRUE(number);
    layouts_.grant(client, *number);
    const auto writing = size == 0 ? std::optional(*number) : std::nullopt;
    return holders.note(client, writing, size, holders.moment());
  }
  // As a client with a layout writes.
  void write_elsewhere(std::string_view name, std::uint64_t offset, std::string_view bytes) {
    announce(name);
    write_unannounced(name, offset, bytes);
  }
  void write_unannounced(std::string_view name, std::uint64_t offset, std::string_view bytes) {
    const auto [server, key] = place_of(name, offset);
    objects_.put(server, key, content(name)->record().striping.to_object(offset), bytes);
  }

  base::ManualClock hand_clock_;  // of contact
  const vfs::Credentials nobody_;
  io::SlabPool pool_{{.bytes_max = 16 * io::region_bytes, .huge_pages = false}};
  io::SlabCursor cursor_{pool_};
  vfs::memory::Storage storage_{vfs::ExportId{7}};
  vfs::memory::Recorder recorder_;
  fake::Objects objects_;
  FakeLayouts layouts_;  // what give_handles() has given
  std::unique_ptr<Cluster> cluster_;
  std::shared_ptr<vfs::memory::MemoryFileSystem> fs_;
};

}  // namespace braid::pnfs_mds::test
