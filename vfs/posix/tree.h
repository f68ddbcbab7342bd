// An exported directory tree in terms of system calls: the synchronous half of PosixFileSystem. Names and
// attributes; content is FileData's.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/clock.h"
#include "base/siphash.h"
#include "vfs/content.h"
#include "vfs/file_system.h"
#include "vfs/posix/cache.h"
#include "vfs/posix/export_root.h"
#include "vfs/posix/file.h"
#include "vfs/posix/handle_memo.h"
#include "vfs/posix/identity.h"
#include "vfs/posix/inherited_memo.h"
#include "vfs/posix/kernel.h"
#include "vfs/posix/late.h"
#include "vfs/posix/lease.h"
#include "vfs/posix/listing.h"
#include "vfs/posix/open_file.h"
#include "vfs/posix/open_watch.h"
#include "vfs/posix/spare_descriptors.h"
#include "vfs/posix/transient_handles.h"
#include "vfs/posix/write_back.h"

namespace braid::vfs::posix {

// What a reload of the configuration changes for files that are open already. Thread-safe.
struct OpensOptions {
  OpensOptions(bool reads_only, bool syncs) : read_only(reads_only), sync(syncs) {}
  std::atomic<bool> read_only;
  std::atomic<bool> sync;
};

struct TreeOptions {
  ExportId id;              // of the handles
  base::SipKey key{};       // that signs them
  std::string export_path;  // as clients mount it: part of the fsid
  bool read_only = false;
  bool sync = true;  // names and attributes are durable when a call returns
  // Of all files that are open in this export, also since before a reload; its owner has them say what the
  // last two do. Null: nobody changes them.
  std::shared_ptr<const OpensOptions> opens;
  FileCacheOptions cache;
  std::size_t transient_handles_max = 1'000'000;
  // Shared by the exports of a server; null: this export is alone.
  std::shared_ptr<WriteBacks> write_backs;
  // What a less permissive system would not give; for tests.
  ExportRootOptions root;
  std::optional<bool> stable_positions;
  // No source of the export's contents knows sealed files (vfs/sealed.h): they are not opened.
  bool refuses_sealed = true;
};

class PosixFileSystem;
struct Setting;

// Thread-safe. Functions may block unless said otherwise; what they change is durable on return if the
// options say so. Every File given must be of this tree.
class Tree {
 public:
  Tree(ExportRoot root, const TreeOptions& options, const base::Clock& clock);

  [[nodiscard]] const FileRef& root() const { return root_file_; }
  [[nodiscard]] const ExportRoot& base() const { return root_; }
  [[nodiscard]] const Identity& identity() const { return identity_; }
  [[nodiscard]] FileCache& cache() { return cache_; }
  [[nodiscard]] const FileCache& cache() const { return cache_; }
  [[nodiscard]] LeaseMonitor& leases() { return leases_; }
  // True if changes wait for the medium.
  [[nodiscard]] bool syncs() const { return options_.sync && !root_.traits.in_memory; }
  // The same of what is done through an open.
  [[nodiscard]] bool opens_sync() const { return opens_->sync && !root_.traits.in_memory; }
  [[nodiscard]] const OpensOptions& opens() const { return *opens_; }
  [[nodiscard]] WriteBack& write_back() const { return *write_back_; }
  [[nodiscard]] std::weak_ptr<WriteBack> shared_write_back() const { return write_back_; }
  [[nodiscard]] Verifier write_verifier() const { return write_back_->verifier(); }
  // Opens the root; once, before anything else. `owner`: the file system that this belongs to.
  base::Result<void> start(std::weak_ptr<PosixFileSystem> owner);
  // Null: it ends.
  [[nodiscard]] std::shared_ptr<PosixFileSystem> owner() const { return owner_.lock(); }

  // badhandle, or the open object, or null if resolve() has to open it. Does not block.
  Outcome<FileRef> find(base::BytesView handle);
  // For a handle that find() verified.
  Outcome<FileRef> resolve(base::BytesView handle);

