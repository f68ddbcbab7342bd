// What clients of the cluster have done to files, as they know it themselves, and what files may therefore be
// found to be.
//
// Bytes are written in cells: eight bytes at places of their own, which tell which WRITE they are of. Nobody
// knows when between call and answer something takes effect, and of what was not answered nobody knows
// whether it does; what follows holds whatever the truth is.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "tests/sim/scheduler.h"
#include "tests/sim/trace.h"

namespace braid::sim::cluster {

// Of one file, which never comes back under another handle.
using FileNumber = std::uint32_t;

constexpr std::uint64_t cell_bytes = 8;
constexpr std::uint64_t cell_stride = 32 * 1024;
constexpr std::uint32_t cells_max = 12;
constexpr std::uint64_t offset_of(std::uint32_t cell) { return cell * cell_stride; }
constexpr std::uint64_t end_of(std::uint32_t cell) { return offset_of(cell) + cell_bytes; }

// From when to when something was under way.
struct Span {
  base::TimePoint begun{};
  // Answered; or it has no effect any more.
  base::TimePoint ended = base::TimePoint::max();
};

// What a client says of a WRITE before it sends it.
struct WriteIntent {
  std::uint32_t client = 0;
  FileNumber file = 0;
  std::vector<std::uint32_t> cells;  // none: an ALLOCATE, which makes the file longer and writes nothing
  std::uint64_t room_end = 0;        // of an ALLOCATE: where the file ends at least
  // By a layout.
  bool by_layout = false;
  std::uint32_t server = 0;
  base::TimePoint granted{};  // when the layout came
  base::TimePoint given_up =
      base::TimePoint::max();  // when that was surely known; the end of time: it was not
  // The client may not use it any more.
  bool rogue = false;
};

// One WRITE.
struct Write {
  std::uint64_t tag = 0;
  WriteIntent what;
  Span span;
  bool ok = false;
  bool refused = false;  // it was answered with an error, and never sent twice: it has no effect after that
  bool stable = false;
  bool trusted = false;  // the client was within its rights
  std::array<std::byte, cell_bytes> verifier{};
};

// One SETATTR of a size. One that failed may have taken effect in part.
struct Cut {
  std::uint32_t client = 0;
  std::uint64_t size = 0;
  Span span;
  bool ok = false;
};

// One DEALLOCATE of these cells, and of what is between them. One that failed may have been done in part.
struct Punch {
  std::uint32_t first = 0, last = 0;
  Span span;
  bool ok = false;
};

class Oracle {
 public:
  Oracle(Scheduler& scheduler, Trace& trace) : scheduler_(scheduler), trace_(trace) {}

  struct Violation {
    std::string checker;
    std::uint32_t client = 0;
    std::optional<FileNumber> file;
    std::string text;
  };
  [[nodiscard]] const std::optional<Violation>& found() const { return found_; }
  void violation(std::string_view checker, std::uint32_t client, std::optional<FileNumber> file,
                 std::string text);

  // The file with this handle.
  FileNumber file_of(const std::string& handle);

  // --- Writes. Tags are never 0.
  Write& write_begins(WriteIntent what);
  // What it was answered. `sent_once`: an error says that it had no effect.
  void write_answered(Write& write, bool ok, bool stable, bool trusted, bool sent_once);
  // Nobody waits for an answer any more.
  void write_abandoned(Write& write);
  // A COMMIT of the file at this server was answered with this verifier: what had been answered before it was
  // sent, with the same one, is stable. Through the metadata server: `server` is none.
  void committed(FileNumber file, std::optional<std::uint32_t> server, base::TimePoint sent,
                 const std::array<std::byte, cell_bytes>& verifier);

  // --- Holes.
  Punch& punch_begins(FileNumber file, std::uint32_t first, std::uint32_t last);
  // Not ok: nobody knows whether it was done, or will be.
  void punch_answered(Punch& punch, bool ok);

  // --- Sizes.
  Cut& cut_begins(std::uint32_t client, FileNumber file, std::uint64_t size);
  void cut_answered(Cut& cut, bool ok);
  void cut_abandoned(Cut& cut);
  // Since the client asked for the layout that came within this time, nobody else has set the size, the
  // client has not while it asked, and nobody has written through the metadata server.
  [[nodiscard]] bool keeps_layout(std::uint32_t client, FileNumber file, const Span& granted) const;
  // A GETATTR.
  void size_seen(std::uint32_t client, FileNumber file, base::TimePoint sent, std::uint64_t size);
  // At least that, for sure, during all of this time.
  [[nodiscard]] std::uint64_t size_min(FileNumber file, base::TimePoint sent) const;

  // --- Bytes. `tag` is 0 for zeros, and for what lies behind the end.
  void cell_read(std::uint32_t client, FileNumber file, std::uint32_t cell, base::TimePoint sent,
                 std::uint64_t tag);
  // Nothing was under way that changes the file, and no data server went down.
  [[nodiscard]] bool calm(FileNumber file, base::TimePoint since) const;

  // --- Servers.
  // What was not on a medium may be gone.
  void server_died(std::uint32_t server) { deaths_.push_back({server, scheduler_.now()}); }

 private:
  struct File {
    std::deque<Write> writes;
    std::deque<Cut> cuts;
    std::deque<Punch> punches;
    std::uint64_t size_told = 0;
    Span told{{}, {}};  // the GETATTR that said so
  };
  struct Death {
    std::uint32_t server;
    base::TimePoint when;
  };

  // A data server went down, which may have lost what was not synced.
  [[nodiscard]] bool died_since(base::TimePoint then) const;
  // The bytes are there for who looks from then on, unless something came after it.
  [[nodiscard]] bool certain(const Write& write, base::TimePoint from) const;
  // Handles of such a write are refused since a cut that had been answered by then.
  [[nodiscard]] static bool fenced(const Write& write, const Cut& cut, base::TimePoint by);
  [[nodiscard]] static const Cut* cut_off(const File& file, const Write& write, std::uint64_t end,
                                          base::TimePoint by);
  void zeros_read(std::uint32_t client, FileNumber number, std::uint32_t cell, base::TimePoint sent);
  void tag_read(std::uint32_t client, FileNumber number, std::uint32_t cell, base::TimePoint sent,
                const Write& write);
  [[nodiscard]] std::uint64_t size_max(const File& file, base::TimePoint sent) const;

  Scheduler& scheduler_;
  Trace& trace_;
  std::optional<Violation> found_;
  std::map<std::string, FileNumber> numbers_;
  std::map<FileNumber, File> files_;
  std::vector<Death> deaths_;
  std::uint64_t tags_ = 0;
};

}  // namespace braid::sim::cluster
