#include "vfs/posix/open_file.h"

#include <fcntl.h>

#include <utility>

#include "vfs/posix/file_system.h"

namespace braid::vfs::posix {

PosixOpenFile::PosixOpenFile(Key /*key*/, std::shared_ptr<PosixFileSystem> owner, PosixFile& file,
                             OpenAccess access)
    : FileIo(*owner, FileData(owner->tree(), file, access)),
      owner_(std::move(owner)),
      kept_(fs_.tree().cache().note_open(file)) {}

std::shared_ptr<PosixOpenFile> PosixOpenFile::make(std::shared_ptr<PosixFileSystem> owner,
                                                   const FileRef& file, OpenAccess access, base::UniqueFd fd,
                                                   DescriptorSlot slot) {
  auto out = std::make_shared<PosixOpenFile>(Key(), std::move(owner), posix::node(file), access);
  out->node().hold([&](Holdings& held) {
    held.opens.add(*out);
    out->node().join(held, access, fd, slot);
  });
  return out;
}

PosixOpenFile::~PosixOpenFile() {
  const FileRef keep(&node());
  fs_.tree().cache().await_parking(node());
  SharedDescription last;
  const bool forget = node().hold([&](Holdings& held) {
    held.opens.remove(*this);
    last = node().leave(held, access());
    return held.opens.empty() && held.nameless;
  });
  if (last.fd) node().closing(last.fd.get(), *last.slot);
  last = {};
  if (!kept_) fs_.tree().cache().note_close(node());
  // Its space is free once the last descriptor is closed.
  if (forget) fs_.tree().forget(node());
}

std::shared_ptr<FileSystem> PosixOpenFile::file_system() const { return owner_; }

void OpenList::add(PosixOpenFile& open) {
  open.next_ = first_;
  if (first_ != nullptr) first_->previous_ = &open;
  first_ = &open;
}

void OpenList::remove(PosixOpenFile& open) {
  if (open.next_ != nullptr) open.next_->previous_ = open.previous_;
  (open.previous_ != nullptr ? open.previous_->next_ : first_) = open.next_;
}

bool OpenList::one() const { return first_ != nullptr && first_->next_ == nullptr; }

std::shared_ptr<PosixOpenFile> PosixFile::any_open() {
  return hold([](Holdings& held) -> std::shared_ptr<PosixOpenFile> {
    // One that is being destroyed cannot be locked any more.
    for (PosixOpenFile* open = held.opens.first(); open != nullptr; open = open->next())
      if (open->fd() >= 0)
        if (auto kept = open->weak_from_this().lock()) return kept;
    return nullptr;
  });
}

std::shared_ptr<PosixOpenFile> PosixFile::any_open(OpenAccess access) {
  return hold([access](Holdings& held) -> std::shared_ptr<PosixOpenFile> {
    for (PosixOpenFile* open = held.opens.first(); open != nullptr; open = open->next())
      if (open->fd() >= 0 && includes(open->access(), access))
        if (auto kept = open->weak_from_this().lock()) return kept;
    return nullptr;
  });
}

base::Result<OpenFile::Descriptor, Error> PosixOpenFile::descriptor() {
  auto use = data_.use();
  if (!use) return base::fail(use.error());
  return Descriptor{std::move(use->keep), use->fd};
}

VfsOp<SeekResult> PosixOpenFile::seek(std::uint64_t offset, SeekTo what, std::uint64_t until) {
  if (may_have_content()) [[unlikely]]
    return seek_content(offset, what, until);
  return fs_.placement().run(Call::seek, [this, offset, what] { return data_.seek(offset, what); });
}

VfsOp<> PosixOpenFile::allocate(const Credentials& who, std::uint64_t offset, std::uint64_t length) {
  if (may_have_content()) [[unlikely]]
    return space_content(who, offset, length, Space::allocated);
  return fs_.placement().run_long(
      Call::space, [this, &who, offset, length] { return data_.allocate(who, offset, length, 0); });
}

VfsOp<> PosixOpenFile::deallocate(const Credentials& who, std::uint64_t offset, std::uint64_t length) {
  if (may_have_content()) [[unlikely]]
    return space_content(who, offset, length, Space::hole);
  return fs_.placement().run_long(Call::space, [this, &who, offset, length] {
    return data_.allocate(who, offset, length, FileData::hole);
  });
}

VfsOp<> PosixOpenFile::clone_from(const Credentials& who, OpenFile& from, std::uint64_t from_offset,
                                  std::uint64_t to_offset, std::uint64_t length) {
  if (!from.has_descriptor()) return base::fail(Error::xdev);
  if (may_have_content() || from.may_have_content()) [[unlikely]]
    return clone_content(who, from, from_offset, to_offset, length);
  return fs_.placement().run_long(Call::space, [this, &who, &from, from_offset, to_offset, length] {
    return data_.clone_from(who, from, from_offset, to_offset, length);
  });
}

VfsOp<std::uint64_t> PosixOpenFile::copy_from(const Credentials& who, OpenFile& from,
                                              std::uint64_t from_offset, std::uint64_t to_offset,
                                              std::uint64_t length) {
  if (!from.has_descriptor()) return base::fail(Error::xdev);
  if (may_have_content() || from.may_have_content()) [[unlikely]]
    return copy_content(who, from, from_offset, to_offset, length);
  return fs_.placement().run_long(Call::space, [this, &who, &from, from_offset, to_offset, length] {
    return data_.copy_from(who, from, from_offset, to_offset, length);
  });
}

VfsOp<> PosixOpenFile::advise(std::uint64_t offset, std::uint64_t length, Advice advice) {
  if (may_have_content()) [[unlikely]]
    return advise_content(offset, length, advice);
  return fs_.placement().run_blocking(
      Call::read, [this, offset, length, advice] { return data_.advise(offset, length, advice); });
}

}  // namespace braid::vfs::posix