  Outcome<Attributes> getattr(PosixFile& file);
  // Through an open, or for who has none.
  Outcome<> setattr(const Credentials& who, const FileData& data, const SetAttributes& set,
                    std::optional<Time> guard, Wcc* wcc);
  // The same around a change of the size that is not done here: who may not do it hears so before, and all
  // else of `set` comes after it.
  Outcome<> begin_setting(const Credentials& who, const FileData& data, const SetAttributes& set,
                          std::optional<Time> guard, Wcc* wcc, Setting& setting);
  Late<> end_setting(const Credentials& who, const FileData& data, const SetAttributes& set,
                     Setting& setting);
  Outcome<Found> lookup(const Credentials& who, PosixFile& directory, std::string_view name);
  Outcome<std::uint32_t> access(const Credentials& who, PosixFile& file, std::uint32_t wanted,
                                std::optional<Attributes>& now);
  // How many bytes of the target are in `out`.
  Outcome<std::size_t> readlink(PosixFile& link, base::MutableBytes out);
  // `created`: this call made the file, which was not there before.
  Outcome<Found> create(const Credentials& who, PosixFile& directory, std::string_view name,
                        const CreateHow& how, Wcc& wcc, bool& created);
  Outcome<Found> mkdir(const Credentials& who, PosixFile& directory, std::string_view name,
                       const SetAttributes& set, Wcc& wcc);
  Outcome<Found> symlink(const Credentials& who, PosixFile& directory, std::string_view name,
                         std::string_view target, const SetAttributes& set, Wcc& wcc);
  Outcome<Found> mknod(const Credentials& who, PosixFile& directory, std::string_view name,
                       const SpecialFile& special, const SetAttributes& set, Wcc& wcc);
  // Before REMOVE, or RENAME over a name: what that is, as far as its content has to hear of it.
  struct Victim {
    std::optional<FileHandle> handle;  // none: no such name
    FileRef file;                      // null: nobody has to hear
    bool other = false;                // the name meant something else when it was to go: nothing was done
  };
  Outcome<Victim> victim_of(const Credentials& who, PosixFile& directory, std::string_view name);
  // Fills `wcc` for a call that does nothing to the directory.
  Outcome<> look_around(PosixFile& directory, Wcc& wcc);
  // `victim`: what the name must still mean; null: anything.
  Outcome<> remove(const Credentials& who, PosixFile& directory, std::string_view name, Wcc& wcc,
                   Victim* victim = nullptr);
  Outcome<> rmdir(const Credentials& who, PosixFile& directory, std::string_view name, Wcc& wcc);
  Outcome<> rename(const Credentials& who, PosixFile& from, std::string_view from_name, PosixFile& to,
                   std::string_view to_name, Wcc& from_wcc, Wcc& to_wcc, Victim* victim = nullptr);
  Outcome<> link(const Credentials& who, PosixFile& file, PosixFile& directory, std::string_view name,
                 Wcc& wcc);
  // Answers `first` and the calls after it, all from the same cookie.
  void readdir(PosixFile& directory, ListingCall& first);
  Outcome<FileSystemStatus> status(PosixFile& file);
  Outcome<FileSystemLimits> limits(PosixFile& file);

  // Files held open, and locks (opening.cc, locking.cc).
  Outcome<OpenFileRef> open(const Credentials& who, const FileRef& file, OpenAccess access, OpenRule rule);
  Outcome<OpenCreated> open_create(const Credentials& who, PosixFile& directory, std::string_view name,
                                   OpenAccess access, const CreateHow& how, Wcc& wcc);
  // `others_first`: the file has so many locks that others should run before the next call. Nothing: only a
  // part of what has to be done before was done, and the call is to be made again.
  Outcome<std::optional<LockAttempt>> lock(const PosixOpenFile& open, LockOwnerId owner,
                                           const LockRange& range, LockType type, bool& others_first);
  Outcome<std::optional<LockConflict>> test_lock(PosixFile& file, LockOwnerId owner, const LockRange& range,
                                                 LockType type);
  // The owner has none of the range from the first call on, with `freed` empty. False: local processes are
  // still kept out of a part of it, and the call is to be made again.
  Outcome<bool> unlock(PosixFile& file, LockOwnerId owner, const LockRange& range,
                       std::optional<LockTable::Freed>& freed, bool& others_first);
  // Locks that the call of lock() or unlock() has looked at that has looked at the most.
  [[nodiscard]] std::uint64_t lock_entries_max() const {
    return lock_entries_max_.load(std::memory_order_relaxed);
  }

