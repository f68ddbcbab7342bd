// The file of the name, as its content sees it.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "vfs/content.h"
#include "vfs/posix/file_data.h"
#include "vfs/posix/lease.h"
#include "vfs/posix/open_watch.h"

namespace braid::vfs::posix {

class PosixFileSystem;

// The record of this name that the file has; nothing: none.
Outcome<std::optional<base::Bytes>> record_of(const PosixFile& file, std::string_view name);

// Since Stub::hide_changes().
struct StubHiding {
  std::uint64_t frozen = 0;  // 0: it is not, or not for the stub to end
  Stat before{};             // the inode
  Attributes shown{};        // what clients see of it
  ChangeCounter::Look seen{};
  std::optional<OwnChanges> own;
};

class PosixStub final : public Stub {
 public:
  // For one call, which keeps the file. `open`: what the call came through, if somebody opened the file.
  PosixStub(PosixFileSystem& fs, PosixFile& file, ContentSource& source, const FileData* open = nullptr)
      : fs_(fs), file_(file), source_(source), open_(open) {}
  // Keeps the file itself.
  PosixStub(PosixFileSystem& fs, FileRef file, ContentSource& source, const FileData* open = nullptr)
      : fs_(fs), kept_(std::move(file)), file_(posix::node(kept_)), source_(source), open_(open) {}
  ~PosixStub() override;
  PosixStub(const PosixStub&) = delete;
  PosixStub& operator=(const PosixStub&) = delete;

  [[nodiscard]] const FileHandle& handle() const override { return file_.handle(); }
  [[nodiscard]] std::uint64_t fileid() const override { return file_.identity().fileid; }
  [[nodiscard]] std::uint64_t device() const override { return file_.identity().device; }
  VfsOp<int> descriptor(OpenAccess access) override;
  VfsOp<Attributes> attributes() override;
  VfsOp<std::optional<base::Bytes>> record() override;
  VfsOp<> put_record(base::BytesView record) override;
  VfsOp<> erase_record() override;
  VfsOp<> put_size_and_times(const SetAttributes& set) override;
  VfsOp<std::optional<Inherited>> inherited(std::string_view attribute) override;
  VfsOp<> sync() override;
  VfsOp<> drop_privileges() override;
  VfsOp<Writers> writers(bool restless) override;
  [[nodiscard]] bool undisturbed() const override {
    return opens_ ? !opens_->seen() : looked_ && file_.changes().still_alone(*looked_);
  }
  Outcome<> sync_own() override;
  Outcome<> hide_changes() override;
  Outcome<std::optional<HiddenChanges>> hidden() override;
  void show_changes() override;
  Outcome<> punch_own(std::uint64_t offset, std::uint64_t length) override;
  [[nodiscard]] Kept keep() override;
  [[nodiscard]] Verifier own_verifier() const override;
  void lost() override;
  Outcome<WriteResult> write_own(const Credentials& who, int fd, std::uint64_t offset,
                                 const io::Payload& data, const Edges& edges, Stability stability) override;
  Outcome<Verifier> commit_own(bool record) override;
  Outcome<> resize_own(const Credentials& who, int fd, std::uint64_t size) override;
  Outcome<> space_own(const Credentials& who, int fd, std::uint64_t offset, std::uint64_t length,
                      bool hole) override;
  // The number of what hide_changes() has frozen, which the caller ends; 0: nothing. Else it ends with the
  // stub.
  [[nodiscard]] std::uint64_t leave_frozen() { return hiding_ ? std::exchange(hiding_->frozen, 0) : 0; }

 private:
  // As what the call came through; as `who`, if there was no call.
  [[nodiscard]] FileData data_of(const Credentials& who) const;

  PosixFileSystem& fs_;
  const FileRef kept_;
  PosixFile& file_;
  ContentSource& source_;
  const FileData* const open_ = nullptr;  // null: nobody's
  std::optional<Time> ctime_;             // that attributes() has seen last
  std::optional<StubHiding> hiding_;
  std::optional<ChangeCounter::Look> looked_;                  // by writers()
  std::optional<OpenWatch> opens_;                             // the same, if clients write
  std::array<std::shared_ptr<PosixOpenFile>, accesses> lent_;  // whose descriptors are used, by index_of()
};

}  // namespace braid::vfs::posix
