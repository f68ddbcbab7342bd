// The whole way: libnfs as client, TCP, the RPC server, the procedures, a real file system.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/e2e/raw_client.h"
#include "tests/e2e/served_directory.h"

namespace braid::e2e {
namespace {

using Handle = std::string;

nfs_fh3 fh(const Handle& handle) {
  nfs_fh3 out{};
  out.data.data_len = static_cast<u_int>(handle.size());
  out.data.data_val = const_cast<char*>(handle.data());
  return out;
}
Handle handle_of(const nfs_fh3& in) { return {in.data.data_val, in.data.data_len}; }
// The name has to outlive what is returned.
diropargs3 at(const Handle& directory, const char* name) { return {fh(directory), const_cast<char*>(name)}; }

std::string content_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

class Libnfs : public ::testing::Test {
 protected:
  Libnfs() { root_ = mounted("/"); }

  Handle mounted(std::string path) {
    RawClient mount(served_.port(), Service::mount);
    Handle handle;
    mount.call<mountres3>(
        [&](auto* rpc, auto cb, void* p) { return rpc_mount3_mnt_async(rpc, cb, path.data(), p); },
        [&](const mountres3& res) {
          EXPECT_EQ(res.fhs_status, MNT3_OK);
          const auto& fhandle = res.mountres3_u.mountinfo.fhandle;
          handle.assign(fhandle.fhandle3_val, fhandle.fhandle3_len);
        });
    return handle;
  }
  // A new file's handle, or nothing.
  std::optional<Handle> create(const Handle& directory, const std::string& name, createhow3 how) {
    CREATE3args args{at(directory, name.c_str()), how};
    std::optional<Handle> made;
    nfs_.call<CREATE3res>(
        [&](auto* rpc, auto cb, void* p) { return rpc_nfs3_create_async(rpc, cb, &args, p); },
        [&](const CREATE3res& res) {
          status_ = res.status;
          if (res.status == NFS3_OK) made = handle_of(res.CREATE3res_u.resok.obj.post_op_fh3_u.handle);
        });
    return made;
  }
  std::optional<Handle> create(const std::string& name) { return create(root_, name, createhow3{}); }
  std::optional<Handle> lookup(const Handle& directory, const std::string& name) {
    LOOKUP3args args{at(directory, name.c_str())};
    std::optional<Handle> found;
    nfs_.call<LOOKUP3res>(
        [&](auto* rpc, auto cb, void* p) { return rpc_nfs3_lookup_async(rpc, cb, &args, p); },
        [&](const LOOKUP3res& res) {
          status_ = res.status;
          if (res.status == NFS3_OK) found = handle_of(res.LOOKUP3res_u.resok.object);
        });
    return found;
  }
  std::string write(const Handle& file, std::uint64_t offset, const std::string& data, stable_how stable) {
    WRITE3args args{};
    args.file = fh(file);
    args.offset = offset;
    args.count = static_cast<u_int>(data.size());
    args.stable = stable;
    args.data.data_len = static_cast<u_int>(data.size());
    args.data.data_val = const_cast<char*>(data.data());
    std::string verf;
    nfs_.call<WRITE3res>([&](auto* rpc, auto cb, void* p) { return rpc_nfs3_write_async(rpc, cb, &args, p); },
                         [&](const WRITE3res& res) {
                           status_ = res.status;
                           if (res.status != NFS3_OK) return;
                           EXPECT_EQ(res.WRITE3res_u.resok.count, data.size());
                           EXPECT_GE(res.WRITE3res_u.resok.committed, stable);
                           verf.assign(res.WRITE3res_u.resok.verf, NFS3_WRITEVERFSIZE);
                         });
    return verf;
  }
  void read_async(const Handle& file, std::uint64_t offset, std::uint32_t count, std::string& out) {
    READ3args args{fh(file), offset, count};
    nfs_.call_async<READ3res>(
        [&](auto* rpc, auto cb, void* p) { return rpc_nfs3_read_async(rpc, cb, &args, p); },
        [&](const READ3res& res) {
          status_ = res.status;
          if (res.status != NFS3_OK) return;
          const auto& data = res.READ3res_u.resok.data;
          out.assign(data.data_val, data.data_len);
        });
  }
  std::string read(const Handle& file, std::uint64_t offset, std::uint32_t count) {
    std::string out;
    read_async(file, offset, count, out);
    nfs_.wait();
    return out;
  }
  nfsstat3 remove(const Handle& directory, const std::string& name) {
    REMOVE3args args{at(directory, name.c_str())};
    nfs_.call<REMOVE3res>(
        [&](auto* rpc, auto cb, void* p) { return rpc_nfs3_remove_async(rpc, cb, &args, p); },
        [&](const REMOVE3res& res) { status_ = res.status; });
    return status_;
  }

