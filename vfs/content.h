// A regular file's bytes when they are somewhere else than in the file itself: in stripes on other servers,
// in the chunks of a store. The file stays as the stub of them, with a record that says where they are.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "vfs/file.h"
#include "vfs/open_file.h"
#include "vfs/types.h"

namespace braid::vfs {

class Content;
class ContentSource;
class FileSystem;

// Changes of an inode by its source, which change nothing that it says: for clients it is as before.
struct HiddenChanges {
  // Of the change attribute as the inode has it: they are those behind `after`, up to `until`.
  std::uint64_t after = 0, until = 0;
  // What clients see then.
  Time mtime, ctime;
  std::uint64_t change = 0;

  void hide(Attributes& attributes) const {
    if (attributes.change <= after || attributes.change > until || attributes.mtime != mtime) return;
    attributes.mtime = mtime;
    attributes.ctime = ctime;
    attributes.change = change;
  }
  friend bool operator==(const HiddenChanges&, const HiddenChanges&) = default;
};
// Null: the bytes are the file's own, as they usually are.
using ContentRef = std::shared_ptr<Content>;

// Who may have a file open for writing: nobody; clients of this server alone; or others, as local processes,
// too, for all that the kernel tells.
enum class Writers : std::uint8_t { none, clients, others };

// The file of the name, as its content sees it. What is changed through it is no news to the holder of any
// lease and no local process's doing: nobody is told. It is there as long as the call that it was given to;
// thread-safe.
class Stub {
 public:
  virtual ~Stub() = default;
  Stub(const Stub&) = delete;
  Stub& operator=(const Stub&) = delete;
  // The wire handle, and the inode's number: for the record of a content that is to know its own file again.
  [[nodiscard]] virtual const FileHandle& handle() const = 0;
  [[nodiscard]] virtual std::uint64_t fileid() const = 0;
  // This kernel's name for what that number is unique in: the same in all exports of a file system. 0: there
  // is none.
  [[nodiscard]] virtual std::uint64_t device() const { return 0; }

  // A descriptor of the file's own bytes, as long as the stub; nobody asks for a caller's rights. notsupp:
  // the file system has none (it is in memory). delay: a lease is in the way, and its holder has been asked.
  virtual VfsOp<int> descriptor(OpenAccess access) = 0;
  // As the inode has them: neither settled nor adjusted.
  virtual VfsOp<Attributes> attributes() = 0;
  // As it is now. Nothing: there is none.
  virtual VfsOp<std::optional<base::Bytes>> record();
  // At most record_bytes_max, in one step: after a crash it is the old record or this one. It is on the
  // medium on return, with what was put before. xattr2big, nospc, notsupp: the file system does not keep it.
  virtual VfsOp<> put_record(base::BytesView record) = 0;
  // The same; nothing happens if there is none.
  virtual VfsOp<> erase_record() = 0;
  // The size and times of `set`, and nothing else; not on the medium on return.
  virtual VfsOp<> put_size_and_times(const SetAttributes& set) = 0;
  // An extended attribute of the nearest directory above the file that has it, up to the root of the export.
  // Directories are those of the name that the file was made by, where that is now; of a file with several
  // names, those of one that the kernel has in memory. Nothing: none has it, or nobody knows a name, since
  // the file was found by its handle alone.
  struct Inherited {
    std::string value;         // empty, if it has more than inherited_bytes_max
    std::uint64_t fileid = 0;  // of the directory
  };
  virtual VfsOp<std::optional<Inherited>> inherited(std::string_view attribute);
  static constexpr std::size_t inherited_bytes_max = 256;
  // What was put is on the medium on return. After an error nobody knows.
  virtual VfsOp<> sync() = 0;
  // Takes away what a write by anybody but root does: set-user-ID, set-group-ID of a file that its group may
  // execute, and file capabilities (file_remove_privs() of Linux). On the medium on return.
  virtual VfsOp<> drop_privileges() = 0;

