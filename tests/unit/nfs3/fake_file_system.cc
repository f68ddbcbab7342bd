#include "tests/unit/nfs3/fake_file_system.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "tests/unit/nfs3/handles.h"

namespace braid::nfs3::test {

using vfs::Error;
using vfs::FileRef;
using vfs::FileType;
using vfs::VfsOp;
using vfs::Wcc;

namespace {

class FakeContent final : public vfs::OpenFile {
 public:
  FakeContent(FakeFileSystem& home, const vfs::Credentials& who, const FileRef& file)
      : home_(home), who_(who), file_(file) {}
  [[nodiscard]] const FileRef& file() const override { return file_; }
  [[nodiscard]] vfs::OpenAccess access() const override { return vfs::OpenAccess::both; }
  VfsOp<vfs::ReadResult> read(std::uint64_t offset, std::uint32_t count, vfs::ReadMemory memory) override {
    return home_.read(who_, file_, offset, count, memory);
  }
  VfsOp<vfs::WriteResult> write(const vfs::Credentials& who, std::uint64_t offset, const io::Payload& data,
                                vfs::Stability stability, Wcc* wcc) override {
    return home_.write(who, file_, offset, data, stability, *wcc);
  }
  VfsOp<vfs::Verifier> commit(const vfs::Credentials& who, std::uint64_t offset, std::uint32_t count,
                              Wcc* wcc) override {
    return home_.commit(who, file_, offset, count, *wcc);
  }