  // Before a write lease is taken: no description of ours is left that only waits for the file's bytes.
  void settle(PosixFile& file);
  // For local removals; about every second.
  void sweep_write_back() { write_back_->forget_removed(); }
  [[nodiscard]] std::size_t unsynced() const { return write_back_->kept(); }

  // notdir; too_many_open_files: no room for one more descriptor; stale; others: it cannot be watched.
  Outcome<LeaseRef> lease_directory(const FileRef& directory, std::shared_ptr<LeaseNotice> notice);

  // Extended attributes and ACLs (xattr.cc, acl.cc). How many bytes of the value are in `out`.
  Outcome<std::size_t> get_xattr(const Credentials& who, PosixFile& file, std::string_view name,
                                 base::MutableBytes out);
  Outcome<> set_xattr(const Credentials& who, PosixFile& file, std::string_view name, base::BytesView value,
                      XattrMode mode, Wcc& wcc);
  Outcome<bool> list_xattrs(const Credentials& who, PosixFile& file, std::uint64_t cookie,
                            const XattrSink& sink);
  Outcome<> remove_xattr(const Credentials& who, PosixFile& file, std::string_view name, Wcc& wcc);
  Outcome<PosixAcl> get_acl(PosixFile& file);
  Outcome<> set_acl(const Credentials& who, PosixFile& file, const SetAcl& set, Wcc* wcc);

  // What a content does to its stub (stub.cc). No lease and no watch is told of it. Without a `record` there
  // is none afterwards. A record is on the medium on return.
  Outcome<> put_record(PosixFile& file, std::string_view name, std::optional<base::BytesView> record);
  Outcome<> put_size_and_times(PosixFile& file, const SetAttributes& set);
  Outcome<> punch(PosixFile& file, std::uint64_t offset, std::uint64_t length);
  // As long as the result lives: the inode may change, and nobody is told.
  OwnChanges quietly(const PosixFile& file);
  // `clients`: and whether anybody opens it from now on.
  Outcome<Writers> writers(PosixFile& file, bool restless, std::optional<OpenWatch>& opens);
  // Whether this descriptor is the only one of its file; `opens`: of those since then.
  bool is_only(int fd, std::optional<OpenWatch>& opens);
  // `ctime`: that somebody has just seen; nothing: nobody looked.
  Outcome<std::optional<Stub::Inherited>> inherited(const PosixFile& file, std::string_view attribute,
                                                    std::optional<Time> ctime);
  Outcome<> sync_stub(PosixFile& file);
  Outcome<bool> has_privileges(PosixFile& file);
  Outcome<> drop_privileges(PosixFile& file);
  // As any write does.
  static Outcome<> drop_capabilities(const PosixFile& file);
  // After `who` has written to a file of this mode (as the kernel does for who is not root).
  Outcome<> drop_set_id(const Credentials& who, PosixFile& file, std::uint32_t mode);
  static std::uint32_t without_set_id(std::uint32_t mode);
  // The last name and the last open of the file are gone.
  void forget(PosixFile& file);