  static constexpr std::size_t record_bytes_max = 64 * base::KiB;  // XATTR_SIZE_MAX

  // `restless`: what the server keeps open for clients that write without having opened the file counts as
  // theirs; else as somebody else's, since it is closed soon.
  virtual VfsOp<Writers> writers(bool restless);
  // Since writers() began. It said `none`: no client has begun to change the file, or ended to. `clients`:
  // nobody has opened it once more.
  [[nodiscard]] virtual bool undisturbed() const { return false; }
  // As sync(). It blocks.
  virtual base::Result<void, Error> sync_own();
  // Around what the source does to the inode without changing what clients have in it. From
  // hide_changes() on clients see times and change attribute as they are now, and no lease and no watch is
  // told; until show_changes(), or the end of the stub or of place(), or somebody else begins to change the
  // file. hidden() says what the content is to go on hiding before that; nothing: somebody else has changed
  // the inode, too. The two block.
  virtual base::Result<void, Error> hide_changes();
  virtual base::Result<std::optional<HiddenChanges>, Error> hidden();
  virtual void show_changes() {}
  // Makes a hole, as the source, with whatever descriptor; the size stays. It blocks.
  virtual base::Result<void, Error> punch_own(std::uint64_t offset, std::uint64_t length);

  // For contents that keep bytes in memory which were answered UNSTABLE. As long as the result lives the file
  // has its content and can be reached, whatever clients close; who has the file system let go waits for it.
  struct Kept {
    std::shared_ptr<FileSystem> file_system{};  // null: this file cannot be kept
    FileRef file{};                             // ends before it
  };
  [[nodiscard]] virtual Kept keep() { return {}; }
  // What an UNSTABLE write that begins now answers; lost(): such bytes are gone, and it is another one from
  // now on.
  [[nodiscard]] virtual Verifier own_verifier() const { return {}; }
  virtual void lost() {}

  // The file's own bytes, for contents that leave some of them there: what the call does that the stub was
  // made for, as it does it to a plain file; a stub that was made for none (FileSystem::stub) does it as
  // `who`. `fd` is a descriptor() for writing. These block. notsupp: the file system has no descriptors.
  //
  // Bytes of the content's that are written in the same system call, in front of the caller's and behind
  // them. WriteResult::count is of the caller's alone; without any it is no change that clients see.
  struct Edges {
    base::BytesView before{}, after{};
  };
  virtual base::Result<WriteResult, Error> write_own(const Credentials& who, int fd, std::uint64_t offset,
                                                     const io::Payload& data, const Edges& edges,
                                                     Stability stability);
  // `record`: what was changed in the inode is on the medium then, too, where no bytes are unsynced.
  virtual base::Result<Verifier, Error> commit_own(bool record);
  virtual base::Result<void, Error> resize_own(const Credentials& who, int fd, std::uint64_t size);
  // Space for a range, or a hole there.
  virtual base::Result<void, Error> space_own(const Credentials& who, int fd, std::uint64_t offset,
                                              std::uint64_t length, bool hole);

 protected:
  Stub() = default;
};

// Bytes of a content that lie in a file of this machine.
struct FileSlice {
  int fd = -1;  // -1: zeros, that lie nowhere
  std::uint32_t length = 0;
  std::uint64_t offset = 0;  // in that file
};
// Where bytes of a content are.
struct Located {
  std::vector<FileSlice> slices;                  // one behind the other in the content
  std::vector<std::shared_ptr<const void>> kept;  // as long as these, the descriptors stay open
  std::uint64_t size = 0;                         // of the content
};

// Where the bytes of one file are. A FileSystem hands the I/O of the file to it, after it has asked for the
// caller's rights: `who` is for quotas and reserved blocks. Thread-safe; each function may run on several
// threads at once. References and views stay valid until the Op ends. Offsets and lengths are in bytes, and
// offset + length does not overflow. What a content lacks answers notsupp, and clients do without.
//
// No function may wait for FileSystem::exchange(), place() or another call on the same file: these wait for
// it.
class Content {
 public:
  virtual ~Content() = default;
  Content(const Content&) = delete;
  Content& operator=(const Content&) = delete;
  // Who made it. Contents of one source clone and copy from each other by themselves.
  [[nodiscard]] virtual ContentSource& source() const = 0;

