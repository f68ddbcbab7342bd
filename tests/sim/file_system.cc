#include "tests/sim/file_system.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>
#include <utility>

#include "base/assert.h"

namespace braid::sim {
namespace {

using vfs::Error;
using vfs::VfsOp;

constexpr std::uint64_t fsid = 5;

class MemoryFile final : public vfs::File {
 public:
  MemoryFile(std::uint64_t file_id, const vfs::FileHandle& handle) : id(file_id), handle_(handle) {}
  [[nodiscard]] const vfs::FileHandle& handle() const override { return handle_; }
  const std::uint64_t id;

 private:
  const vfs::FileHandle handle_;
};

class MemoryOpen final : public vfs::OpenFile {
 public:
  MemoryOpen(MemoryFileSystem& home, vfs::FileRef file, vfs::OpenAccess access)
      : home_(home), file_(std::move(file)), access_(access) {}
  [[nodiscard]] const vfs::FileRef& file() const override { return file_; }
  [[nodiscard]] vfs::OpenAccess access() const override { return access_; }
  [[nodiscard]] std::shared_ptr<vfs::FileSystem> file_system() const override {
    return home_.shared_from_this();
  }
  VfsOp<vfs::ReadResult> read(std::uint64_t offset, std::uint32_t count, vfs::ReadMemory memory) override {
    return home_.read(file_, offset, count, memory);
  }
  VfsOp<vfs::WriteResult> write(const vfs::Credentials& /*who*/, std::uint64_t offset,
                                const io::Payload& data, vfs::Stability /*stability*/,
                                vfs::Wcc* wcc) override {
    return home_.write(file_, offset, data, wcc);
  }
  VfsOp<vfs::Verifier> commit(const vfs::Credentials& /*who*/, std::uint64_t /*offset*/,
                              std::uint32_t /*count*/, vfs::Wcc* /*wcc*/) override {
    return home_.commit();
  }
  VfsOp<> set(const vfs::Credentials& who, const vfs::SetAttributes& set, vfs::Wcc* wcc) override {
    return home_.setattr(who, file_, set, std::nullopt, wcc);
  }

 private:
  MemoryFileSystem& home_;
  const vfs::FileRef file_;
  const vfs::OpenAccess access_;
};

class MemoryLease final : public vfs::Lease {
 public:
  explicit MemoryLease(vfs::FileRef file) : file_(std::move(file)) {}
  [[nodiscard]] const vfs::FileRef& file() const override { return file_; }