  // What reading and writing content needs (attributes.cc, permission.cc, descriptors.cc, durability.cc).
  // `inode`, unless it is null, gets what the kernel says, without what a content corrects.
  Outcome<Attributes> observe(PosixFile& file, Stat* inode = nullptr);
  Outcome<Attributes> live_attributes(PosixFile& file, Stat* inode = nullptr);
  Outcome<> permit_data(const Credentials& who, PosixFile& file, Rights rights, const Attributes& now);
  Outcome<int> data_descriptor(PosixFile& file, Opened wanted);
  // io: the file, which was looked at just now, is sealed, and nobody here knows its bytes. `fd` is of it.
  Outcome<> refuse_sealed(const PosixFile& file, int fd) const;
  // Opens a parked file again, whose caller has a FileRef. delay: no descriptor is to be had now; stale.
  Outcome<> unpark(PosixFile& file);
  // The same, and what opens of this access share, of which the caller has one.
  Outcome<int> shared_descriptor(PosixFile& file, OpenAccess access);
  // The same for all accesses that the file is open for: no open of ours is overlooked by the kernel.
  Outcome<> share_all(PosixFile& file);
  // Something to fsync a file through, as long as `keep` lives.
  struct Readable {
    int fd = -1;
    FileRef file;
    std::shared_ptr<PosixOpenFile> open;
  };
  // How a change of an object will be synced: made before the change, so that nothing can be wanting after
  // it, and no failure of others in between goes unnoticed. The object outlives it.
  struct PlannedSync {
    FileSyncs* syncs = nullptr;  // null: nothing is to be done
    FileSyncs::How how = FileSyncs::How::fsync;
    Readable through;
    std::uint64_t since = 0;
  };
  PlannedSync plan_sync(const FileData& open);
  static Late<> carry_out(const PlannedSync& plan);

 private:
  friend class Change;
  static constexpr std::size_t shrink_step = 64;

  // Objects by handle and by name (names.cc).
  [[nodiscard]] bool is_root(const PosixFile& file) const { return &file == root_file_.get(); }
  [[nodiscard]] std::uint64_t fsid_of(const FileHandle& handle, const Stat& stat) const;
  Outcome<FileHandle> handle_at(const PosixFile& directory, const Name& name);
  Outcome<FileRef> file_at(PosixFile& directory, const Name& name);
  Outcome<Found> found(FileRef file);
  Late<Found> adopt(PosixFile& directory, const Name& name, base::UniqueFd fd, Opened opened);
  Outcome<FileRef> keep(const FileHandle& handle, base::UniqueFd fd, Opened opened);
  Outcome<FileRef> keep(const FileHandle& handle, base::UniqueFd fd, Opened opened, const Stat& stat);
  Outcome<FileRef> walk_to(const FileHandle& handle);
  Outcome<FileRef> step_to(const FileHandle& handle, const PosixFile& parent, const std::string& name);
  // Opening may meet the system's limit on descriptors before the cache does: it gives some back, once.
  template <class F>
  auto with_room(F open) -> std::invoke_result_t<F&> {
    auto opened = open();
    if (opened || opened.error() != Error::delay) return opened;
    cache_.shrink(shrink_step);
    return open();
  }

  // Opens what was just made, which is not to fail for want of descriptors: `spare` was taken before.
  template <class F>
  Late<base::UniqueFd> open_made(base::UniqueFd spare, F open) {
    Outcome<base::UniqueFd> opened = open();
    // Whatever becomes free may go to another thread.
    constexpr int attempts_max = 16;
    for (int attempt = 0; attempt < attempts_max && !opened && opened.error() == Error::delay; ++attempt) {
      spare = {};
      cache_.shrink(shrink_step);
      opened = open();
    }
    spares_.give_back(std::move(spare));
    if (!opened) return late(opened.error());
    return std::move(*opened);
  }

  // Attributes and permissions (attributes.cc, permission.cc).
  // What `stat` says of it, looked at after `changes` were counted.
  Attributes seen(PosixFile& file, const Stat& stat, std::uint32_t changes);
  bool lost_last_name(PosixFile& file, io::PeerId remover = {});
  Outcome<> permit(const Credentials& who, PosixFile& file, Rights rights, const Attributes& now);
  Rights granted_rights(const Credentials& who, PosixFile& file, Rights wanted, const Attributes& now);
  Outcome<> permit_search(const Credentials& who, PosixFile& directory);
  [[nodiscard]] std::uint64_t fingerprint_of(const Credentials& who) const;
  Outcome<base::UniqueFd> open_again(const PosixFile& file, int flags);
  [[nodiscard]] Outcome<base::UniqueFd> open_descriptor(int fd, int flags) const;
  Outcome<> apply(const Credentials& who, PosixFile& file, const SetAttributes& set, const Attributes& now,
                  const FileData& data);
  static Outcome<> put_times(const PosixFile& file, const SetAttributes& set);
  Outcome<> through_writer(PosixFile& file, const std::function<Outcome<>(int fd)>& work);
  // The path of the file from the export's root on, by a name that the kernel has; empty: it has none.
  [[nodiscard]] Outcome<std::string> path_in_export(const PosixFile& file) const;
  Outcome<std::optional<Stub::Inherited>> look_up_for(const PosixFile& file, const std::string& path,
                                                      std::string_view attribute);
  Outcome<> put_size(PosixFile& file, std::uint64_t size);
  Outcome<> change_times(const Credentials& who, PosixFile& file, const SetAttributes& set,
                         const Attributes& now);

