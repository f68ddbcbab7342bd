// The files that chunks lie in: of 64 MiB, written from front to back, once. Their numbers are never used
// again.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "store/chunks/container_format.h"
#include "store/chunks/forwarding.h"
#include "store/chunks/location.h"
#include "store/chunks/node.h"
#include "store/chunks/verified.h"
#include "store/medium/medium.h"

namespace braid::store {

// Thread-safe. One process has them open for writing.
class Containers {
 public:
  static constexpr const char* directory = "containers";
  static constexpr std::size_t open_max = 256;                     // at a time
  static constexpr std::uint64_t group_bytes_max = 4 * base::MiB;  // but one chunk has any length
  // When so many bytes have come the medium begins to take them.
  static constexpr std::uint32_t begin_sync_bytes = 512U << 10U;
  static std::string name_of(std::uint32_t number);
  // Nothing: it is no container's.
  static std::optional<std::uint32_t> number_of(const std::string& name);

  // For writing: what a crash cut short at the end of the last one is taken off, what is in it is synced, and
  // adding goes on there. If there are whole chunks behind one that is not, that is damage, and nothing is
  // taken off: adding goes on in a new one. So it does where a part of the last group is whole.
  // `bytes_max`: chunks begin before it.
  static base::Result<std::unique_ptr<Containers>> open(Medium& medium, const StoreId& store, OpenFor what,
                                                        std::uint32_t bytes_max = Location::offset_end);

  // Not on the medium on return. After an error of the medium nothing is added any more: EIO. ENOSPC and
  // EDQUOT: nothing was added, and later there may be room.
  base::Result<Location> append(ChunkKind kind, const hashing::Digest& id, base::BytesView bytes);
  // The same of several of one kind, in groups, each of which is one write; where each chunk lies.
  struct NewChunk {
    hashing::Digest id{};
    base::BytesView bytes{};
    base::BytesView compressed{};  // what is kept in place of them; empty: they are kept as they are
    [[nodiscard]] StoredBytes stored() const {
      return {static_cast<std::uint32_t>(bytes.size()), !compressed.empty(),
              compressed.empty() ? bytes : compressed};
    }
  };
  base::Result<std::vector<Location>> append_all(ChunkKind kind, std::span<const NewChunk> chunks);
  // What was appended before this began is on the medium on return. Who comes meanwhile shares the next sync.
  base::Result<void> sync();

  // Here and below a chunk is looked for where it was moved to, if its container was rewritten.
  // The bytes of the chunk with this id and length. EBADMSG: there is none there, or it is damaged. That the
  // id is that of the bytes is for the caller to check.
  struct Chunk {
    base::Bytes bytes{};
    bool compressed = false;     // where it lies
    std::uint32_t distance = 0;  // GroupPlace::distance there
  };
  base::Result<Chunk> read(Location at, ChunkKind kind, const hashing::Digest& id, std::uint32_t length);
  // Whether the chunk with this id lies there whole, was not moved, and these are its bytes.
  struct Held {
    bool whole = false;
    std::optional<Location> next{};  // of the chunk that comes next in its group
  };
  Held holds(Location at, ChunkKind kind, const hashing::Digest& id, base::BytesView bytes);
  // Bytes [from, from + to.size()) of a chunk of data that has been verified, and is not compressed. False:
  // it has not been, or cannot be read.
  bool read_verified(const ChunkRef& chunk, std::uint32_t from, base::MutableBytes to);
  // What is known so. A container that is removed or rewritten is forgotten.
  [[nodiscard]] Verified& verified() { return verified_; }
  // What stands before the chunk there, whatever its bytes are; EBADMSG as above.
  base::Result<ChunkHeader> look(Location at);
  // Where it lies now; EBADMSG: the container is gone, or was rewritten without it. And the next place on the
  // way there; nothing: this one is the last.
  base::Result<Location> place_of(Location at);
  base::Result<std::optional<Location>> forwarded(Location at);
  // Where it lies now, and the file, if the containers on the way are open. No I/O.
  struct Place {
    std::shared_ptr<File> file{};
    Location at{};
  };
  std::optional<Place> place_now(Location at);
  // Whether it was rewritten.
  base::Result<bool> is_forwarding(std::uint32_t number);
  // What the kernel has cached of it is read from the medium next time.
  void forget_cached(Location at, std::uint32_t length);

