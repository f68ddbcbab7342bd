#include "nfs4/idmap/name_service.h"

#include <grp.h>
#include <pwd.h>

#include <vector>

namespace braid::nfs4 {
namespace {

constexpr std::size_t buffer_bytes_min = 1024;
constexpr std::size_t buffer_bytes_max = 1024 * 1024;  // a group of very many members

// Some services answer "no such" by an error number (getpwnam_r(3)).
bool means_absent(int error) {
  return error == 0 || error == ENOENT || error == ESRCH || error == EBADF || error == EPERM;
}

// Calls `find(record, buffer, size, &found)`, which returns an error number, with a buffer that grows until
// it is enough, and hands what it found to `take`.
template <class Record, class Find, class Take>
auto look_up(Find find, Take take) -> base::Result<std::optional<std::invoke_result_t<Take, const Record&>>> {
  using Value = std::optional<std::invoke_result_t<Take, const Record&>>;
  for (std::size_t bytes = buffer_bytes_min; bytes <= buffer_bytes_max; bytes *= 4) {
    std::vector<char> buffer(bytes);
    Record record{};
    Record* found = nullptr;
    const int error = find(&record, buffer.data(), buffer.size(), &found);
    if (error == ERANGE) continue;
    if (found != nullptr) return Value(take(*found));
    if (means_absent(error)) return Value();
    return base::fail(error);
  }
  return base::fail(ERANGE);
}

}  // namespace

base::Result<std::optional<std::uint32_t>> SystemNames::id_of(IdKind kind, const std::string& name) {
  if (kind == IdKind::user)
    return look_up<passwd>(
        [&](passwd* record, char* buffer, std::size_t bytes, passwd** found) {
          return ::getpwnam_r(name.c_str(), record, buffer, bytes, found);
        },
        [](const passwd& record) -> std::uint32_t { return record.pw_uid; });
  return look_up<group>(
      [&](group* record, char* buffer, std::size_t bytes, group** found) {
        return ::getgrnam_r(name.c_str(), record, buffer, bytes, found);
      },
      [](const group& record) -> std::uint32_t { return record.gr_gid; });
}

base::Result<std::optional<std::string>> SystemNames::name_of(IdKind kind, std::uint32_t id) {
  if (kind == IdKind::user)
    return look_up<passwd>([&](passwd* record, char* buffer, std::size_t bytes,
                               passwd** found) { return ::getpwuid_r(id, record, buffer, bytes, found); },
                           [](const passwd& record) { return std::string(record.pw_name); });
  return look_up<group>([&](group* record, char* buffer, std::size_t bytes,
                            group** found) { return ::getgrgid_r(id, record, buffer, bytes, found); },
                        [](const group& record) { return std::string(record.gr_name); });
}

}  // namespace braid::nfs4
