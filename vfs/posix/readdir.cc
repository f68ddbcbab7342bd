// READDIR and READDIRPLUS.
#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <vector>

#include "vfs/posix/contents.h"
#include "vfs/posix/file_system.h"

namespace braid::vfs::posix {
namespace {

// The dirents of one getdents64(2), in a buffer on the stack. What a reply has no room for was read in vain:
// the first batch is about what a reply of 32 KiB with attributes takes.
class Batch {
 public:
  // False at the end of the directory.
  Outcome<bool> fill(int fd) {
    const std::size_t room = size_ == 0 ? first_bytes : bytes_.size();
    const ssize_t got = ::getdents64(fd, bytes_.data(), room);
    if (got < 0) return failed_call();
    size_ = static_cast<std::size_t>(got);
    at_ = 0;
    return size_ > 0;
  }
  const dirent64* next() {
    if (at_ == size_) return nullptr;
    const auto* entry = reinterpret_cast<const dirent64*>(bytes_.data() + at_);
    at_ += entry->d_reclen;
    return entry;
  }

 private:
  static constexpr std::size_t first_bytes = 8192;

  alignas(dirent64) std::array<char, 16384> bytes_;
  std::size_t size_ = 0;
  std::size_t at_ = 0;
};

// Entries that list_by_name() keeps in memory at a time.
constexpr std::size_t kept_max = 512;
constexpr std::uint64_t cookie_dot = 1, cookie_dot_dot = 2, cookie_first = 3;

// A cookie that depends on the name alone, so it cannot move when other names come and go. The key is secret,
// so nobody can make names that share one.
std::uint64_t cookie_of(std::string_view name, const base::SipKey& key) {
  if (name == ".") return cookie_dot;
  if (name == "..") return cookie_dot_dot;
  return std::max(base::siphash24(key, base::bytes_of(name)) >> 1U, cookie_first);
}

struct KeptEntry {
  std::uint64_t cookie = 0;
  std::uint64_t fileid = 0;
  std::string name;

  friend bool operator<(const KeptEntry& a, const KeptEntry& b) {
    return a.cookie != b.cookie ? a.cookie < b.cookie : a.name < b.name;
  }
};

}  // namespace

// Hands entries to the calls that want them, with what a READDIRPLUS adds.
class Tree::Emitter {
 public:
  Emitter(Tree& tree, PosixFile& directory, int listing, ListingCall& first)
      : tree_(tree), directory_(directory), listing_(listing), first_(first) {}

  // False once nobody wants more.
  bool operator()(const char* text, std::uint64_t fileid, std::uint64_t cookie) {
    const std::string_view name(text);
    DirectoryEntry entry;
    entry.name = name;
    // The parent of the export's root is nobody's business.
    entry.fileid = name == ".." && tree_.is_root(directory_) ? directory_.identity().fileid : fileid;
    entry.cookie = cookie;
    if (looks())
      if (const auto checked = Name::of(name)) {
        if (auto looked = tree_.look_at(directory_, listing_, *checked, entry.fileid)) {
          entry.handle = looked->handle;
          entry.attributes = looked->attributes;
        }
      }
    bool wanted = false;
    for (ListingCall* call = &first_; call != nullptr; call = call->next) {
      if (!call->open) continue;
      call->open = call->look ? call->sink(entry) : call->sink(name_of(entry));
      if (call->open)
        ++call->taken;
      else
        call->outcome = false;
      wanted = wanted || call->open;
    }
    return wanted;
  }

 private:
  static DirectoryEntry name_of(const DirectoryEntry& entry) {
    DirectoryEntry name;
    name.name = entry.name;
    name.fileid = entry.fileid;
    name.cookie = entry.cookie;
    return name;
  }
  [[nodiscard]] bool looks() const {
    for (const ListingCall* call = &first_; call != nullptr; call = call->next)
      if (call->open && call->look) return true;
    return false;
  }