  [[nodiscard]] base::Result<std::vector<std::uint32_t>> numbers();
  // Bytes of all of them.
  [[nodiscard]] base::Result<std::uint64_t> bytes();
  // Of one of them; 0: it is not there any more.
  base::Result<std::uint64_t> bytes_of(std::uint32_t number);
  // Of what is full: nobody refers to it, and nobody will. It may be back after a crash until the directory
  // is synced. Never the last one, whose number would be used again.
  base::Result<void> remove(std::uint32_t number);
  // Of what is full: what its place has from now on, also after a crash. The chunks are on the medium
  // elsewhere.
  base::Result<void> forward(std::uint32_t number, std::span<const ForwardingEntry> entries);
  base::Result<void> sync_names() { return medium_.sync_directory(directory); }
  // Those before it are full, or will not be added to.
  [[nodiscard]] std::uint32_t last_number();
  // Where the next chunk will lie, or would.
  [[nodiscard]] Location end();

  struct Walked {
    std::uint64_t chunks = 0;
    std::uint64_t damaged = 0;  // places where there was a chunk and is none that is whole
    bool full = false;          // there is a directory
    bool forwarding = false;    // it was rewritten: then it has entries, and no chunks
    std::uint64_t entries = 0;
  };
  // Where each chunk of a container lies. With `bytes` each is read, and `bytes` is what the chunk says; else
  // a directory is believed, if there is one.
  using Take = std::function<void(Location at, const ChunkHeader& header, base::BytesView bytes)>;
  base::Result<Walked> walk(std::uint32_t number, bool with_bytes, const Take& take);

 private:
  // That chunks are added to.
  struct Current {
    std::uint32_t number = 0;
    std::shared_ptr<File> file;
    std::uint32_t end = 0;
    std::uint32_t begun = 0;  // the medium has, or takes, what lies before this
    std::vector<DirectoryEntry> directory;
  };
  struct Unsynced {
    std::shared_ptr<File> file{};  // null: there is too little
    std::uint64_t begin = 0, end = 0;
  };
  struct Opened {
    std::shared_ptr<File> file{};
    std::shared_ptr<const Forwarding> forwarding{};  // null: it has chunks, or nobody knows
    bool unknown = false;                            // its head cannot be read, or says nothing
    std::uint64_t used = 0;                          // when, as uses_ counts
  };
  struct Scanned {
    std::uint32_t end = 0;      // of the last whole chunk before one that is not; 0: the head is damaged
    std::uint64_t damaged = 0;  // places that are not whole, and have a whole chunk behind them
    bool torn = false;          // of the last group some chunks are whole, and those behind them are not
  };
  // Chunks that are written together: their headers, and the length of those and of their bytes.
  struct Group {
    std::span<const NewChunk> chunks{};
    base::Bytes headers{};
    std::uint64_t bytes = 0;
  };

  Containers(Medium& medium, const StoreId& store, std::uint32_t bytes_max)
      : medium_(medium), store_(store), bytes_max_(bytes_max) {}
  static constexpr std::string_view unfinished =
      ".new";  // at the end of a name, until it takes another one's place
  base::Result<void> begin_writing();
  void remove_unfinished();
  base::Result<void> take_up(std::uint32_t number);
  // A crash before the first sync may have left zeros in place of the head, or nothing, and chunks behind it.
  base::Result<void> mend_head(File& file, std::uint32_t number);
  base::Result<void> begin(std::uint32_t number);
  base::Result<void> close_current();
  [[nodiscard]] bool has_room(std::uint64_t bytes, std::size_t listed) const;
  base::Result<void> make_room(std::uint64_t bytes, std::size_t listed);
  [[nodiscard]] Group group_of(ChunkKind kind, std::span<const NewChunk> chunks) const;
  base::Result<void> append_group(ChunkKind kind, const Group& group, std::vector<Location>& out);
  Unsynced take_unsynced();
  base::Result<void> sync_current();
  base::Result<Opened> opened(std::uint32_t number);
  // Nothing: it is not open.
  std::optional<Opened> opened_now(std::uint32_t number);
  base::Result<ContainerRole> role_of(File& file, std::uint32_t number) const;
  static base::Result<std::shared_ptr<const Forwarding>> forwarding_of(File& file, std::uint32_t number);
  base::Result<Place> find(Location at);
  static bool equals(File& file, std::uint32_t at, const ChunkHeader& header, base::BytesView bytes);
  base::Result<Scanned> scan(File& file, std::uint32_t number, const Take& take);
  base::Result<bool> has_head(File& file, std::uint32_t number) const;
  base::Result<std::optional<std::vector<DirectoryEntry>>> directory_of(File& file);

  Medium& medium_;
  const StoreId store_;
  const std::uint32_t bytes_max_;

  std::mutex adding_;
  Current current_;
  std::uint32_t number_max_ = 0;
  std::uint64_t appended_ = 0;  // chunks
  bool broken_ = false;

  std::mutex syncing_;
  std::uint64_t synced_ = 0;

  std::mutex opening_;
  std::map<std::uint32_t, Opened> open_;
  std::uint64_t uses_ = 0;
  Verified verified_;
  std::uint64_t replaced_ = 0;  // times that a file went away, or another one came in its place
};

}  // namespace braid::store