 private:
  FakeFileSystem& home_;
  const vfs::Credentials& who_;
  const FileRef& file_;
};

}  // namespace

FakeFileSystem::FakeFileSystem(vfs::ExportId id) : id_(id) {
  Node& top = nodes_[root_id];
  top.attributes.type = FileType::directory;
  top.attributes.mode = 0755;
  top.attributes.nlink = 2;
  top.attributes.size = top.attributes.space = 4096;
  top.attributes.fsid = 0xf5;
  top.attributes.fileid = root_id;
  top.attributes.atime = top.attributes.mtime = top.attributes.ctime = {now_, 5};
  top.parent = root_id;
  top.entries = {{".", 1, root_id}, {"..", 2, root_id}};
  top.last_cookie = 2;
}

vfs::Time FakeFileSystem::tick() { return {++now_, 5}; }

void FakeFileSystem::touch(Node& node) { node.attributes.mtime = node.attributes.ctime = tick(); }

vfs::FileHandle FakeFileSystem::handle_of(std::uint64_t fileid) const { return make_handle(id_, fileid); }

std::uint64_t FakeFileSystem::add(std::uint64_t directory, std::string_view name, FileType type,
                                  std::string_view content) {
  const std::uint64_t id = ++last_id_;
  Node& made = nodes_[id];
  made.attributes.type = type;
  made.attributes.mode = 0644;
  made.attributes.nlink = 1;
  made.attributes.fsid = 0xf5;
  made.attributes.fileid = id;
  made.attributes.atime = made.attributes.mtime = made.attributes.ctime = {now_, 5};
  made.content = content;
  made.attributes.size = made.attributes.space = content.size();
  if (type == FileType::directory) {
    made.attributes.mode = 0755;
    made.attributes.nlink = 2;
    made.entries = {{".", 1, id}, {"..", 2, directory}};
    made.last_cookie = 2;
  }
  made.parent = directory;
  Node& parent = nodes_.at(directory);
  parent.entries.push_back({std::string(name), ++parent.last_cookie, id});
  return id;
}

void FakeFileSystem::erase(std::uint64_t directory, std::string_view name) {
  std::erase_if(nodes_.at(directory).entries, [&](const Node::Entry& entry) { return entry.name == name; });
}

std::optional<std::uint64_t> FakeFileSystem::find(std::uint64_t directory, std::string_view name) const {
  for (const Node::Entry& entry : nodes_.at(directory).entries) {
    if (entry.name == name) return entry.fileid;
  }
  return std::nullopt;
}

void FakeFileSystem::fail(std::string_view operation, std::optional<Error> error) {
  if (error)
    failures_.insert_or_assign(std::string(operation), *error);
  else
    failures_.erase(std::string(operation));
}

void FakeFileSystem::resume_one() {
  const auto handle = parked_.front();
  parked_.erase(parked_.begin());
  io::ReadyQueue::current().push(io::ReadyItem::of(handle));
}

template <class T>
VfsOp<T> FakeFileSystem::later(Outcome<T> outcome) {
  co_await Park{*this};
  if constexpr (std::is_void_v<T>)
    co_await std::move(outcome);
  else
    co_return std::move(outcome);
}

template <class T>
VfsOp<T> FakeFileSystem::answer(Outcome<T> outcome) {
  if (parking_) return later<T>(std::move(outcome));
  return VfsOp<T>(std::move(outcome));
}

std::optional<Error> FakeFileSystem::begin(std::string_view operation, const vfs::Credentials& who,
                                           std::string_view name, bool changes) {
  calls.push_back({std::string(operation), who, std::string(name)});
  if (changes && read_only) return Error::rofs;
  const auto found = failures_.find(operation);
  if (found != failures_.end()) return found->second;
  return std::nullopt;
}

FakeFileSystem::Node* FakeFileSystem::node_of(const FileRef& file) {
  return &nodes_.at(static_cast<const FakeFile&>(*file).fileid);
}

vfs::Before FakeFileSystem::before_of(const Node& node) const {
  return {node.attributes.size, node.attributes.mtime, node.attributes.ctime};
}

FakeFileSystem::Outcome<vfs::Found> FakeFileSystem::found(std::uint64_t fileid) {
  return vfs::Found{FileRef(new FakeFile(handle_of(fileid), fileid)), nodes_.at(fileid).attributes};
}

FileRef FakeFileSystem::root() const { return FileRef(new FakeFile(handle_of(root_id), root_id)); }

VfsOp<FileRef> FakeFileSystem::resolve(base::BytesView handle) {
  if (auto error = begin("resolve", {})) return answer<FileRef>(base::fail(*error));
  const auto fileid = fileid_of(handle);
  if (!fileid) return answer<FileRef>(base::fail(Error::badhandle));
  if (!nodes_.contains(*fileid)) return answer<FileRef>(base::fail(Error::stale));
  return answer<FileRef>(FileRef(new FakeFile(handle_of(*fileid), *fileid)));
}

VfsOp<vfs::Attributes> FakeFileSystem::getattr(const FileRef& file) {
  if (auto error = begin("getattr", {})) return answer<vfs::Attributes>(base::fail(*error));
  return answer<vfs::Attributes>(node_of(file)->attributes);
}

bool FakeFileSystem::too_big(const vfs::SetAttributes& set) { return set.size && *set.size > file_bytes_max; }

void FakeFileSystem::apply(const vfs::SetAttributes& set, Node& node) {
  if (set.mode) node.attributes.mode = *set.mode;
  if (set.uid) node.attributes.uid = *set.uid;
  if (set.gid) node.attributes.gid = *set.gid;
  if (set.size) {
    node.content.resize(*set.size);
    node.attributes.size = node.attributes.space = *set.size;
  }
  const auto time = [&](const vfs::SetTime& wanted, vfs::Time& out) {
    if (wanted.how == vfs::SetTime::How::client) out = wanted.value;
    if (wanted.how == vfs::SetTime::How::server) out = tick();
  };
  time(set.atime, node.attributes.atime);
  time(set.mtime, node.attributes.mtime);
}

VfsOp<> FakeFileSystem::setattr(const vfs::Credentials& who, const FileRef& file,
                                const vfs::SetAttributes& set, std::optional<vfs::Time> guard, Wcc* wcc) {
  Node& node = *node_of(file);
  *wcc = {before_of(node), node.attributes};
  if (auto error = begin("setattr", who, {}, true)) return answer<void>(base::fail(*error));
  if (guard && *guard != node.attributes.ctime) return answer<void>(base::fail(Error::not_sync));
  if (too_big(set)) return answer<void>(base::fail(Error::fbig));
  apply(set, node);
  node.attributes.ctime = tick();
  wcc->after = node.attributes;
  return answer<void>({});
}

VfsOp<vfs::Found> FakeFileSystem::lookup(const vfs::Credentials& who, const FileRef& directory,
                                         std::string_view name) {
  if (auto error = begin("lookup", who, name)) return answer<vfs::Found>(base::fail(*error));
  if (node_of(directory)->attributes.type != FileType::directory)
    return answer<vfs::Found>(base::fail(Error::notdir));
  const auto id = find(node_of(directory)->attributes.fileid, name);
  if (!id) return answer<vfs::Found>(base::fail(Error::noent));
  return answer<vfs::Found>(found(*id));
}

VfsOp<std::uint32_t> FakeFileSystem::access(const vfs::Credentials& who, const FileRef& file,
                                            std::uint32_t wanted, std::optional<vfs::Attributes>& now) {
  if (!now) now = node_of(file)->attributes;
  if (auto error = begin("access", who)) return answer<std::uint32_t>(base::fail(*error));
  const std::uint32_t bits =
      who.uid == 0 ? node_of(file)->attributes.mode >> 6 : node_of(file)->attributes.mode;
  std::uint32_t granted = 0;
  if ((bits & 4) != 0) granted |= vfs::AccessBits::read;
  if ((bits & 2) != 0) granted |= vfs::AccessBits::modify | vfs::AccessBits::extend | vfs::AccessBits::remove;
  if ((bits & 1) != 0) granted |= vfs::AccessBits::lookup | vfs::AccessBits::execute;
  return answer<std::uint32_t>(granted & wanted);
}

VfsOp<io::Payload> FakeFileSystem::readlink(const vfs::Credentials& who, const FileRef& link) {
  if (auto error = begin("readlink", who)) return answer<io::Payload>(base::fail(*error));
  const Node& node = *node_of(link);
  if (node.attributes.type != FileType::symlink) return answer<io::Payload>(base::fail(Error::inval));
  auto range = cursor_.carve(node.content.size());
  std::memcpy(range->writable().data(), node.content.data(), node.content.size());
  return answer<io::Payload>(io::Payload(std::move(*range)));
}

vfs::Borrowed FakeFileSystem::borrow(const vfs::Credentials& who, const FileRef& file) {
  return vfs::Borrowed(std::in_place_type<FakeContent>, *this, who, file);
}

VfsOp<vfs::ReadResult> FakeFileSystem::read(const vfs::Credentials& who, const FileRef& file,
                                            std::uint64_t offset, std::uint32_t count,
                                            vfs::ReadMemory memory) {
  if (auto error = begin("read", who)) return answer<vfs::ReadResult>(base::fail(*error));
  const Node& node = *node_of(file);
  if (node.attributes.type == FileType::directory) return answer<vfs::ReadResult>(base::fail(Error::isdir));
  vfs::ReadResult result;
  result.attributes = node.attributes;
  const std::size_t from = std::min<std::uint64_t>(offset, node.content.size());
  const std::size_t take = std::min<std::size_t>(count, node.content.size() - from);
  for (std::size_t done = 0; done < take;) {
    const std::size_t step = std::min(take - done, io::small_slab_bytes);
    auto range = memory.cursor.carve(step);
    std::memcpy(range->writable().data(), node.content.data() + from + done, step);
    result.data.append(std::move(*range));
    done += step;
  }
  result.eof = from + take == node.content.size();
  return answer<vfs::ReadResult>(std::move(result));
}

VfsOp<vfs::WriteResult> FakeFileSystem::write(const vfs::Credentials& who, const FileRef& file,
                                              std::uint64_t offset, const io::Payload& data,
                                              vfs::Stability stability, Wcc& wcc) {
  Node& node = *node_of(file);
  wcc.before = before_of(node);
  wcc.after = node.attributes;
  if (auto error = begin("write", who, {}, true)) return answer<vfs::WriteResult>(base::fail(*error));
  const auto count =
      std::min<std::uint32_t>(static_cast<std::uint32_t>(data.size()), short_write.value_or(~0U));
  if (offset + count > file_bytes_max) return answer<vfs::WriteResult>(base::fail(Error::fbig));
  if (node.content.size() < offset + count) node.content.resize(offset + count);
  data.in_memory().value().copy_to(0, std::as_writable_bytes(std::span(node.content).subspan(offset, count)));
  node.attributes.size = node.attributes.space = node.content.size();
  touch(node);
  wcc.after = node.attributes;
  return answer<vfs::WriteResult>(vfs::WriteResult{count, committed.value_or(stability), verifier});
}

VfsOp<vfs::Verifier> FakeFileSystem::commit(const vfs::Credentials& who, const FileRef& file,
                                            std::uint64_t offset, std::uint32_t count, Wcc& wcc) {
  Node& node = *node_of(file);
  wcc.before = before_of(node);
  wcc.after = node.attributes;
  const std::string range = std::to_string(offset) + "+" + std::to_string(count);
  if (auto error = begin("commit", who, range)) return answer<vfs::Verifier>(base::fail(*error));
  return answer<vfs::Verifier>(verifier);
}

FakeFileSystem::Outcome<vfs::Found> FakeFileSystem::make(const vfs::Credentials& who,
                                                         const FileRef& directory, std::string_view name,
                                                         FileType type, const vfs::SetAttributes& set,
                                                         Wcc& wcc) {
  Node& parent = *node_of(directory);
  if (parent.attributes.type != FileType::directory) return base::fail(Error::notdir);
  if (find(parent.attributes.fileid, name)) return base::fail(Error::exist);
  if (too_big(set)) return base::fail(Error::fbig);
  const std::uint64_t id = add(parent.attributes.fileid, name, type);
  Node& made = node(id);
  made.attributes.uid = who.uid;
  made.attributes.gid = who.gid;
  apply(set, made);
  touch(parent);
  wcc.after = parent.attributes;
  return found(id);
}

VfsOp<vfs::Found> FakeFileSystem::create(const vfs::Credentials& who, const FileRef& directory,
                                         std::string_view name, const vfs::CreateHow& how, Wcc& wcc) {
  Node& parent = *node_of(directory);
  wcc.before = before_of(parent);
  wcc.after = parent.attributes;
  if (auto error = begin("create", who, name, true)) return answer<vfs::Found>(base::fail(*error));
  using Mode = vfs::CreateHow::Mode;
  if (const auto old = find(parent.attributes.fileid, name)) {
    const bool same = how.mode == Mode::exclusive && node(*old).created_by == how.verifier;
    if (how.mode != Mode::unchecked && !same) return answer<vfs::Found>(base::fail(Error::exist));
    if (too_big(how.attributes)) return answer<vfs::Found>(base::fail(Error::fbig));
    if (how.mode == Mode::unchecked) apply(how.attributes, node(*old));
    return answer<vfs::Found>(found(*old));
  }
  auto made = make(who, directory, name, FileType::regular, how.attributes, wcc);
  if (made) node(made->attributes.fileid).created_by = how.verifier;
  return answer<vfs::Found>(std::move(made));
}

VfsOp<vfs::Found> FakeFileSystem::mkdir(const vfs::Credentials& who, const FileRef& directory,
                                        std::string_view name, const vfs::SetAttributes& set, Wcc& wcc) {
  wcc.before = before_of(*node_of(directory));
  wcc.after = node_of(directory)->attributes;
  if (auto error = begin("mkdir", who, name, true)) return answer<vfs::Found>(base::fail(*error));
  return answer<vfs::Found>(make(who, directory, name, FileType::directory, set, wcc));
}

VfsOp<vfs::Found> FakeFileSystem::symlink(const vfs::Credentials& who, const FileRef& directory,
                                          std::string_view name, std::string_view target,
                                          const vfs::SetAttributes& set, Wcc& wcc) {
  wcc.before = before_of(*node_of(directory));
  wcc.after = node_of(directory)->attributes;
  if (auto error = begin("symlink", who, name, true)) return answer<vfs::Found>(base::fail(*error));
  auto made = make(who, directory, name, FileType::symlink, set, wcc);
  if (!made) return answer<vfs::Found>(std::move(made));
  Node& link = node(made->attributes.fileid);
  link.content = target;
  link.attributes.size = target.size();
  return answer<vfs::Found>(found(link.attributes.fileid));
}

VfsOp<vfs::Found> FakeFileSystem::mknod(const vfs::Credentials& who, const FileRef& directory,
                                        std::string_view name, const vfs::SpecialFile& special,
                                        const vfs::SetAttributes& set, Wcc& wcc) {
  wcc.before = before_of(*node_of(directory));
  wcc.after = node_of(directory)->attributes;
  if (auto error = begin("mknod", who, name, true)) return answer<vfs::Found>(base::fail(*error));
  auto made = make(who, directory, name, special.type, set, wcc);
  if (!made) return answer<vfs::Found>(std::move(made));
  node(made->attributes.fileid).attributes.rdev = special.device;
  return answer<vfs::Found>(found(made->attributes.fileid));
}

FakeFileSystem::Outcome<> FakeFileSystem::unlink(const FileRef& directory, std::string_view name,
                                                 bool want_directory, Wcc& wcc) {
  Node& parent = *node_of(directory);
  const auto id = find(parent.attributes.fileid, name);
  if (!id) return base::fail(Error::noent);
  const bool is_directory = node(*id).attributes.type == FileType::directory;
  if (is_directory != want_directory) return base::fail(want_directory ? Error::notdir : Error::isdir);
  if (is_directory && node(*id).entries.size() > 2) return base::fail(Error::notempty);
  erase(parent.attributes.fileid, name);
  if (--node(*id).attributes.nlink == 0 || is_directory) nodes_.erase(*id);
  touch(parent);
  wcc.after = parent.attributes;
  return {};
}

VfsOp<> FakeFileSystem::remove(const vfs::Credentials& who, const FileRef& directory, std::string_view name,
                               Wcc& wcc) {
  wcc.before = before_of(*node_of(directory));
  wcc.after = node_of(directory)->attributes;
  if (auto error = begin("remove", who, name, true)) return answer<void>(base::fail(*error));
  return answer<void>(unlink(directory, name, false, wcc));
}

VfsOp<> FakeFileSystem::rmdir(const vfs::Credentials& who, const FileRef& directory, std::string_view name,
                              Wcc& wcc) {
  wcc.before = before_of(*node_of(directory));
  wcc.after = node_of(directory)->attributes;
  if (auto error = begin("rmdir", who, name, true)) return answer<void>(base::fail(*error));
  return answer<void>(unlink(directory, name, true, wcc));
}

VfsOp<> FakeFileSystem::rename(const vfs::Credentials& who, const FileRef& from_directory,
                               std::string_view from_name, const FileRef& to_directory,
                               std::string_view to_name, Wcc& from_wcc, Wcc& to_wcc) {
  Node& from = *node_of(from_directory);
  Node& to = *node_of(to_directory);
  from_wcc = {before_of(from), from.attributes};
  to_wcc = {before_of(to), to.attributes};
  const std::string names = std::string(from_name) + " -> " + std::string(to_name);
  if (auto error = begin("rename", who, names, true)) return answer<void>(base::fail(*error));
  const auto id = find(from.attributes.fileid, from_name);
  if (!id) return answer<void>(base::fail(Error::noent));
  erase(from.attributes.fileid, from_name);
  erase(to.attributes.fileid, to_name);
  to.entries.push_back({std::string(to_name), ++to.last_cookie, *id});
  touch(from);
  touch(to);
  from_wcc.after = from.attributes;
  to_wcc.after = to.attributes;
  return answer<void>({});
}

VfsOp<> FakeFileSystem::link(const vfs::Credentials& who, const FileRef& file, const FileRef& directory,
                             std::string_view name, Wcc& wcc) {
  Node& parent = *node_of(directory);
  wcc = {before_of(parent), parent.attributes};
  if (auto error = begin("link", who, name, true)) return answer<void>(base::fail(*error));
  if (find(parent.attributes.fileid, name)) return answer<void>(base::fail(Error::exist));
  Node& target = *node_of(file);
  ++target.attributes.nlink;
  parent.entries.push_back({std::string(name), ++parent.last_cookie, target.attributes.fileid});
  touch(parent);
  wcc.after = parent.attributes;
  return answer<void>({});
}

VfsOp<bool> FakeFileSystem::readdir(const vfs::Credentials& who, const FileRef& directory,
                                    const vfs::ReadDirectoryRequest& request, const vfs::EntrySink& sink) {
  if (auto error = begin("readdir", who)) return answer<bool>(base::fail(*error));
  const Node& node = *node_of(directory);
  if (node.attributes.type != FileType::directory) return answer<bool>(base::fail(Error::notdir));
  if (request.cookie > node.last_cookie) return answer<bool>(base::fail(Error::bad_cookie));
  for (const Node::Entry& entry : node.entries) {
    if (entry.cookie <= request.cookie) continue;
    vfs::DirectoryEntry shown{entry.fileid, entry.cookie, entry.name, {}, {}};
    if (request.plus && !entries_without_attributes) {
      shown.handle = handle_of(entry.fileid);
      shown.attributes = nodes_.at(entry.fileid).attributes;
    }
    if (!sink(shown)) return answer<bool>(false);
  }
  return answer<bool>(true);
}

VfsOp<vfs::FileSystemStatus> FakeFileSystem::status(const FileRef&) {
  if (auto error = begin("status", {})) return answer<vfs::FileSystemStatus>(base::fail(*error));
  return answer<vfs::FileSystemStatus>(file_system_status);
}

VfsOp<vfs::FileSystemLimits> FakeFileSystem::limits(const FileRef&) {
  if (auto error = begin("limits", {})) return answer<vfs::FileSystemLimits>(base::fail(*error));
  return answer<vfs::FileSystemLimits>(file_system_limits);
}

}  // namespace braid::nfs3::test
