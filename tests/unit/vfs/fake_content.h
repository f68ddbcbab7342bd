// Contents for tests: their bytes are in memory, and they can be slow, behind with the inode's attributes, or
// broken.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/guarded.h"
#include "vfs/content.h"

namespace braid::vfs {

class FakeSource;

class FakeContent final : public Content {
 public:
  explicit FakeContent(FakeSource& source, std::string bytes = {}) : source_(source) {
    bytes_.with([&](std::string& own) { own = std::move(bytes); });
  }
  [[nodiscard]] std::string bytes() const {
    return bytes_.with([](const std::string& own) { return own; });
  }
  // As by somebody who writes elsewhere: the stub does not know.
  void write_elsewhere(std::string bytes) {
    bytes_.with([&](std::string& own) { own = std::move(bytes); });
    unsettled_.store(true);
  }

  [[nodiscard]] ContentSource& source() const override;
  VfsOp<ReadResult> read(Stub& stub, std::uint64_t offset, std::uint32_t count, ReadMemory memory) override;
  // Says `slices`, whatever it is asked for, if there are any.
  bool locate(std::uint64_t offset, std::uint32_t count, const Look& look, Located& where) override;
  VfsOp<WriteResult> write(Stub& stub, const Credentials& who, std::uint64_t offset, const io::Payload& data,
                           Stability stability) override;
  VfsOp<Verifier> commit(Stub& stub, const Credentials& who, std::uint64_t offset,
                         std::uint32_t count) override;
  [[nodiscard]] Verifier write_verifier(const Verifier& /*own*/) const override { return verifier; }
  VfsOp<> resize(Stub& stub, const Credentials& who, std::uint64_t size) override;
  VfsOp<SeekResult> seek(Stub& stub, std::uint64_t offset, SeekTo what, std::uint64_t until) override;
  VfsOp<> allocate(Stub& stub, const Credentials& who, std::uint64_t offset, std::uint64_t length) override;
  VfsOp<> deallocate(Stub& stub, const Credentials& who, std::uint64_t offset, std::uint64_t length) override;
  VfsOp<> clone_from(Stub& stub, const Credentials& who, const Range& from, std::uint64_t to_offset) override;
  VfsOp<std::uint64_t> copy_from(Stub& stub, const Credentials& who, const Range& from,
                                 std::uint64_t to_offset) override;
  [[nodiscard]] bool unsettled() const override { return unsettled_.load(std::memory_order_relaxed); }
  VfsOp<> settle(Stub& stub) override;
  void adjust(Attributes& attributes) const override { attributes.space = space_of; }

  static constexpr std::uint64_t space_of = 12345;
  static constexpr Verifier verifier{{std::byte{9}}};
  std::atomic<int> settles{0};
  std::atomic<int> commits{0};
  std::atomic<int> reads{0};
  std::vector<FileSlice> slices;
  // Set when the bytes are elsewhere by now: no call may come any more.
  std::atomic<bool> punched{false};

 private:
  VfsOp<> put_size(Stub& stub, std::uint64_t size);
  void put(std::uint64_t offset, std::string_view data);

  FakeSource& source_;
  base::Guarded<std::string> bytes_;
  std::atomic<bool> unsettled_{false};
};

class FakeSource final : public ContentSource {
 public:
  static constexpr const char* record_name = "trusted.braid.test";

  [[nodiscard]] std::string_view record() const override { return record_name; }
  // The record is the name of the bytes in `known`.
  VfsOp<ContentRef> load(Stub& stub, base::BytesView record) override;
  // Takes the file's own bytes along; gives them back if `former` is a content.
  VfsOp<ContentRef> place(Stub& stub, const ContentRef& former, const PlacementHint& hint) override;
  [[nodiscard]] bool places_at_first_write() const override { return places; }
  [[nodiscard]] bool shares_bytes() const override { return shares; }
  [[nodiscard]] bool wants_removals() const override { return told_of_removals; }
  VfsOp<> removing(Stub& stub, Content& content) override;
  void gone(ContentRef content) override;
  VfsOp<> adjust(FileSystemStatus& status) override;
  [[nodiscard]] bool takes_pipes() const override { return pipes; }

  // The content of the file of that number; null: there is none.
  std::shared_ptr<FakeContent> of(std::uint64_t fileid) const;
  std::vector<std::string> log() const {
    return log_.with([](const std::vector<std::string>& log) { return log; });
  }
  void note(std::string line) {
    log_.with([&](std::vector<std::string>& log) { log.push_back(std::move(line)); });
  }

  std::function<void()> before_write;
  std::function<void(Stub&)> in_commit;
  bool places = false;
  bool shares = false;
  bool told_of_removals = true;
  bool pipes = false;
  bool copies = true;  // by itself
  std::atomic<int> loads{0}, wrong{0};
  std::atomic<bool> slow{false};
  Error load_error{};  // with `loads_fail`
  bool loads_fail = false;
  std::optional<Error> removing_error;

 private:
  base::Guarded<std::map<std::uint64_t, std::shared_ptr<FakeContent>>> contents_;  // by the inode's number
  base::Guarded<std::vector<std::string>> log_;
};

}  // namespace braid::vfs