  Tree& tree_;
  PosixFile& directory_;
  const int listing_;  // a descriptor of the directory that nobody else uses: nothing is contended for
  ListingCall& first_;
};

void Tree::readdir(PosixFile& directory, ListingCall& first) {
  for (ListingCall* call = &first; call != nullptr; call = call->next) {
    if (const auto look = may_list(call->who, directory, call->request.plus)) {
      call->open = true;
      call->look = *look;
    } else {
      call->outcome = base::fail(look.error());
    }
  }
  const auto end = list(directory, first);
  std::size_t taken = 0;
  for (ListingCall* call = &first; call != nullptr; call = call->next) {
    if (call->open) call->outcome = end;
    taken = std::max(taken, call->taken);
  }
  directory.note_listing(taken, end && *end && first.request.cookie == 0);
}

// Whether attributes come with the names, too: whoever may read the names but not search sees names only.
Outcome<bool> Tree::may_list(const Credentials& who, PosixFile& directory, bool plus) {
  if (directory.type() != FileType::directory) return base::fail(Error::notdir);
  const auto now = live_attributes(directory);
  if (!now) return base::fail(now.error());
  if (identity_.is_superuser(who)) return plus;
  if (auto permitted = permit(who, directory, R_OK, *now); !permitted) return base::fail(permitted.error());
  return plus && permit(who, directory, X_OK, *now);
}

// False: nobody wanted more.
Outcome<bool> Tree::list(PosixFile& directory, ListingCall& first) {
  bool wanted = false;
  for (const ListingCall* call = &first; call != nullptr; call = call->next) wanted = wanted || call->open;
  if (!wanted) return false;
  // A description of its own: the position belongs to this walk.
  auto fd = with_room([&]() -> Outcome<base::UniqueFd> {
    base::UniqueFd opened(::openat(directory.fd(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!opened) return failed_call();
    return opened;
  });
  if (!fd) return base::fail(fd.error());
  Emitter emit(*this, directory, fd->get(), first);
  const bool stable = options_.stable_positions.value_or(root_.traits.stable_positions);
  const std::uint64_t cookie = first.request.cookie;
  return stable ? list_by_position(*fd, cookie, emit) : list_by_name(*fd, cookie, emit);
}

// A cookie is the kernel's position after an entry.
Outcome<bool> Tree::list_by_position(const base::UniqueFd& fd, std::uint64_t cookie, Emitter& emit) {
  if (cookie > static_cast<std::uint64_t>(std::numeric_limits<off_t>::max()))
    return base::fail(Error::bad_cookie);
  if (cookie != 0 && ::lseek(fd.get(), static_cast<off_t>(cookie), SEEK_SET) < 0)
    return base::fail(errno == EINVAL ? Error::bad_cookie : error_of(errno));
  Batch batch;
  for (;;) {
    const auto more = batch.fill(fd.get());
    if (!more) return base::fail(more.error());
    if (!*more) return true;
    while (const dirent64* entry = batch.next())
      if (!emit(entry->d_name, entry->d_ino, static_cast<std::uint64_t>(entry->d_off))) return false;
  }
}

// For file systems whose positions shift when entries are removed: the whole directory is read in every call,
// and the entries with the smallest cookies above the given one are kept and handed on in their order.
Outcome<bool> Tree::list_by_name(const base::UniqueFd& fd, std::uint64_t cookie, Emitter& emit) {
  const base::SipKey key{options_.key[0] ^ 0x6469722d636f6f6b, options_.key[1] ^ 0x6965732d6f6e6c79};
  for (;;) {
    std::vector<KeptEntry> kept;  // a heap, the largest cookie first
    if (::lseek(fd.get(), 0, SEEK_SET) < 0) return failed_call();
    Batch batch;
    for (;;) {
      const auto more = batch.fill(fd.get());
      if (!more) return base::fail(more.error());
      if (!*more) break;
      while (const dirent64* entry = batch.next()) {
        KeptEntry candidate{cookie_of(entry->d_name, key), entry->d_ino, {}};
        if (candidate.cookie <= cookie) continue;
        candidate.name = entry->d_name;
        if (kept.size() == kept_max) {
          if (!(candidate < kept.front())) continue;
          std::ranges::pop_heap(kept, std::less<>());
          kept.pop_back();
        }
        kept.push_back(std::move(candidate));
        std::ranges::push_heap(kept, std::less<>());
      }
    }
    std::ranges::sort_heap(kept, std::less<>());
    for (const KeptEntry& entry : kept)
      if (!emit(entry.name.c_str(), entry.fileid, entry.cookie)) return false;
    if (kept.size() < kept_max) return true;
    cookie = kept.back().cookie;
  }
}

// Without I/O: a content is asked if it is known, and not settled. Of one that is behind nothing is said, as
// an older size makes clients forget what they have written: whoever wants the attributes asks for them.
std::optional<Tree::Looked> Tree::looked(const FileHandle& handle, const Stat& stat, std::uint64_t fsid) {
  Looked out{handle, attributes_of(stat, fsid)};
  if (!options_.cache.contents) [[likely]]
    return out;
  bool settled = true;
  const auto adjust = [&](const PosixFile& known) { settled = adjust_if_settled(known, out.attributes); };
  if (cache_.look_at(handle.view(), adjust)) return settled ? std::optional(out) : std::nullopt;
  const bool marked = (stat.stx_attributes & STATX_ATTR_NODUMP) != 0;
  if (const auto owner = marked ? owner_.lock() : nullptr)
    owner->contents().adjust_unloaded(handle, out.attributes);
  return out;
}

// Handle and attributes of one object; `listing` is a descriptor of the directory.
std::optional<Tree::Looked> Tree::look_at(PosixFile& directory, int listing, const Name& name,
                                          std::uint64_t fileid) {
  if (name.is_dot() || (name.is_dot_dot() && is_root(directory))) {
    const auto now = live_attributes(directory);
    if (!now) return std::nullopt;
    return Looked{directory.handle(), *now};
  }
  if (transient_) return look_at_transient(directory, name, fileid);
  if (const auto known = handle_memo_.find(fileid)) {
    const auto stat = stat_at(listing, name.c_str());
    if (!stat) return std::nullopt;
    if (stat->stx_ino == fileid && known->is(*stat)) return looked(known->handle, *stat, known->fsid);
  }
  // They come from two calls, but the inode numbers of listing and attributes agree, so the name meant the
  // same object all the time. Where they do not agree the object is opened.
  const auto handle = handle_at(directory, name);
  if (!handle) return std::nullopt;
  const auto stat = stat_at(listing, name.c_str());
  if (!stat) return std::nullopt;
  if (stat->stx_ino != fileid) return look_at_open(directory, name);
  const std::uint64_t fsid = fsid_of(*handle, *stat);
  if (root_.traits.birth_names_inode && stat->stx_mnt_id == root_.mount)
    handle_memo_.remember(*stat, *handle, fsid, clock_.wall());
  return looked(*handle, *stat, fsid);
}

std::optional<Tree::Looked> Tree::look_at_transient(PosixFile& directory, const Name& name,
                                                    std::uint64_t fileid) {
  const auto handle = handle_at(directory, name);
  if (!handle) return std::nullopt;
  const auto stat = stat_at(directory.fd(), name.c_str());
  if (!stat) return std::nullopt;
  if (stat->stx_ino != fileid || (!name.is_dot_dot() && transient_->handle_of(*stat) != *handle))
    return look_at_open(directory, name);
  return looked(*handle, *stat, fsid_of(*handle, *stat));
}

std::optional<Tree::Looked> Tree::look_at_open(PosixFile& directory, const Name& name) {
  const auto fd =
      transient_ ? open_path_beneath(directory.fd(), name.c_str()) : open_path(directory.fd(), name.c_str());
  if (!fd) return std::nullopt;
  const auto stat = stat_of(fd->get());
  if (!stat) return std::nullopt;
  if (transient_) {
    const FileHandle handle = transient_->handle_of(*stat);
    transient_->place(handle, directory.handle(), name.view());
    return looked(handle, *stat, fsid_of(handle, *stat));
  }
  const auto kernel = kernel_handle(fd->get(), "");
  if (!kernel) return std::nullopt;
  const FileHandle handle = codec_.seal({false, kernel->type, kernel->view()});
  return looked(handle, *stat, fsid_of(handle, *stat));
}

}  // namespace braid::vfs::posix