  // Making and removing names (create.cc, make.cc, remove.cc, rename.cc).
  [[nodiscard]] std::uint32_t initial_mode(const PosixFile& directory, const SetAttributes& set) const;
  Outcome<base::UniqueFd> create_descriptor(const Credentials& who, const PosixFile& directory,
                                            const Name& name, const CreateHow& how, int access);
  static bool is_repetition(const CreateHow& how, const Attributes& now);
  Outcome<Found> create_new(const Credentials& who, PosixFile& directory, const Name& name,
                            const CreateHow& how);
  Outcome<Found> create_existing(const Credentials& who, PosixFile& directory, const Name& name,
                                 const CreateHow& how);
  Late<Found> new_object(PosixFile& directory, const Name& name, FileType type, base::UniqueFd spare);
  Late<> apply_initial(const Credentials& who, Found& made, const SetAttributes& set, const FileData& data);
  template <class F>
  Outcome<Found> make(const Credentials& who, PosixFile& directory, std::string_view name, FileType type,
                      const SetAttributes& set, Wcc& wcc, F make_it);
  Outcome<> remove_name(const Credentials& who, PosixFile& directory, std::string_view name, int flags,
                        Wcc& wcc, Victim* expected);
  std::optional<FileHandle> handle_before_removal(PosixFile& directory, const Name& name);
  void forget_if_gone(const std::optional<FileHandle>& handle, io::PeerId remover);
  // False if both names are of one object: rename(2) then does nothing.
  Outcome<bool> rename_within(const Credentials& who, PosixFile& from, const Name& from_name, PosixFile& to,
                              const Name& to_name, Victim* expected);
  Outcome<> link_as(const Credentials& who, PosixFile& file, PosixFile& directory, const Name& name);

  // Opening (opening.cc).
  // Room for an open of this file (null: a new one), or for sharing one for a moment; too_many_open_files.
  static int open_flags(OpenAccess access);  // of open(2)
  Outcome<DescriptorSlot> room_for_open(const PosixFile* file, OpenAccess access);
  Outcome<base::UniqueFd> open_for(const Credentials& who, PosixFile& file, OpenAccess access, OpenRule rule,
                                   const Attributes& now);
  Outcome<OpenCreated> open_new(const Credentials& who, PosixFile& directory, const Name& name,
                                OpenAccess access, const CreateHow& how);
  Outcome<OpenCreated> open_existing(const Credentials& who, PosixFile& directory, const Name& name,
                                     OpenAccess access, const CreateHow& how);
  // Before a change of names or attributes: delay while leases on the file are not the caller's; their
  // holders are told that somebody waits (locking.cc). If the caller has one itself, the result lasts as long
  // as the change, and the file longer than the result.
  Outcome<OwnChanges> ask_back(const Credentials& who, const PosixFile& file, OwnChange kind);
  // A name's object, which nobody has a lease on unless the cache knows it: otherwise null.
  FileRef cached(const std::optional<FileHandle>& handle);
  // The same before the name goes: a parked file is opened, since it could not be afterwards. delay: it could
  // not be parked any more, and few descriptors are left, or the caller's peer has its share of such files.
  Outcome<FileRef> cached_victim(const Credentials& who, const std::optional<FileHandle>& handle);
  Outcome<OwnChanges> ask_back(const Credentials& who, const FileRef& file, OwnChange kind);
  // The same, before `name` comes to the directory or goes from it.
  Outcome<OwnChanges> ask_back_entry(const Credentials& who, const PosixFile& directory, const Name& name);
  // If it is not there yet: otherwise it does not come.
  Outcome<OwnChanges> ask_back_to_add(const Credentials& who, const PosixFile& directory, const Name& name);
  // Locking (locking.cc).
  // False: it has begun, and is to be called again.
  Outcome<bool> describe_locks(const PosixOpenFile& open, LockType type, Holdings& held);
  Outcome<Holdings::LockDescription> lock_description(const PosixOpenFile& open, LockType type, bool leased);

