#include "tests/unit/store/crash_disk.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace braid::store::test {
namespace {

// How many of so many are left.
std::size_t beginning(std::size_t count, Left left, std::mt19937& random) {
  if (left == Left::nothing || left == Left::data) return 0;
  return left == Left::anything ? random() % (count + 1) : count;
}
bool is_left(Left left, std::mt19937& random) {
  if (left == Left::nothing || left == Left::metadata) return false;
  return left != Left::anything || random() % 2 == 0;
}

}  // namespace

void CrashInode::Image::resize(std::uint64_t to) {
  blocks.erase(blocks.lower_bound((to + block_bytes - 1) / block_bytes), blocks.end());
  if (const auto last = blocks.find(to / block_bytes); last != blocks.end())
    std::fill(last->second.begin() + static_cast<std::ptrdiff_t>(to % block_bytes), last->second.end(), '\0');
  size = to;
}

void CrashInode::Image::punch(std::uint64_t offset, std::uint64_t length) {
  const std::uint64_t end = offset + length;
  for (auto block = blocks.lower_bound(offset / block_bytes); block != blocks.end();) {
    const std::uint64_t begin = block->first * block_bytes;
    if (begin >= end) break;
    if (begin >= offset && begin + block_bytes <= end) {
      block = blocks.erase(block);
      continue;
    }
    const std::uint64_t from = std::max(offset, begin) - begin, to = std::min(end - begin, block_bytes);
    std::fill(block->second.begin() + static_cast<std::ptrdiff_t>(from),
              block->second.begin() + static_cast<std::ptrdiff_t>(to), '\0');
    ++block;
  }
}

std::size_t CrashInode::read(std::uint64_t offset, base::MutableBytes to) const {
  if (offset >= now_.size) return 0;
  const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(to.size(), now_.size - offset));
  for (std::size_t done = 0; done < count;) {
    const std::uint64_t at = offset + done;
    const auto piece = std::min<std::size_t>(count - done, block_bytes - at % block_bytes);
    const auto block = now_.blocks.find(at / block_bytes);
    if (block == now_.blocks.end())
      std::memset(to.data() + done, 0, piece);
    else
      std::memcpy(to.data() + done, block->second.data() + at % block_bytes, piece);
    done += piece;
  }
  return count;
}

void CrashInode::write(std::uint64_t offset, base::BytesView bytes) {
  ++changes_;
  Event event;
  for (std::size_t done = 0; done < bytes.size();) {
    const std::uint64_t at = offset + done, number = at / block_bytes;
    const auto piece = std::min<std::size_t>(bytes.size() - done, block_bytes - at % block_bytes);
    const auto [block, fresh] = now_.blocks.try_emplace(number, block_bytes, '\0');
    if (fresh) placed_by_[number] = events_.size() + 1;
    const std::string_view text = base::text_of(bytes.subspan(done, piece));
    block->second.replace(at % block_bytes, piece, text);
    event.blocks[number] = {block->second, placed_by_[number]};
    done += piece;
  }
  now_.size = std::max(now_.size, offset + bytes.size());
  event.size_after = now_.size;
  events_.push_back(std::move(event));
}

void CrashInode::change(std::function<void(Image&)> metadata) {
  ++changes_;
  metadata(now_);
  events_.push_back({.metadata = std::move(metadata), .blocks = {}, .size_after = 0});
}

void CrashInode::resize(std::uint64_t size) {
  change([size](Image& image) { image.resize(size); });
}
void CrashInode::punch(std::uint64_t offset, std::uint64_t length) {
  change([offset, length](Image& image) { image.punch(offset, length); });
}
void CrashInode::set_attribute(const std::string& name, std::optional<base::Bytes> value) {
  change([name, value](Image& image) {
    if (value)
      image.attributes[name] = *value;
    else
      image.attributes.erase(name);
  });
}
void CrashInode::set_times(const vfs::Time& atime, const vfs::Time& mtime) {
  change([atime, mtime](Image& image) {
    image.atime = atime;
    image.mtime = mtime;
  });
}