 private:
  const vfs::FileRef file_;
};

vfs::Before before_of(const Storage::Node& node) {
  return {node.attributes.size, node.attributes.mtime, node.attributes.ctime, node.attributes.change};
}

}  // namespace

// --- Storage

Storage::Storage(const base::Clock& clock) : clock_(clock) {
  Node& top = nodes_[root_id];
  top.attributes.type = vfs::FileType::directory;
  top.attributes.mode = 0777;
  top.attributes.nlink = 2;
  top.attributes.fsid = fsid;
  top.attributes.fileid = root_id;
}

std::uint64_t Storage::add(std::string_view name, vfs::FileType type) {
  const std::uint64_t id = ++last_id_;
  Node& made = nodes_[id];
  made.attributes.type = type;
  made.attributes.mode = 0777;
  made.attributes.nlink = 1;
  made.attributes.fsid = fsid;
  made.attributes.fileid = id;
  touch(made);
  root().entries.emplace(name, id);
  touch(root());
  return id;
}

Storage::Node* Storage::find(std::uint64_t id) {
  const auto found = nodes_.find(id);
  return found == nodes_.end() ? nullptr : &found->second;
}

void Storage::touch(Node& node) {
  const auto since = clock_.wall().time_since_epoch();
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(since);
  const auto rest = static_cast<std::uint32_t>((since - seconds).count());
  node.attributes.size = node.content.size();
  node.attributes.mtime = node.attributes.ctime = {seconds.count(), rest};
  ++node.attributes.change;
}

vfs::FileHandle Storage::handle_of(std::uint64_t id) const {
  return codec_.seal({.transient = false, .type = 1, .bytes = std::as_bytes(std::span(&id, 1))});
}

base::Result<std::uint64_t, Error> Storage::id_of(base::BytesView handle) const {
  const auto opened = codec_.open(handle);
  if (!opened) return base::fail(opened.error());
  std::uint64_t id = 0;
  std::memcpy(&id, opened->body.bytes.data(), sizeof id);
  return id;
}

// --- MemoryFileSystem

VfsOp<> MemoryFileSystem::pause() {
  if (delays_.percent(10))
    co_await scheduler_.sleep(
        delays_.between(base::Duration(std::chrono::microseconds(10)), std::chrono::milliseconds(30)));
  if (shut_) co_await base::fail(Error::io);
}

base::Result<Storage::Node*, Error> MemoryFileSystem::node(const vfs::FileRef& file) {
  Storage::Node* const found = storage_.find(static_cast<const MemoryFile&>(*file).id);
  if (found == nullptr) return base::fail(Error::stale);
  return found;
}

vfs::FileRef MemoryFileSystem::file_of(std::uint64_t id) const {
  return vfs::FileRef(new MemoryFile(id, storage_.handle_of(id)));
}

vfs::FileRef MemoryFileSystem::root() const { return file_of(Storage::root_id); }

VfsOp<vfs::FileRef> MemoryFileSystem::resolve(base::BytesView handle) {
  const auto id = storage_.id_of(handle);
  if (!id) return base::fail(id.error());
  if (storage_.find(*id) == nullptr) return base::fail(Error::stale);
  return file_of(*id);
}

VfsOp<vfs::Attributes> MemoryFileSystem::getattr(const vfs::FileRef& file) {
  const auto at = node(file);
  if (!at) return base::fail(at.error());
  return (*at)->attributes;
}

VfsOp<> MemoryFileSystem::setattr(const vfs::Credentials& /*who*/, const vfs::FileRef& file,
                                  const vfs::SetAttributes& set, std::optional<vfs::Time> /*guard*/,
                                  vfs::Wcc* wcc) {
  co_await pause();
  Storage::Node& at = *co_await node(file);
  if (wcc != nullptr) wcc->before = before_of(at);
  if (set.size) at.content.resize(*set.size);
  if (set.mode) at.attributes.mode = *set.mode;
  storage_.touch(at);
  if (wcc != nullptr) wcc->after = at.attributes;
}

VfsOp<vfs::Found> MemoryFileSystem::lookup(const vfs::Credentials& /*who*/, const vfs::FileRef& /*directory*/,
                                           std::string_view name) {
  const auto found = storage_.root().entries.find(name);
  if (found == storage_.root().entries.end()) return base::fail(Error::noent);
  return vfs::Found{file_of(found->second), storage_.find(found->second)->attributes};
}

VfsOp<std::uint32_t> MemoryFileSystem::access(const vfs::Credentials& /*who*/, const vfs::FileRef& file,
                                              std::uint32_t wanted, std::optional<vfs::Attributes>& now) {
  const auto at = node(file);
  if (!at) return base::fail(at.error());
  if (!now) now = (*at)->attributes;
  return wanted;
}

VfsOp<io::Payload> MemoryFileSystem::readlink(const vfs::Credentials& /*who*/, const vfs::FileRef& /*link*/) {
  return base::fail(Error::inval);
}

vfs::Borrowed MemoryFileSystem::borrow(const vfs::Credentials& /*who*/, const vfs::FileRef& file) {
  return vfs::Borrowed(std::in_place_type<MemoryOpen>, *this, file, vfs::OpenAccess::both);
}

VfsOp<vfs::ReadResult> MemoryFileSystem::read(const vfs::FileRef& file, std::uint64_t offset,
                                              std::uint32_t count, vfs::ReadMemory memory) {
  co_await pause();
  const Storage::Node& at = *co_await node(file);
  vfs::ReadResult out;
  const std::size_t from = std::min<std::uint64_t>(offset, at.content.size());
  const std::size_t bytes = std::min<std::size_t>(count, at.content.size() - from);
  auto range = memory.cursor.carve(bytes);
  base::check(range.has_value(), "memory for what is read");
  std::memcpy(range->writable().data(), at.content.data() + from, bytes);
  if (bytes > 0) out.data.append(std::move(*range));
  out.eof = from + bytes == at.content.size();
  out.attributes = at.attributes;
  co_return out;
}

VfsOp<vfs::WriteResult> MemoryFileSystem::write(const vfs::FileRef& file, std::uint64_t offset,
                                                const io::Payload& data, vfs::Wcc* wcc) {
  co_await pause();
  Storage::Node& at = *co_await node(file);
  if (wcc != nullptr) wcc->before = before_of(at);
  if (at.content.size() < offset + data.size()) at.content.resize(offset + data.size());
  data.in_memory().value().copy_to(
      0, std::as_writable_bytes(std::span(at.content).subspan(offset, data.size())));
  std::uint64_t tag = 0;
  if (data.size() == sizeof tag) {
    data.in_memory().value().copy_to(0, std::as_writable_bytes(std::span(&tag, 1)));
    storage_.note("write " + std::to_string(tag));
  }
  storage_.touch(at);
  if (wcc != nullptr) wcc->after = at.attributes;
  co_return vfs::WriteResult{static_cast<std::uint32_t>(data.size()), vfs::Stability::file_sync, {}};
}

VfsOp<vfs::Verifier> MemoryFileSystem::commit() {
  co_await pause();
  co_return vfs::Verifier{};
}

base::Result<vfs::Found, Error> MemoryFileSystem::make(std::string_view name, vfs::FileType type,
                                                       vfs::Wcc& wcc) {
  wcc.before = before_of(storage_.root());
  wcc.after = storage_.root().attributes;
  if (storage_.root().entries.contains(name)) return base::fail(Error::exist);
  const std::uint64_t id = storage_.add(name, type);
  storage_.note("make " + std::string(name));
  wcc.after = storage_.root().attributes;
  return vfs::Found{file_of(id), storage_.find(id)->attributes};
}

base::Result<void, Error> MemoryFileSystem::unlink(std::string_view name, bool directory, vfs::Wcc& wcc) {
  Storage::Node& top = storage_.root();
  wcc.before = before_of(top);
  wcc.after = top.attributes;
  const auto found = top.entries.find(name);
  if (found == top.entries.end()) return base::fail(Error::noent);
  const bool is_directory = storage_.find(found->second)->attributes.type == vfs::FileType::directory;
  if (is_directory != directory) return base::fail(directory ? Error::notdir : Error::isdir);
  storage_.erase(found->second);
  top.entries.erase(found);
  storage_.note("remove " + std::string(name));
  storage_.touch(top);
  wcc.after = top.attributes;
  return {};
}

VfsOp<vfs::Found> MemoryFileSystem::create(const vfs::Credentials& /*who*/, const vfs::FileRef& /*directory*/,
                                           std::string_view name, const vfs::CreateHow& /*how*/,
                                           vfs::Wcc& wcc) {
  co_await pause();
  co_return make(name, vfs::FileType::regular, wcc);
}

VfsOp<vfs::Found> MemoryFileSystem::mkdir(const vfs::Credentials& /*who*/, const vfs::FileRef& /*directory*/,
                                          std::string_view name, const vfs::SetAttributes& /*set*/,
                                          vfs::Wcc& wcc) {
  co_await pause();
  co_return make(name, vfs::FileType::directory, wcc);
}

VfsOp<vfs::Found> MemoryFileSystem::symlink(const vfs::Credentials& /*who*/, const vfs::FileRef& /*dir*/,
                                            std::string_view /*name*/, std::string_view /*target*/,
                                            const vfs::SetAttributes& /*set*/, vfs::Wcc& /*wcc*/) {
  return base::fail(Error::notsupp);
}

VfsOp<vfs::Found> MemoryFileSystem::mknod(const vfs::Credentials& /*who*/, const vfs::FileRef& /*directory*/,
                                          std::string_view /*name*/, const vfs::SpecialFile& /*special*/,
                                          const vfs::SetAttributes& /*set*/, vfs::Wcc& /*wcc*/) {
  return base::fail(Error::notsupp);
}

VfsOp<> MemoryFileSystem::remove(const vfs::Credentials& /*who*/, const vfs::FileRef& /*directory*/,
                                 std::string_view name, vfs::Wcc& wcc) {
  co_await pause();
  co_await unlink(name, false, wcc);
}

VfsOp<> MemoryFileSystem::rmdir(const vfs::Credentials& /*who*/, const vfs::FileRef& /*directory*/,
                                std::string_view name, vfs::Wcc& wcc) {
  co_await pause();
  co_await unlink(name, true, wcc);
}

VfsOp<> MemoryFileSystem::rename(const vfs::Credentials& /*who*/, const vfs::FileRef& /*from_directory*/,
                                 std::string_view from_name, const vfs::FileRef& /*to_directory*/,
                                 std::string_view to_name, vfs::Wcc& from_wcc, vfs::Wcc& to_wcc) {
  co_await pause();
  Storage::Node& top = storage_.root();
  from_wcc.before = to_wcc.before = before_of(top);
  const auto found = top.entries.find(from_name);
  if (found == top.entries.end()) co_await base::fail(Error::noent);
  top.entries.insert_or_assign(std::string(to_name), found->second);
  top.entries.erase(found);
  storage_.note("rename " + std::string(from_name));
  storage_.touch(top);
  from_wcc.after = to_wcc.after = top.attributes;
}

VfsOp<> MemoryFileSystem::link(const vfs::Credentials& /*who*/, const vfs::FileRef& /*file*/,
                               const vfs::FileRef& /*directory*/, std::string_view /*name*/,
                               vfs::Wcc& /*wcc*/) {
  return base::fail(Error::notsupp);
}

VfsOp<bool> MemoryFileSystem::readdir(const vfs::Credentials& /*who*/, const vfs::FileRef& /*directory*/,
                                      const vfs::ReadDirectoryRequest& /*request*/,
                                      const vfs::EntrySink& /*sink*/) {
  return true;
}

VfsOp<vfs::FileSystemStatus> MemoryFileSystem::status(const vfs::FileRef& /*file*/) {
  return vfs::FileSystemStatus{1'000'000, 600'000, 500'000, 1000, 700, 600};
}

VfsOp<vfs::FileSystemLimits> MemoryFileSystem::limits(const vfs::FileRef& /*file*/) {
  return vfs::FileSystemLimits{.file_bytes_max = 1U << 20, .link_max = 1, .name_bytes_max = 255};
}

VfsOp<vfs::OpenFileRef> MemoryFileSystem::open(const vfs::Credentials& /*who*/, const vfs::FileRef& file,
                                               vfs::OpenAccess access, vfs::OpenRule /*rule*/) {
  co_await pause();
  const Storage::Node& at = *co_await node(file);
  if (at.attributes.type != vfs::FileType::regular) co_await base::fail(Error::isdir);
  co_return std::make_shared<MemoryOpen>(*this, file, access);
}

VfsOp<vfs::OpenCreated> MemoryFileSystem::open_create(const vfs::Credentials& /*who*/,
                                                      const vfs::FileRef& /*directory*/,
                                                      std::string_view name, vfs::OpenAccess access,
                                                      const vfs::CreateHow& how, vfs::Wcc& wcc) {
  co_await pause();
  const auto existing = storage_.root().entries.find(name);
  if (existing != storage_.root().entries.end() && is_exclusive(how)) {
    const Storage::Node& at = *storage_.find(existing->second);
    if (at.created_by == how.verifier)
      co_return vfs::OpenCreated{std::make_shared<MemoryOpen>(*this, file_of(existing->second), access),
                                 at.attributes, true, false};
  }
  auto made = co_await make(name, vfs::FileType::regular, wcc);
  storage_.find(made.attributes.fileid)->created_by = how.verifier;
  co_return vfs::OpenCreated{std::make_shared<MemoryOpen>(*this, made.file, access), made.attributes, true,
                             false};
}

VfsOp<std::optional<vfs::LockConflict>> MemoryFileSystem::lock(const vfs::OpenFileRef& /*open*/,
                                                               vfs::LockOwnerId /*owner*/,
                                                               vfs::LockRange /*range*/,
                                                               vfs::LockType /*type*/) {
  co_await pause();
  co_return std::nullopt;
}

VfsOp<std::optional<vfs::LockConflict>> MemoryFileSystem::test_lock(const vfs::FileRef& /*file*/,
                                                                    vfs::LockOwnerId /*owner*/,
                                                                    vfs::LockRange /*range*/,
                                                                    vfs::LockType /*type*/) {
  co_await pause();
  co_return std::nullopt;
}

VfsOp<> MemoryFileSystem::unlock(const vfs::FileRef& /*file*/, vfs::LockOwnerId /*owner*/,
                                 vfs::LockRange /*range*/) {
  co_await pause();
}

VfsOp<vfs::LeaseRef> MemoryFileSystem::lease(const vfs::OpenFileRef& open, vfs::LeaseType /*type*/,
                                             vfs::LeaseHolder /*holder*/, vfs::LeaseBreak /*broken*/) {
  co_await pause();
  co_return std::make_unique<MemoryLease>(open->file());
}

}  // namespace braid::sim