  ServedDirectory served_;
  RawClient nfs_{served_.port(), Service::nfs};
  Handle root_;
  nfsstat3 status_ = NFS3_OK;
};

TEST_F(Libnfs, what_is_written_is_in_the_file_and_comes_back) {
  const auto file = create("f");
  ASSERT_TRUE(file);
  write(*file, 3, "written", UNSTABLE);
  EXPECT_EQ(content_of(served_.directory() / "f"), std::string("\0\0\0written", 10));
  EXPECT_EQ(read(*file, 5, 100), "itten");
  EXPECT_EQ(read(*file, 100, 100), "");
}

TEST_F(Libnfs, a_mebibyte_goes_through_in_one_call_each_way) {
  std::string data(1 << 20, '\0');
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<char>(i * 7 + i / 4096);
  const auto file = create("big");
  ASSERT_TRUE(file);
  write(*file, 0, data, FILE_SYNC);
  EXPECT_TRUE(content_of(served_.directory() / "big") == data);
  EXPECT_TRUE(read(*file, 0, 1 << 20) == data);
}

TEST_F(Libnfs, many_calls_at_once_each_get_their_own_answer) {
  const auto file = create("f");
  ASSERT_TRUE(file);
  std::string data;
  for (int i = 0; i < 256; ++i) data += std::string(64, static_cast<char>(i));
  write(*file, 0, data, UNSTABLE);
  std::array<std::string, 256> parts;
  for (std::size_t i = 0; i < parts.size(); ++i) read_async(*file, i * 64, 64, parts[i]);
  nfs_.wait();
  for (std::size_t i = 0; i < parts.size(); ++i) EXPECT_EQ(parts[i], std::string(64, static_cast<char>(i)));
}

TEST_F(Libnfs, commit_answers_with_the_verifier_of_the_writes_until_a_restart) {
  const auto file = create("f");
  ASSERT_TRUE(file);
  const auto first = write(*file, 0, "x", UNSTABLE);
  COMMIT3args args{fh(*file), 0, 0};
  std::string committed;
  nfs_.call<COMMIT3res>([&](auto* rpc, auto cb, void* p) { return rpc_nfs3_commit_async(rpc, cb, &args, p); },
                        [&](const COMMIT3res& res) {
                          ASSERT_EQ(res.status, NFS3_OK);
                          committed.assign(res.COMMIT3res_u.resok.verf, NFS3_WRITEVERFSIZE);
                        });
  EXPECT_EQ(committed, first);
}

TEST_F(Libnfs, handles_of_files_survive_a_restart) {
  if (::geteuid() != 0) GTEST_SKIP() << "handles of an ordinary user's server last as long as the process";
  const auto file = create("f");
  ASSERT_TRUE(file);
  const auto verf = write(*file, 0, "kept", FILE_SYNC);
  served_.restart();
  RawClient again(served_.port(), Service::nfs);
  READ3args args{fh(*file), 0, 10};
  std::string data;
  again.call<READ3res>([&](auto* rpc, auto cb, void* p) { return rpc_nfs3_read_async(rpc, cb, &args, p); },
                       [&](const READ3res& res) {
                         ASSERT_EQ(res.status, NFS3_OK);
                         data.assign(res.READ3res_u.resok.data.data_val, res.READ3res_u.resok.data.data_len);
                       });
  EXPECT_EQ(data, "kept");
  EXPECT_EQ(verf.size(), static_cast<std::size_t>(NFS3_WRITEVERFSIZE));
}

TEST_F(Libnfs, an_exclusive_create_is_recognised_when_it_is_repeated) {
  createhow3 how{};
  how.mode = EXCLUSIVE;
  std::copy_n("verifier", 8, how.createhow3_u.verf);
  const auto first = create(root_, "x", how);
  ASSERT_TRUE(first);
  EXPECT_EQ(create(root_, "x", how), first);
  how.createhow3_u.verf[0] = 'V';
  EXPECT_FALSE(create(root_, "x", how));
  EXPECT_EQ(status_, NFS3ERR_EXIST);
}

TEST_F(Libnfs, names_are_linked_renamed_and_removed) {
  const auto file = create("a");
  ASSERT_TRUE(file);
  LINK3args link{fh(*file), at(root_, "b")};
  nfs_.call<LINK3res>([&](auto* rpc, auto cb, void* p) { return rpc_nfs3_link_async(rpc, cb, &link, p); },
                      [&](const LINK3res& res) {
                        EXPECT_EQ(res.status, NFS3_OK);
                        EXPECT_EQ(res.LINK3res_u.resok.file_attributes.post_op_attr_u.attributes.nlink, 2U);
                      });
  RENAME3args rename{at(root_, "a"), at(root_, "c")};
  nfs_.call<RENAME3res>(
      [&](auto* rpc, auto cb, void* p) { return rpc_nfs3_rename_async(rpc, cb, &rename, p); },
      [&](const RENAME3res& res) { EXPECT_EQ(res.status, NFS3_OK); });
  EXPECT_EQ(remove(root_, "b"), NFS3_OK);
  EXPECT_EQ(remove(root_, "a"), NFS3ERR_NOENT);
  EXPECT_EQ(lookup(root_, "c"), file);
  EXPECT_TRUE(std::filesystem::exists(served_.directory() / "c"));
}

TEST_F(Libnfs, a_symbolic_link_keeps_its_text) {
  const std::string target = "../nowhere/at all";
  SYMLINK3args args{};
  args.where = at(root_, "l");
  args.symlink.symlink_data = const_cast<char*>(target.c_str());
  Handle link;
  nfs_.call<SYMLINK3res>(
      [&](auto* rpc, auto cb, void* p) { return rpc_nfs3_symlink_async(rpc, cb, &args, p); },
      [&](const SYMLINK3res& res) {
        ASSERT_EQ(res.status, NFS3_OK);
        link = handle_of(res.SYMLINK3res_u.resok.obj.post_op_fh3_u.handle);
      });
  EXPECT_EQ(std::filesystem::read_symlink(served_.directory() / "l"), target);
  READLINK3args read{fh(link)};
  nfs_.call<READLINK3res>(
      [&](auto* rpc, auto cb, void* p) { return rpc_nfs3_readlink_async(rpc, cb, &read, p); },
      [&](const READLINK3res& res) {
        ASSERT_EQ(res.status, NFS3_OK);
        EXPECT_EQ(res.READLINK3res_u.resok.data, target);
      });
}

TEST_F(Libnfs, a_listing_gives_each_entry_once_while_listed_ones_are_removed) {
  std::set<std::string> expected{".", ".."};
  for (int i = 0; i < 2000; ++i) {
    const std::string name = "file-" + std::to_string(i);
    std::ofstream(served_.directory() / name) << i;
    expected.insert(name);
  }
  std::map<std::string, int> seen;
  READDIRPLUS3args args{};
  args.dir = fh(root_);
  args.dircount = 1024;
  args.maxcount = 8192;
  bool end = false;
  while (!end) {
    std::vector<std::string> names;
    nfs_.call<READDIRPLUS3res>(
        [&](auto* rpc, auto cb, void* p) { return rpc_nfs3_readdirplus_async(rpc, cb, &args, p); },
        [&](const READDIRPLUS3res& res) {
          ASSERT_EQ(res.status, NFS3_OK);
          end = res.READDIRPLUS3res_u.resok.reply.eof != 0;
          std::copy_n(res.READDIRPLUS3res_u.resok.cookieverf, NFS3_COOKIEVERFSIZE, args.cookieverf);
          for (const entryplus3* entry = res.READDIRPLUS3res_u.resok.reply.entries; entry != nullptr;
               entry = entry->nextentry) {
            names.emplace_back(entry->name);
            args.cookie = entry->cookie;
            EXPECT_EQ(entry->name_attributes.attributes_follow, 1U);
            EXPECT_EQ(entry->name_handle.handle_follows, 1U);
          }
        });
    ASSERT_TRUE(end || !names.empty());
    for (const std::string& name : names) {
      ++seen[name];
      if (name.starts_with("file-")) std::filesystem::remove(served_.directory() / name);
    }
  }
  EXPECT_EQ(seen.size(), expected.size());
  for (const std::string& name : expected) EXPECT_EQ(seen[name], 1) << name;
}

TEST_F(Libnfs, permissions_are_those_of_the_caller) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root may act as others";
  const auto secret = create("secret");
  ASSERT_TRUE(secret);
  write(*secret, 0, "x", UNSTABLE);
  std::filesystem::permissions(served_.directory() / "secret", std::filesystem::perms::owner_read);
  nfs_.act_as(1000, 1000);
  EXPECT_EQ(read(*secret, 0, 1), "");
  EXPECT_EQ(status_, NFS3ERR_ACCES);
  std::filesystem::permissions(served_.directory(), std::filesystem::perms::owner_all);
  EXPECT_FALSE(create("mine"));
  EXPECT_EQ(status_, NFS3ERR_ACCES);
  std::filesystem::permissions(served_.directory(), std::filesystem::perms::all);
  EXPECT_TRUE(create("mine"));
  struct stat made{};
  ASSERT_EQ(::stat((served_.directory() / "mine").c_str(), &made), 0);
  EXPECT_EQ(made.st_uid, 1000U);
  EXPECT_EQ(made.st_gid, 1000U);
}

TEST_F(Libnfs, a_read_only_export_is_read_and_not_written) {
  std::ofstream(served_.frozen() / "f") << "ice";
  const Handle frozen = mounted("/frozen");
  const auto file = lookup(frozen, "f");
  ASSERT_TRUE(file);
  EXPECT_EQ(read(*file, 0, 10), "ice");
  write(*file, 0, "x", UNSTABLE);
  EXPECT_EQ(status_, NFS3ERR_ROFS);
  EXPECT_FALSE(create(frozen, "g", createhow3{}));
  EXPECT_EQ(status_, NFS3ERR_ROFS);
  EXPECT_EQ(remove(frozen, "f"), NFS3ERR_ROFS);
}

TEST_F(Libnfs, a_subdirectory_can_be_mounted_and_dot_dot_leads_no_higher_than_the_export) {
  std::filesystem::create_directories(served_.directory() / "a" / "b");
  const Handle below = mounted("/a/b");
  const auto a = lookup(below, "..");
  ASSERT_TRUE(a);
  const auto top = lookup(*a, "..");
  EXPECT_EQ(top, root_);
  EXPECT_EQ(lookup(*top, ".."), root_);
}

TEST_F(Libnfs, fsinfo_and_pathconf_describe_the_file_system) {
  FSINFO3args info{fh(root_)};
  nfs_.call<FSINFO3res>([&](auto* rpc, auto cb, void* p) { return rpc_nfs3_fsinfo_async(rpc, cb, &info, p); },
                        [&](const FSINFO3res& res) {
                          ASSERT_EQ(res.status, NFS3_OK);
                          EXPECT_EQ(res.FSINFO3res_u.resok.rtmax, 1U << 20);
                          EXPECT_EQ(res.FSINFO3res_u.resok.wtmax, 1U << 20);
                          EXPECT_GT(res.FSINFO3res_u.resok.maxfilesize, std::uint64_t{1} << 40);
                        });
  PATHCONF3args conf{fh(root_)};
  nfs_.call<PATHCONF3res>(
      [&](auto* rpc, auto cb, void* p) { return rpc_nfs3_pathconf_async(rpc, cb, &conf, p); },
      [&](const PATHCONF3res& res) {
        ASSERT_EQ(res.status, NFS3_OK);
        EXPECT_EQ(res.PATHCONF3res_u.resok.name_max, 255U);
        EXPECT_EQ(res.PATHCONF3res_u.resok.no_trunc, 1U);
      });
}

}  // namespace
}  // namespace braid::e2e