  // As those of OpenFile. ReadResult::attributes are not its business.
  virtual VfsOp<ReadResult> read(Stub& stub, std::uint64_t offset, std::uint32_t count,
                                 ReadMemory memory) = 0;
  // The same in terms of files that can be read without this content: they are not written to where the
  // slices are, which go as far as the content does, and nothing more is to be checked. False: that cannot be
  // told without waiting, or what it takes is not in memory; read() does it. It runs on reactors: no I/O, no
  // waiting. `look` says what the inode has, neither settled nor adjusted, at a moment at which the slices
  // are true; its error ends the call with false.
  struct Inode {
    std::uint64_t size = 0;
    std::uint64_t space = 0;        // bytes of its own blocks
    std::uint64_t block_bytes = 1;  // of a block: what is written in part keeps the rest
  };
  using Look = std::function<base::Result<Inode, Error>()>;
  virtual bool locate(std::uint64_t offset, std::uint32_t count, const Look& look, Located& where);
  enum class Steps : bool { one, several };
  // Runs `work`, which writes these bytes to the file's own as it would to a plain file's, if a write there
  // takes nothing more; what it takes stays so while it runs. `steps`: more than one system call may write
  // them, and a crash in between leaves some of them, wherever that is. False: that cannot be told without
  // waiting, or is not so; write() does it. On the calling thread; it waits for nothing but `work`. `look` as
  // above.
  virtual bool as_plain(std::uint64_t offset, std::uint64_t length, Steps steps, const Look& look,
                        const std::function<void()>& work);
  // Whether as_plain() may ever run anything.
  [[nodiscard]] virtual bool has_plain_bytes() const { return false; }
  // `data` is in memory unless the source takes pipes.
  virtual VfsOp<WriteResult> write(Stub& stub, const Credentials& who, std::uint64_t offset,
                                   const io::Payload& data, Stability stability) = 0;
  virtual VfsOp<Verifier> commit(Stub& stub, const Credentials& who, std::uint64_t offset,
                                 std::uint32_t count) = 0;
  // `own`: that of the file's own bytes.
  [[nodiscard]] virtual Verifier write_verifier(const Verifier& own) const = 0;
  // The size by SETATTR, or by an open that truncates. delay: somebody's layout is in the way.
  virtual VfsOp<> resize(Stub& stub, const Credentials& who, std::uint64_t size) = 0;
  virtual VfsOp<SeekResult> seek(Stub& stub, std::uint64_t offset, SeekTo what, std::uint64_t until);
  virtual VfsOp<> allocate(Stub& stub, const Credentials& who, std::uint64_t offset, std::uint64_t length);
  virtual VfsOp<> deallocate(Stub& stub, const Credentials& who, std::uint64_t offset, std::uint64_t length);
  // From another content of the same source, or from another range of itself.
  struct Range {
    Content& content;
    Stub& stub;
    std::uint64_t offset = 0;
    std::uint64_t length = 0;  // 0: to the end
  };
  virtual VfsOp<> clone_from(Stub& stub, const Credentials& who, const Range& from, std::uint64_t to_offset);
  // Bytes copied: at least one, unless `from` begins at the end or behind it. notsupp: they are read from the
  // one and written to the other in memory.
  virtual VfsOp<std::uint64_t> copy_from(Stub& stub, const Credentials& who, const Range& from,
                                         std::uint64_t to_offset);

