// READDIR and READDIRPLUS: limits that are exact to the byte, and listings that lose and repeat nothing.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/unit/nfs3/harness.h"

namespace braid::nfs3::test {
namespace {

using enum NFS_V3_procedure;
using enum nfsstat3;
using vfs::FileType;

// What a listing gave: names in order, and whether it came to an end.
struct Listing {
  std::vector<std::string> names;
  nfsstat3 stopped = NFS3_OK;
};

class Directory : public Nfs3Test {
 protected:
  static constexpr std::uint32_t plenty = 65536;

  READDIR3res readdir(std::uint64_t cookie, std::uint32_t bytes, const cookieverf3& verf = {}) {
    return ask<READDIR3res>(NFSPROC3_READDIR, READDIR3args{root_fh(), cookie, verf, bytes});
  }
  READDIRPLUS3res readdirplus(std::uint64_t cookie, std::uint32_t dircount, std::uint32_t maxcount) {
    return ask<READDIRPLUS3res>(NFSPROC3_READDIRPLUS,
                                READDIRPLUS3args{root_fh(), cookie, {}, dircount, maxcount});
  }
  // Bytes of the resok structure on the wire.
  template <class Ok>
  static std::size_t bytes_of(const Ok& ok) {
    return encoded_size(ok);
  }

  // Lists all, `between` running after each reply.
  template <class Ask, class Between>
  Listing list(Ask one, Between between) {
    Listing listing;
    std::uint64_t cookie = 0;
    for (int calls = 0; calls < 10'000; ++calls) {
      const auto res = one(cookie);
      listing.stopped = res.status;
      if (res.status != NFS3_OK) return listing;
      const auto& reply = res.resok()->reply;
      EXPECT_TRUE(reply.eof || !reply.entries.empty()) << "a reply makes progress or is the last";
      for (const auto& entry : reply.entries) {
        listing.names.emplace_back(entry.name);
        cookie = entry.cookie;
      }
      if (reply.eof) return listing;
      between();
    }
    ADD_FAILURE() << "the listing does not end";
    return listing;
  }