void CrashInode::sync() {
  durable_ = now_;
  events_.clear();
  placed_by_.clear();
}

void CrashInode::crash(Left left, std::mt19937& random) {
  const std::size_t kept = beginning(events_.size(), left, random);
  Image out = durable_;
  for (std::size_t i = 0; i < events_.size(); ++i) {
    const Event& event = events_[i];
    if (event.metadata && i < kept) event.metadata(out);
    for (const auto& [number, written] : event.blocks) {
      if (!is_left(left, random) || written.placed_by > kept) continue;
      out.blocks[number] = written.bytes;
      if (i < kept) out.size = std::max(out.size, std::min(event.size_after, (number + 1) * block_bytes));
    }
  }
  // What a block has behind the end nobody sees.
  out.resize(out.size);
  now_ = std::move(out);
  sync();
}

std::optional<Extent> CrashInode::next_data(std::uint64_t offset) const {
  auto block = now_.blocks.lower_bound(offset / block_bytes);
  if (block == now_.blocks.end()) return std::nullopt;
  const std::uint64_t begin = std::max(offset, block->first * block_bytes);
  if (begin >= now_.size) return std::nullopt;
  std::uint64_t end = block->first + 1;
  for (++block; block != now_.blocks.end() && block->first == end; ++block) ++end;
  return Extent{begin, std::min(end * block_bytes, now_.size)};
}

FileStatus CrashInode::status() const {
  return {.size = now_.size,
          .allocated = now_.blocks.size() * block_bytes,
          .fileid = 1,
          .block_bytes = block_bytes,
          .atime = now_.atime,
          .mtime = now_.mtime,
          .ctime = {static_cast<std::int64_t>(changes_), 0}};
}

std::optional<base::Bytes> CrashInode::attribute(const std::string& name) const {
  const auto found = now_.attributes.find(name);
  return found == now_.attributes.end() ? std::nullopt : std::optional(found->second);
}

void CrashNames::change(std::function<void(Names&)> what) {
  what(now_);
  events_.push_back(std::move(what));
}

void CrashNames::sync() {
  durable_ = now_;
  events_.clear();
}

void CrashNames::crash(Left left, std::mt19937& random) {
  const std::size_t kept = beginning(events_.size(), left, random);
  now_ = durable_;
  for (std::size_t i = 0; i < kept; ++i) events_[i](now_);
  sync();
}

class CrashFile final : public File {
 public:
  CrashFile(CrashDisk& disk, std::shared_ptr<CrashInode> inode, bool is_container)
      : disk_(disk), inode_(std::move(inode)), is_container_(is_container) {}

  base::Result<std::size_t> read(std::uint64_t offset, base::MutableBytes to) override {
    return inode_->read(offset, to);
  }
  base::Result<void> write(std::uint64_t offset, base::BytesView bytes) override {
    return done([&] { inode_->write(offset, bytes); });
  }
  base::Result<void> resize(std::uint64_t size) override {
    return done([&] { inode_->resize(size); });
  }
  base::Result<void> punch(std::uint64_t offset, std::uint64_t length) override {
    return done([&] { inode_->punch(offset, length); });
  }
  base::Result<std::optional<Extent>> next_data(std::uint64_t offset) override {
    return inode_->next_data(offset);
  }
  base::Result<FileStatus> status() override { return inode_->status(); }
  base::Result<void> set_times(const vfs::Time& atime, const vfs::Time& mtime) override {
    return done([&] { inode_->set_times(atime, mtime); });
  }
  base::Result<void> sync() override {
    return done([&] {
      if (!is_container_ || !disk_.containers_are_not_synced) inode_->sync();
    });
  }
  base::Result<void> sync_file_system() override { return sync(); }
  void forget_cached(std::uint64_t /*offset*/, std::uint64_t /*length*/) override {}
  base::Result<std::optional<base::Bytes>> attribute(const char* name) override {
    return inode_->attribute(name);
  }
  base::Result<void> set_attribute(const char* name, base::BytesView value) override {
    return done([&] { inode_->set_attribute(name, base::Bytes(value.begin(), value.end())); });
  }
  base::Result<void> remove_attribute(const char* name) override {
    return done([&] { inode_->set_attribute(name, std::nullopt); });
  }
  base::Result<void> set_hint(bool /*on*/) override { return {}; }
  base::Result<KernelHandle> handle() override {
    return KernelHandle{.type = 1, .size = 2, .bytes = {std::byte{1}, std::byte{2}}};
  }