  // Listing (readdir.cc).
  class Emitter;
  Outcome<bool> may_list(const Credentials& who, PosixFile& directory, bool plus);
  Outcome<bool> list(PosixFile& directory, ListingCall& first);
  struct Looked {
    FileHandle handle;
    Attributes attributes;
  };
  std::optional<Looked> looked(const FileHandle& handle, const Stat& stat, std::uint64_t fsid);
  std::optional<Looked> look_at(PosixFile& directory, int listing, const Name& name, std::uint64_t fileid);
  std::optional<Looked> look_at_transient(PosixFile& directory, const Name& name, std::uint64_t fileid);
  std::optional<Looked> look_at_open(PosixFile& directory, const Name& name);
  Outcome<bool> list_by_position(const base::UniqueFd& fd, std::uint64_t cookie, Emitter& emit);
  Outcome<bool> list_by_name(const base::UniqueFd& fd, std::uint64_t cookie, Emitter& emit);

  // Durability (durability.cc): nothing to do unless syncs().
  Outcome<Readable> readable(PosixFile& file);
  static Late<> told_of(const FileSyncs::Synced& synced);
  PlannedSync plan_sync(PosixFile& file);
  PlannedSync planned(PosixFile& file);
  Late<> sync_new(const PlannedSync& directory, PosixFile& made);

  const ExportRoot root_;
  const TreeOptions options_;
  const std::shared_ptr<const OpensOptions> opens_;
  const Identity identity_ = Identity::of_process();
  const base::Clock& clock_;
  std::atomic<std::uint64_t> lock_entries_max_{0};
  const HandleCodec codec_;
  const base::SipKey fingerprint_key_ = base::random_sip_key();
  const std::shared_ptr<WriteBack> write_back_;
  std::optional<TransientHandles> transient_;
  std::uint64_t fsid_ = 0;
  std::uint64_t root_subvolume_ = 0;
  HandleMemo handle_memo_;
  std::weak_ptr<PosixFileSystem> owner_;
  FileCache cache_;
  InheritedMemo inherited_;
  SpareDescriptors spares_;
  FileRef root_file_;
  LeaseMonitor leases_;
};

// A change to an object, from the attributes before it to those after it: fills the Wcc, if there is one,
// whatever happens in between. Of a call that changes nothing it is the looks alone, and no change for
// others.
class Change {
 public:
  Change(Tree& tree, PosixFile& file, Wcc* wcc, Changes what = Changes::something);
  ~Change();
  Change(const Change&) = delete;
  Change& operator=(const Change&) = delete;

  // stale: the object is gone.
  [[nodiscard]] Outcome<> alive() const;
  // The same; rofs: the export is read-only, or is for the caller.
  [[nodiscard]] Outcome<> allowed(const Credentials& who) const;
  // The call had nothing to do: the object is what it was.
  void none() { none_ = true; }
  // Only after one of these.
  [[nodiscard]] const Attributes& before() const { return *before_; }

 private:
  Tree& tree_;
  PosixFile& file_;
  Wcc* const wcc_;
  const Changes what_;
  const ChangeCounter::Look begun_;
  const Outcome<Attributes> before_;
  bool none_ = false;
};

// A SETATTR, from the looks before it to those after it, which are when this ends.
struct Setting {
  FileRef keep;
  Tree::PlannedSync plan;
  std::optional<Change> change;
  std::optional<OwnChanges> own;
};

}  // namespace braid::vfs::posix
