#include "posix_fixture.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace braid::vfs {

Credentials user(std::uint32_t uid, std::uint32_t gid, std::initializer_list<std::uint32_t> groups) {
  Credentials who;
  who.uid = uid;
  who.gid = gid;
  for (const std::uint32_t group : groups) who.group_list[who.group_count++] = group;
  return who;
}

SetAttributes with_mode(std::uint32_t mode) {
  SetAttributes set;
  set.mode = mode;
  return set;
}

void PosixFixture::start(const std::string& mount) {
  std::string pattern = mount + "/export-XXXXXX";
  ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
  ASSERT_EQ(::chmod(pattern.c_str(), 0755), 0);
  options_.directory = pattern;
  options_.slabs = &slabs_;
  options_.tree.id = ExportId(5);
  options_.tree.key = {11, 22};
  options_.tree.export_path = "/";
  restart();
}

void PosixFixture::TearDown() {
  root_ = {};
  fs_.reset();
  cursor_.reset();
  if (!options_.directory.empty()) std::filesystem::remove_all(options_.directory);
}

std::shared_ptr<PosixFileSystem> PosixFixture::opened() const {
  return PosixFileSystem::open(options_, clock_).value();
}

void PosixFixture::restart() {
  root_ = {};
  fs_ = opened();
  root_ = fs_->root();
}

std::string PosixFixture::local(std::string_view path) const {
  return options_.directory + "/" + std::string(path);
}

void PosixFixture::local_write(std::string_view path, std::string_view text) const {
  std::ofstream(local(path), std::ios::trunc) << text;
  ASSERT_EQ(::chmod(local(path).c_str(), 0644), 0);
}

std::string PosixFixture::local_read(std::string_view path) const {
  std::ostringstream out;
  out << std::ifstream(local(path)).rdbuf();
  return out.str();
}

bool PosixFixture::kernel_has_xattrs() const {
  if (::setxattr(local().c_str(), "user.probe", "x", 1, 0) != 0) return false;
  return ::removexattr(local().c_str(), "user.probe") == 0;
}

bool PosixFixture::kernel_has_acls() const {
  return ::getxattr(local().c_str(), "system.posix_acl_access", nullptr, 0) >= 0 || errno == ENODATA;
}

bool PosixFixture::kernel_clones() const {
  local_write("probe-from", std::string(base::MiB, 'x'));
  local_write("probe-to", "");
  const base::UniqueFd from(::open(local("probe-from").c_str(), O_RDONLY | O_CLOEXEC));
  const base::UniqueFd to(::open(local("probe-to").c_str(), O_WRONLY | O_CLOEXEC));
  const bool cloned = ::ioctl(to.get(), FICLONE, from.get()) == 0;
  ::unlink(local("probe-from").c_str());
  ::unlink(local("probe-to").c_str());
  return cloned;
}

bool PosixFixture::kernel_splices() const {
  local_write("probe", "text");
  const base::UniqueFd file(::open(local("probe").c_str(), O_RDONLY | O_CLOEXEC));
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return false;
  const base::UniqueFd out(ends[0]), in(ends[1]);
  const bool spliced = ::splice(file.get(), nullptr, in.get(), nullptr, 4, 0) == 4;
  ::unlink(local("probe").c_str());
  return spliced;
}

io::Payload PosixFixture::payload(std::string_view text) {
  io::Payload out;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, io::small_slab_bytes);
    auto range = cursor_->carve(part.size()).value();
    std::memcpy(range.writable().data(), part.data(), part.size());
    out.append(std::move(range));
    text.remove_prefix(part.size());
  }
  return out;
}

Outcome<Found> PosixFixture::lookup(const FileRef& directory, std::string_view name, const Credentials& who) {
  return run(fs_->lookup(who, directory, name));
}

FileRef PosixFixture::find(std::string_view path) {
  FileRef at = root_;
  std::istringstream parts{std::string(path)};
  for (std::string part; std::getline(parts, part, '/');) at = lookup(at, part).value().file;
  return at;
}

Outcome<Found> PosixFixture::create(std::string_view name, std::uint32_t mode, const Credentials& who) {
  const CreateHow how{CreateHow::Mode::guarded, with_mode(mode), {}};
  return run(fs_->create(who, root_, name, how, wcc_));
}

Outcome<Found> PosixFixture::mkdir(std::string_view name, std::uint32_t mode, const Credentials& who) {
  const SetAttributes set = with_mode(mode);
  return run(fs_->mkdir(who, root_, name, set, wcc_));
}

Outcome<WriteResult> PosixFixture::write(const FileRef& file, std::string_view text, std::uint64_t offset,
                                         const Credentials& who, Stability stability) {
  const io::Payload data = payload(text);
  return write_to(file, offset, data, stability, &wcc_, who);
}

Outcome<std::string> PosixFixture::read(const FileRef& file, std::uint64_t offset, std::uint32_t count,
                                        const Credentials& who) {
  auto got = read_from(file, offset, count, *cursor_, who);
  if (!got) return base::fail(got.error());
  std::string text(got->data.size(), '\0');
  got->data.in_memory().value().copy_to(0, std::as_writable_bytes(std::span(text)));
  return text;
}

Outcome<> PosixFixture::remove(std::string_view name, const Credentials& who) {
  return run(fs_->remove(who, root_, name, wcc_));
}

Outcome<> PosixFixture::setattr(const FileRef& file, const SetAttributes& set, const Credentials& who) {
  return run(fs_->setattr(who, file, set, std::nullopt, &wcc_));
}

Attributes PosixFixture::attributes(const FileRef& file) { return run(fs_->getattr(file)).value(); }

std::vector<std::string> PosixFixture::list(const FileRef& directory, std::size_t batch,
                                            const Credentials& who) {
  std::vector<std::string> names;
  ReadDirectoryRequest request;
  for (bool end = false; !end;) {
    std::size_t taken = 0;
    const EntrySink sink = [&](const DirectoryEntry& entry) {
      if (taken == batch) return false;
      ++taken;
      names.emplace_back(entry.name);
      request.cookie = entry.cookie;
      return true;
    };
    end = run(fs_->readdir(who, directory, request, sink)).value();
  }
  return names;
}

void PosixTest::SetUp() {
  if (::geteuid() != 0) GTEST_SKIP() << "identities and mounts need root";
  const auto mount = mounted(GetParam());
  if (!mount) GTEST_SKIP() << mount.error();
  start(*mount);
}

}  // namespace braid::vfs