 private:
  template <class F>
  base::Result<void> done(F change) {
    disk_.step();
    change();
    return {};
  }

  CrashDisk& disk_;
  const std::shared_ptr<CrashInode> inode_;
  const bool is_container_;
};

class CrashMedium final : public Medium {
 public:
  explicit CrashMedium(CrashDisk& disk) : disk_(disk) {}

  base::Result<std::unique_ptr<File>> open(const std::string& name, OpenFor what) override {
    CrashNames& directory = disk_.directory_of(name);
    const auto found = directory.now().find(name);
    if (what != OpenFor::creating && found == directory.now().end()) return base::fail(ENOENT);
    if (what == OpenFor::creating && found != directory.now().end()) return base::fail(EEXIST);
    if (what == OpenFor::creating) {
      disk_.step();
      const auto fresh = std::make_shared<CrashInode>();
      directory.change([name, fresh](CrashNames::Names& names) { names[name] = fresh; });
    }
    return std::make_unique<CrashFile>(disk_, directory.now().at(name), name.contains('/'));
  }
  base::Result<std::vector<std::string>> list(const std::string& directory) override {
    std::vector<std::string> out;
    for (const auto& [name, inode] : disk_.directories_[directory].now())
      out.push_back(directory.empty() ? name : name.substr(directory.size() + 1));
    if (directory.empty() && disk_.directories_.size() > 1) out.emplace_back("containers");
    return out;
  }
  base::Result<void> make_directory(const std::string& name) override {
    disk_.directories_[name];
    return {};
  }
  base::Result<void> rename(const std::string& from, const std::string& to) override {
    disk_.step();
    const bool lost = disk_.forwarding_is_lost && from.contains('/');
    disk_.directory_of(from).change([from, to, lost](CrashNames::Names& names) {
      names[to] = names.at(from);
      names.erase(from);
      if (lost) names.erase(to);
    });
    return {};
  }
  base::Result<void> remove(const std::string& name) override {
    disk_.step();
    disk_.directory_of(name).change([name](CrashNames::Names& names) { names.erase(name); });
    return {};
  }
  base::Result<void> sync_directory(const std::string& directory) override {
    disk_.step();
    disk_.directories_[directory].sync();
    return {};
  }
  std::unique_ptr<File> file_of(int /*descriptor*/) override { return disk_.exported(); }

 private:
  CrashDisk& disk_;
};

void CrashDisk::step() {
  if (left_ && (*left_)-- == 0) {
    left_.reset();
    throw PowerCut();
  }
  ++changes_;
}

CrashNames& CrashDisk::directory_of(const std::string& name) {
  const std::size_t slash = name.find('/');
  return directories_[slash == std::string::npos ? "" : name.substr(0, slash)];
}

void CrashDisk::crash(Left of_store, Left of_exported, std::mt19937& random) {
  left_.reset();
  for (auto& [name, directory] : directories_) {
    const CrashNames::Names before = directory.now();
    directory.crash(of_store, random);
    for (const auto& [file, inode] : directory.now()) inode->crash(of_store, random);
  }
  exported_->crash(of_exported, random);
}

std::unique_ptr<Medium> CrashDisk::medium() { return std::make_unique<CrashMedium>(*this); }
std::unique_ptr<File> CrashDisk::exported() { return std::make_unique<CrashFile>(*this, exported_, false); }

}  // namespace braid::store::test