  // Size and times of the stub may be behind what has been written. Asked before each look at attributes: one
  // relaxed load.
  [[nodiscard]] virtual bool unsettled() const { return false; }
  // After it the stub's attributes are those of all writing that had ended when it began. At most one runs
  // for a file at a time: who comes meanwhile shares the next one.
  virtual VfsOp<> settle(Stub& stub);
  // Corrects what the inode says: the space used, and what else is known without asking anybody. No I/O, no
  // waiting: it is called for each entry of a READDIRPLUS.
  virtual void adjust(Attributes& attributes) const;

 protected:
  Content() = default;
};

// What is about to be written to a file that has no content yet. 0 bytes: nobody knows.
struct PlacementHint {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  // They are those of another file of the source: see shares_bytes().
  bool shares = false;
};

// Makes contents: a kind of them, in one process. Handed to a FileSystem when that is opened; outlives it,
// and what it made. Thread-safe.
class ContentSource {
 public:
  virtual ~ContentSource() = default;
  ContentSource(const ContentSource&) = delete;
  ContentSource& operator=(const ContentSource&) = delete;

  // The name of the extended attribute that marks its files, as "trusted.braid.layout". The same, always. No
  // client sees or changes one outside of "user.".
  [[nodiscard]] virtual std::string_view record() const = 0;
  // The content of a file with this record; asked once for each time that the file comes into the descriptor
  // cache, and again after an error. Not null. io: the record is damaged, or another file's. Attributes and
  // names of such a file can be used; to remove it is to do so without removing().
  virtual VfsOp<ContentRef> load(Stub& stub, base::BytesView record) = 0;
  // A content for a file that has `former`: null, or one of its own. It puts the record. No call on the file
  // runs meanwhile, so nobody writes to what is left, and nobody reads what is punched; all who come wait.
  // Null: the file's own bytes. `former`: nothing changes. After an error `former` is in force.
  virtual VfsOp<ContentRef> place(Stub& stub, const ContentRef& former, const PlacementHint& hint) = 0;
  // Whether place() is to be asked about an empty plain file before it gets its first bytes (WRITE, COPY,
  // ALLOCATE, a size), once for each time that it comes into the descriptor cache.
  [[nodiscard]] virtual bool places_at_first_write() const { return false; }
  // Whether files of the source can have bytes in common: then place() is asked about a plain file, empty or
  // not, that is to get bytes of one of them by CLONE or COPY (PlacementHint::shares).
  [[nodiscard]] virtual bool shares_bytes() const { return false; }

  // The bytes of a file, plain or of this source, are about to be changed; told once for each time that the
  // file comes into the descriptor cache, and after Stub::writers(). Does not block; any thread.
  virtual void changing(const FileHandle& file);
  // Corrects what the inode says of a file of this source that is not in the descriptor cache. It may look
  // into what the source has in memory; nobody is asked.
  virtual void adjust_unloaded(const FileHandle& file, Attributes& attributes) const;

  // Whether removing() is to be told. Else nobody looks for the content of what is removed. The same, always.
  [[nodiscard]] virtual bool wants_removals() const { return true; }
  // The last name of the file is about to go. What the source needs to know then is durable on return; after
  // an error the name stays. It is an intent: the call may still fail, or the file may get another name.
  virtual VfsOp<> removing(Stub& stub, Content& content) = 0;
  // The last name and the last open are gone, or the process ends before they are: then nobody is told, and
  // the source compares what it logged with what is there when it starts. Does not block; any thread.
  virtual void gone(ContentRef content) = 0;

  // Corrects what the file system says of the whole export.
  virtual VfsOp<> adjust(FileSystemStatus& status);
  virtual void limit(FileSystemLimits& limits) const;
  // Whether Content::write() can have data in pipes. The same, always.
  [[nodiscard]] virtual bool takes_pipes() const { return false; }

 protected:
  ContentSource() = default;
};

}  // namespace braid::vfs