  // Names of many lengths, so entries of many sizes.
  std::vector<std::string> fill(int files) {
    std::vector<std::string> names{".", ".."};
    for (int i = 0; i < files; ++i) {
      names.push_back(std::string(static_cast<std::size_t>(i * 7 % 255), 'n') + std::to_string(i));
      if (names.back().size() > 255) names.back().resize(255);
      storage_->add(Storage::root_id, names.back(), FileType::regular);
    }
    return names;
  }
};

TEST_F(Directory, for_every_limit_no_reply_exceeds_it_and_no_entry_is_lost) {
  const std::vector<std::string> names = fill(40);
  for (std::uint32_t limit = 0; limit < 1500; ++limit) {
    const Listing listing = list(
        [&](std::uint64_t cookie) {
          const READDIR3res res = readdir(cookie, limit);
          EXPECT_LE(res.status == NFS3_OK ? bytes_of(*res.resok()) : 0, limit);
          return res;
        },
        [] {});
    if (listing.stopped == NFS3ERR_TOOSMALL) {
      EXPECT_LT(limit, 104U + 280U) << "the largest entry has 280 bytes, the frame 104";
    } else {
      EXPECT_EQ(listing.names, names) << "limit " << limit;
    }
  }
}

TEST_F(Directory, for_every_maxcount_no_reply_exceeds_it_and_no_entry_is_lost) {
  const std::vector<std::string> names = fill(40);
  for (std::uint32_t limit = 0; limit < 2500; ++limit) {
    const Listing listing = list(
        [&](std::uint64_t cookie) {
          const READDIRPLUS3res res = readdirplus(cookie, plenty, limit);
          EXPECT_LE(res.status == NFS3_OK ? bytes_of(*res.resok()) : 0, limit);
          return res;
        },
        [] {});
    if (listing.stopped == NFS3ERR_TOOSMALL) {
      EXPECT_LT(limit, 104U + 280U + 88U + 32U) << "the largest entry also has attributes and a handle";
    } else {
      EXPECT_EQ(listing.names, names) << "limit " << limit;
    }
  }
}

TEST_F(Directory, a_reply_is_as_full_as_its_limit_allows) {
  storage_->add(Storage::root_id, "abcd", FileType::regular);
  // "." and ".." take 28 bytes each, "abcd" too; the frame with attributes takes 104.
  EXPECT_EQ(readdir(0, 104 + 3 * 28).resok()->reply.entries.size(), 3U);
  EXPECT_TRUE(readdir(0, 104 + 3 * 28).resok()->reply.eof);
  EXPECT_EQ(readdir(0, 104 + 3 * 28 - 1).resok()->reply.entries.size(), 2U);
  EXPECT_FALSE(readdir(0, 104 + 3 * 28 - 1).resok()->reply.eof);
  EXPECT_EQ(readdir(0, 104 + 27).status, NFS3ERR_TOOSMALL);
}

TEST_F(Directory, dircount_bounds_names_but_lets_every_reply_make_progress) {
  for (const char* name : {"a", "b", "c"}) storage_->add(Storage::root_id, name, FileType::regular);
  // fileid, name, cookie: 24 bytes each.
  EXPECT_EQ(readdirplus(0, 3 * 24, plenty).resok()->reply.entries.size(), 3U);
  EXPECT_EQ(readdirplus(0, 3 * 24 - 1, plenty).resok()->reply.entries.size(), 2U);
  EXPECT_EQ(readdirplus(0, 0, plenty).resok()->reply.entries.size(), 1U);
}

TEST_F(Directory, a_reply_never_exceeds_the_limit_of_the_server) {
  for (int i = 0; i < 3000; ++i) storage_->add(Storage::root_id, std::to_string(i), FileType::regular);
  const READDIRPLUS3res res = readdirplus(0, 0xffff'ffff, 0xffff'ffff);
  EXPECT_LE(bytes_of(*res.resok()), 65536U);
  EXPECT_GT(bytes_of(*res.resok()), 65536U - 200U);
  EXPECT_FALSE(res.resok()->reply.eof);
}

TEST_F(Directory, entries_that_stay_are_listed_once_while_others_are_removed) {
  const std::vector<std::string> names = fill(120);
  std::set<std::string> removed;
  std::size_t next = 2;
  const Listing listing = list([&](std::uint64_t cookie) { return readdir(cookie, 700); },
                               [&] {
                                 for (int i = 0; i < 3 && next < names.size(); ++i, next += 2) {
                                   storage_->erase(Storage::root_id, names[next]);
                                   removed.insert(names[next]);
                                 }
                               });
  std::map<std::string, int> seen;
  for (const std::string& name : listing.names) ++seen[name];
  for (const std::string& name : names) {
    if (removed.contains(name))
      EXPECT_LE(seen[name], 1);
    else
      EXPECT_EQ(seen[name], 1) << name;
  }
}

TEST_F(Directory, after_the_last_entry_there_is_only_the_end) {
  const READDIR3res res = readdir(2, plenty);
  ASSERT_EQ(res.status, NFS3_OK);
  EXPECT_TRUE(res.resok()->reply.entries.empty());
  EXPECT_TRUE(res.resok()->reply.eof);
}

TEST_F(Directory, a_cookie_with_a_verifier_that_was_never_given_out_is_bad) {
  EXPECT_EQ(readdir(1, plenty).resok()->cookieverf, cookieverf3{});
  const cookieverf3 foreign{std::byte{1}};
  EXPECT_EQ(readdir(1, plenty, foreign).status, NFS3ERR_BAD_COOKIE);
  EXPECT_EQ(readdir(0, plenty, foreign).status, NFS3_OK) << "from the start no verifier is needed";
}

TEST_F(Directory, entries_without_attributes_say_so) {
  fs_->traits().entries_without_attributes = true;
  storage_->add(Storage::root_id, "a", FileType::regular);
  const READDIRPLUS3res res = readdirplus(0, plenty, plenty);
  ASSERT_EQ(res.resok()->reply.entries.size(), 3U);
  for (const entryplus3& entry : res.resok()->reply.entries) {
    EXPECT_FALSE(entry.name_attributes.attributes_follow);
    EXPECT_FALSE(entry.name_handle.handle_follows);
  }
}

TEST_F(Directory, a_server_without_memory_asks_to_try_again) {
  fill(40);
  const base::Bytes args = encoded(READDIR3args{root_fh(), 0, {}, plenty});
  std::vector<io::SlabRef> held;
  const auto running = [&] {
    recorder_.park(true);
    auto started = start(NFSPROC3_READDIR, args);
    recorder_.resume_one();  // resolve: what follows runs once memory is gone
    while (auto slab = pool_.acquire(io::SlabSize::small)) held.push_back(std::move(*slab));
    return started;
  }();
  queue_.run(100);
  held.clear();
  recorder_.park(false);
  while (recorder_.parked() > 0) {
    recorder_.resume_one();
    queue_.run(100);
  }
  EXPECT_EQ(decoded<READDIR3res>(running->answered()).status, NFS3ERR_JUKEBOX);
}

}  // namespace
}  // namespace braid::nfs3::test
