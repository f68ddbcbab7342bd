#include <array>
#include <optional>

#include "nfs4/ops/extended_operations.h"
#include "nfs4/ops/file_operations.h"
#include "nfs4/ops/io_support.h"

namespace braid::nfs4::ops {
namespace {

struct Row {
  IO_ADVISE_type4 hint;
  vfs::Advice advice;
};
// In the order in which they are given: how the file is read, then which part of it.
constexpr std::array advice_rows{
    Row{IO_ADVISE_type4::IO_ADVISE4_NORMAL, vfs::Advice::normal},
    Row{IO_ADVISE_type4::IO_ADVISE4_RANDOM, vfs::Advice::random},
    Row{IO_ADVISE_type4::IO_ADVISE4_SEQUENTIAL, vfs::Advice::sequential},
    Row{IO_ADVISE_type4::IO_ADVISE4_WILLNEED, vfs::Advice::will_need},
    Row{IO_ADVISE_type4::IO_ADVISE4_WILLNEED_OPPORTUNISTIC, vfs::Advice::will_need},
    Row{IO_ADVISE_type4::IO_ADVISE4_DONTNEED, vfs::Advice::dont_need},
    Row{IO_ADVISE_type4::IO_ADVISE4_NOREUSE, vfs::Advice::once},
};

}  // namespace

// RFC 7862 15.5: hints are taken or left; the result says which were taken.
Op4<IO_ADVISE4resok> io_advise(Compound& compound, const IO_ADVISE4args& args) {
  const Place& at = *co_await compound.current_in_export(nfsstat4::NFS4ERR_ISDIR);
  auto opened = co_await open_for_io(compound, at, args.iaa_stateid, vfs::OpenAccess::read).as_result();
  if (!opened && opened.error() == nfsstat4::NFS4ERR_OPENMODE)
    opened = co_await open_for_io(compound, at, args.iaa_stateid, vfs::OpenAccess::write).as_result();
  const vfs::OpenFileRef open = co_await std::move(opened);
  const std::uint32_t wanted = args.iaa_hints.empty() ? 0 : args.iaa_hints[0];
  std::uint32_t taken = 0;
  for (const Row& row : advice_rows) {
    const std::uint32_t bit = 1U << static_cast<std::uint32_t>(row.hint);
    if ((wanted & bit) == 0) continue;
    const auto done = co_await open->advise(args.iaa_offset, args.iaa_count, row.advice).as_result();
    if (done) taken |= bit;
  }
  bool fits = false;
  const std::span<std::uint32_t> words = compound.arena().make<std::uint32_t>(1, fits);
  if (!fits) co_await refuse(nfsstat4::NFS4ERR_DELAY);
  words[0] = taken;
  co_return IO_ADVISE4resok{words};
}

}  // namespace braid::nfs4::ops
