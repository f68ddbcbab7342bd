// ACCESS, and the checks behind READ, WRITE, LOOKUP and READDIR.
#include <unistd.h>

#include <array>
#include <cstddef>

#include "vfs/posix/tree.h"

namespace braid::vfs::posix {
namespace {

struct BitRule {
  std::uint32_t bit;
  Rights rights;
};

// RFC 1813 3.3.4. For a directory the bits speak about names: changing one takes searching too. (As knfsd.)
constexpr BitRule directory_rules[] = {{AccessBits::read, R_OK},
                                       {AccessBits::lookup, X_OK},
                                       {AccessBits::modify, W_OK | X_OK},
                                       {AccessBits::extend, W_OK | X_OK},
                                       {AccessBits::remove, W_OK | X_OK}};
constexpr BitRule file_rules[] = {{AccessBits::read, R_OK},
                                  {AccessBits::modify, W_OK},
                                  {AccessBits::extend, W_OK},
                                  {AccessBits::execute, X_OK}};
constexpr std::uint32_t changing = AccessBits::modify | AccessBits::extend | AccessBits::remove;

}  // namespace

std::uint64_t Tree::fingerprint_of(const Credentials& who) const {
  static_assert(offsetof(Credentials, group_list) == 3 * sizeof(std::uint32_t));
  const base::BytesView all = std::as_bytes(std::span(&who, 1));
  return base::siphash24(fingerprint_key_, all.first((3 + who.group_count) * sizeof(std::uint32_t)));
}

// The kernel's answer for the caller, or one that it gave to the same question a moment ago.
Outcome<> Tree::permit(const Credentials& who, PosixFile& file, Rights rights, const Attributes& now) {
  const std::uint64_t caller = fingerprint_of(who);
  const base::TimePoint time = clock_.recently();
  if (file.granted(caller, rights, now, time) == rights) return {};
  auto answer = identity_.as(who, [&] { return may(file.fd(), static_cast<int>(rights)); });
  if (answer) file.grant(caller, rights, now, time, clock_.wall());
  return answer;
}

// Which of these rights the caller has. Usually all of them, or what is granted is known already; otherwise
// each is asked for by itself, as the caller throughout: to become somebody costs more than to ask.
Rights Tree::granted_rights(const Credentials& who, PosixFile& file, Rights wanted, const Attributes& now) {
  constexpr std::array<Rights, 3> each{R_OK, W_OK, X_OK};
  // A file without any execute bit is executed by nobody, not even by root, and an ACL gives no more than its
  // mask, which is the group's bits. Most files are such, and most clients ask.
  if (file.type() == FileType::regular && (now.mode & 0111U) == 0) wanted &= ~Rights{X_OK};
  if (wanted == 0) return 0;
  const std::uint64_t caller = fingerprint_of(who);
  const base::TimePoint time = clock_.recently();
  const Rights known = file.granted(caller, wanted, now, time);
  const Rights open_question = wanted & ~known;
  if (open_question == 0) return wanted;
  const auto ask = [&]() -> Outcome<Rights> {
    if (may(file.fd(), static_cast<int>(open_question))) return open_question;
    Rights some = 0;
    for (const Rights right : each)
      if ((open_question & right) != 0 && right != open_question && may(file.fd(), static_cast<int>(right)))
        some |= right;
    return some;
  };
  const auto granted = identity_.as(who, ask);
  if (granted && *granted != 0) file.grant(caller, *granted, now, time, clock_.wall());
  return granted.value_or(0) | known;
}

// For READ, WRITE and SETATTR of the size. The owner always may: a client that holds the file open has passed
// the check before the mode was changed, and the server cannot know. (As every NFSv3 server.)
Outcome<> Tree::permit_data(const Credentials& who, PosixFile& file, Rights rights, const Attributes& now) {
  if (identity_.is_superuser(who) || identity_.acting_uid(who) == now.uid) return {};
  auto answer = permit(who, file, rights, now);
  // RFC 1813 4.4: whoever may execute a file must be able to read it.
  if (!answer && answer.error() == Error::acces && rights == R_OK && permit(who, file, X_OK, now)) return {};
  return answer;
}

Outcome<> Tree::permit_search(const Credentials& who, PosixFile& directory) {
  if (directory.type() != FileType::directory) return base::fail(Error::notdir);
  if (identity_.is_superuser(who)) return {};
  const auto now = live_attributes(directory);
  if (!now) return base::fail(now.error());
  return permit(who, directory, X_OK, *now);
}

Outcome<std::uint32_t> Tree::access(const Credentials& who, PosixFile& file, std::uint32_t wanted,
                                    std::optional<Attributes>& now) {
  if (!now) {
    const auto looked = live_attributes(file);
    if (!looked) return base::fail(looked.error());
    now = *looked;
  }
  if (options_.read_only || who.read_only) wanted &= ~changing;
  const bool directory = file.type() == FileType::directory;
  const std::span<const BitRule> rules = directory ? std::span<const BitRule>(directory_rules) : file_rules;
  Rights needed = 0;
  for (const BitRule& rule : rules)
    if ((wanted & rule.bit) != 0) needed |= rule.rights;
  if (needed == 0) return std::uint32_t{0};
  const Rights allowed = granted_rights(who, file, needed, *now);
  std::uint32_t granted = 0;
  for (const BitRule& rule : rules)
    if ((wanted & rule.bit) != 0 && (allowed & rule.rights) == rule.rights) granted |= rule.bit;
  return granted;
}

}  // namespace braid::vfs::posix
