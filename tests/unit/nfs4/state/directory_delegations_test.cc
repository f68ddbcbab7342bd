// Delegations of directories (RFC 8881 10.9, 18.39): whole COMPOUNDs over a real directory.
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "delegations_compound_fixture.h"

namespace braid::nfs4::test {
namespace {

using namespace std::chrono_literals;

// A request that has come to this place below the root.
Request at(SessionClient& client, std::initializer_list<std::string_view> names) {
  Request request = client.request();
  request.add(OP_PUTROOTFH);
  for (const std::string_view name : names) request.add(OP_LOOKUP, LOOKUP4args{name});
  return request;
}

class DirectoryDelegations : public DelegationCompound {
 protected:
  explicit DirectoryDelegations(Delegations policy = Delegations::read) : DelegationCompound(policy) {
    std::filesystem::create_directories(path("dir/sub"));
    std::filesystem::create_directories(path("other"));
    world_.write_local("dir/file", "content");
  }
  [[nodiscard]] std::string path(std::string_view name) const {
    return world_.directory() + "/" + std::string(name);
  }
  // What GET_DIR_DELEGATION says; nothing if it fails.
  std::optional<GET_DIR_DELEGATION4res_non_fatal> ask(SessionClient& client,
                                                      std::initializer_list<std::string_view> names,
                                                      nfsstat4 expected = NFS4_OK) {
    Reply reply = client.send(at(client, names).add(OP_GET_DIR_DELEGATION, GET_DIR_DELEGATION4args{}));
    EXPECT_EQ(reply.status(), expected);
    EXPECT_EQ(reply.status_of(OP_PUTROOTFH), NFS4_OK);
    for (std::size_t i = 0; i < names.size(); ++i) EXPECT_EQ(reply.status_of(OP_LOOKUP), NFS4_OK);
    const auto result = reply.result<GET_DIR_DELEGATION4res>(OP_GET_DIR_DELEGATION);
    EXPECT_EQ(result.gddr_status, expected);
    if (expected != NFS4_OK || result.gddr_status != NFS4_OK) return std::nullopt;
    return *result.gddr_res_non_fatal4();
  }
  std::optional<stateid4> delegated(SessionClient& client, std::initializer_list<std::string_view> names) {
    const auto answer = ask(client, names);
    if (!answer || answer->gddrnf_status != gddrnf4_status::GDD4_OK) return std::nullopt;
    return answer->gddrnf_resok4()->gddr_stateid;
  }
  nfsstat4 give_back(SessionClient& client, std::initializer_list<std::string_view> names,
                     const stateid4& id) {
    return client.send(at(client, names).add(OP_DELEGRETURN, DELEGRETURN4args{id})).status();
  }
  nfsstat4 make_directory(SessionClient& client, std::initializer_list<std::string_view> names,
                          std::string_view name) {
    return client
        .send(at(client, names)
                  .add(OP_CREATE, CREATE4args{createtype4::with_NF4SOCK(nfs_ftype4::NF4DIR), name, {}}))
        .status();
  }
  std::uint32_t flags_of(SessionClient& client) {
    Reply reply = world_.send(client.request(), client.caller());
    return reply.result<SEQUENCE4res>(OP_SEQUENCE).sr_resok4()->sr_status_flags;
  }
  [[nodiscard]] std::uint32_t held() {
    return world_.engine().state().states.with(
        [](const state::States& states) { return states.delegations().stats().directories; });
  }

  CallbackPeer other_peer_{world_};
  SessionClient carol_{world_, 1, "carol", {.address = "192.0.2.3", .connection = other_peer_.connection()}};
};

TEST_F(DirectoryDelegations, readers_share_them_and_no_notifications_are_promised) {
  const auto answer = ask(alice_, {"dir"});
  ASSERT_TRUE(answer);
  ASSERT_EQ(answer->gddrnf_status, gddrnf4_status::GDD4_OK);
  const GET_DIR_DELEGATION4resok& given = *answer->gddrnf_resok4();
  EXPECT_TRUE(given.gddr_notification.empty());
  EXPECT_TRUE(given.gddr_child_attributes.empty());
  EXPECT_TRUE(given.gddr_dir_attributes.empty());
  EXPECT_TRUE(delegated(carol_, {"dir"}));
  EXPECT_EQ(held(), 2U);
  const READDIR4args list{0, {}, 4096, 65536, {}};
  Reply listed = alice_.send(at(alice_, {"dir"}).add(OP_READDIR, list));
  EXPECT_EQ(listed.status(), NFS4_OK);
  EXPECT_EQ(listed.status_of(OP_PUTROOTFH), NFS4_OK);
  EXPECT_EQ(listed.status_of(OP_LOOKUP), NFS4_OK);
  EXPECT_EQ(listed.result<READDIR4res>(OP_READDIR).resok4()->cookieverf, given.gddr_cookieverf);
  EXPECT_TRUE(peer_.calls().empty());
  EXPECT_EQ(give_back(alice_, {"other"}, given.gddr_stateid), NFS4ERR_BAD_STATEID) << "of another directory";
  EXPECT_EQ(give_back(carol_, {"dir"}, given.gddr_stateid), NFS4ERR_BAD_STATEID) << "of another client";
  EXPECT_EQ(give_back(alice_, {"dir"}, given.gddr_stateid), NFS4_OK);
  EXPECT_EQ(give_back(alice_, {"dir"}, given.gddr_stateid), NFS4ERR_BAD_STATEID);
  EXPECT_EQ(held(), 1U);
}

TEST_F(DirectoryDelegations, who_cannot_have_one_is_promised_nothing) {
  const auto unavailable = [&](SessionClient& client, std::initializer_list<std::string_view> names) {
    const auto answer = ask(client, names);
    return answer && answer->gddrnf_status == gddrnf4_status::GDD4_UNAVAIL &&
           !*answer->gddrnf_will_signal_deleg_avail();
  };
  EXPECT_TRUE(unavailable(bob_, {"dir"})) << "it cannot be called";
  ask(alice_, {"dir", "file"}, NFS4ERR_NOTDIR);
  ASSERT_TRUE(delegated(alice_, {"dir"}));
  EXPECT_TRUE(unavailable(alice_, {"dir"})) << "it has one";
  SessionClient dave(world_, 2, "dave", {.uid = 7, .gid = 7, .connection = peer_.connection()});
  EXPECT_TRUE(delegated(dave, {"other"}));
  ASSERT_EQ(::chmod(path("dir/sub").c_str(), 0711), 0);
  if (::geteuid() == 0) {
    EXPECT_TRUE(unavailable(dave, {"dir", "sub"})) << "it may not list it";
  }
  SessionClient erin(world_, 2, "erin", {.connection = peer_.connection()}, false);
  EXPECT_TRUE(unavailable(erin, {"dir"})) << "it has not said that it reclaims nothing";
}

TEST(PseudoDirectories, are_never_delegated) {
  CallbackWorld world(giving(Delegations::read), {{.path = "/data"}});
  CallbackPeer peer(world);
  SessionClient alice(world, 2, "alice", {.connection = peer.connection()});
  const auto answer_at = [&](std::initializer_list<std::string_view> names) {
    Reply reply = alice.send(at(alice, names).add(OP_GET_DIR_DELEGATION, GET_DIR_DELEGATION4args{}));
    EXPECT_EQ(reply.status_of(OP_PUTROOTFH), NFS4_OK);
    for (std::size_t i = 0; i < names.size(); ++i) EXPECT_EQ(reply.status_of(OP_LOOKUP), NFS4_OK);
    const auto result = reply.result<GET_DIR_DELEGATION4res>(OP_GET_DIR_DELEGATION);
    EXPECT_EQ(result.gddr_status, NFS4_OK);
    return result.gddr_res_non_fatal4()->gddrnf_status;
  };
  EXPECT_EQ(answer_at({}), gddrnf4_status::GDD4_UNAVAIL);
  EXPECT_EQ(answer_at({"data"}), gddrnf4_status::GDD4_OK);
}

TEST_F(DirectoryDelegations, is_given_by_every_policy_but_none) {
  class Fixed : public DirectoryDelegations {
   public:
    explicit Fixed(Delegations policy) : DirectoryDelegations(policy) {}
    void TestBody() override {}
    bool given() { return delegated(alice_, {"dir"}).has_value(); }
  };
  EXPECT_TRUE(Fixed(Delegations::read).given());
  EXPECT_TRUE(Fixed(Delegations::write).given());
  EXPECT_FALSE(Fixed(Delegations::none).given());
}

// --- Recalls: what others do to the directory "dir", each after those before it.

struct Change {
  const char* name;
  std::function<Request(SessionClient&)> request;
};

OPEN4args creating(std::string_view name) {
  OPEN4args args = open_args(open_claim4::with_file(name), read_access | OPEN4_SHARE_ACCESS_WANT_NO_DELEG);
  args.openhow = openflag4::with_how(createhow4::with_createattrs(createmode4::GUARDED4, {}));
  return args;
}

Request in_dir(SessionClient& client) { return at(client, {"dir"}); }

const Change changes[] = {
    {"OPEN", [](SessionClient& client) { return in_dir(client).add(OP_OPEN, creating("new")); }},
    {"CREATE",
     [](SessionClient& client) {
       const auto directory = createtype4::with_NF4SOCK(nfs_ftype4::NF4DIR);
       return in_dir(client).add(OP_CREATE, CREATE4args{directory, "newdir", {}});
     }},
    {"LINK",
     [](SessionClient& client) {
       return at(client, {"dir", "file"})
           .add(OP_SAVEFH)
           .add(OP_PUTROOTFH)
           .add(OP_LOOKUP, LOOKUP4args{"dir"})
           .add(OP_LINK, LINK4args{"linked"});
     }},
    {"RENAME within",
     [](SessionClient& client) {
       return in_dir(client).add(OP_SAVEFH).add(OP_RENAME, RENAME4args{"linked", "new"});
     }},
    {"RENAME out",
     [](SessionClient& client) {
       return in_dir(client).add(OP_SAVEFH).add(OP_PUTROOTFH).add(OP_RENAME, RENAME4args{"file", "moved"});
     }},
    {"RENAME in",
     [](SessionClient& client) {
       return at(client, {})
           .add(OP_SAVEFH)
           .add(OP_LOOKUP, LOOKUP4args{"dir"})
           .add(OP_RENAME, RENAME4args{"moved", "file"});
     }},
    {"REMOVE", [](SessionClient& client) { return in_dir(client).add(OP_REMOVE, REMOVE4args{"newdir"}); }},
    {"SETATTR",
     [](SessionClient& client) { return in_dir(client).add(OP_SETATTR, SETATTR4args{{}, mode_of(0750)}); }},
    {"SETXATTR",
     [](SessionClient& client) {
       const SETXATTR4args args{setxattr_option4::SETXATTR4_EITHER, "name", base::bytes_of("x")};
       return in_dir(client).add(OP_SETXATTR, args);
     }},
    {"REMOVEXATTR",
     [](SessionClient& client) { return in_dir(client).add(OP_REMOVEXATTR, REMOVEXATTR4args{"name"}); }},
    {"RENAME of itself",
     [](SessionClient& client) {
       return at(client, {}).add(OP_SAVEFH).add(OP_RENAME, RENAME4args{"dir", "dir2"});
     }},
};

class DirectoryChanges : public DirectoryDelegations {
 protected:
  // 4.2: xattrs.
  SessionClient dave_{world_, 2, "dave", {.address = "192.0.2.4"}};
};

TEST_F(DirectoryChanges, by_others_have_it_recalled_before_they_happen) {
  std::size_t recalls = 0;
  for (const Change& one : changes) {
    SCOPED_TRACE(one.name);
    world_.advance(60s);
    world_.file_system().sweep();
    const auto id = delegated(alice_, {"dir"});
    ASSERT_TRUE(id);
    const auto request = [&] { return one.request(dave_); };
    EXPECT_EQ(dave_.send(request()).status(), NFS4ERR_DELAY);
    EXPECT_EQ(peer_.await(nfs_cb_opnum4::OP_CB_RECALL, ++recalls).id, *id);
    EXPECT_EQ(dave_.send(request()).status(), NFS4ERR_DELAY);
    EXPECT_EQ(give_back(alice_, {"dir"}, *id), NFS4_OK);
    EXPECT_FALSE(delegated(alice_, {"dir"})) << "it would just be recalled again";
    EXPECT_EQ(dave_.send(request()).status(), NFS4_OK);
  }
  EXPECT_EQ(peer_.calls().size(), std::size(changes));
}

TEST_F(DirectoryChanges, by_its_holder_leave_it_alone) {
  const auto id = delegated(alice_, {"dir"});
  ASSERT_TRUE(id);
  for (const Change& one : changes) {
    SCOPED_TRACE(one.name);
    EXPECT_EQ(alice_.send(one.request(alice_)).status(), NFS4_OK);
  }
  EXPECT_TRUE(peer_.calls().empty());
  EXPECT_EQ(give_back(alice_, {"dir2"}, *id), NFS4_OK);
}

TEST_F(DirectoryChanges, of_nothing_leave_it_alone) {
  const auto id = delegated(alice_, {"dir"});
  ASSERT_TRUE(id);
  const OPEN4args opening = open_args(open_claim4::with_file("file"), read_access);
  const WRITE4args write{.stateid = {}, .stable = stable_how4::UNSTABLE4};
  const std::pair<Request, nfsstat4> requests[] = {
      {in_dir(dave_).add(OP_OPEN, creating("file")), NFS4ERR_EXIST},
      {in_dir(dave_).add(OP_OPEN, opening), NFS4_OK},
      {in_dir(dave_).add(OP_REMOVE, REMOVE4args{"absent"}), NFS4ERR_NOENT},
      {in_dir(dave_).add(OP_SAVEFH).add(OP_RENAME, RENAME4args{"absent", "file"}), NFS4ERR_NOENT},
      {in_dir(dave_).add(OP_SAVEFH).add(OP_RENAME, RENAME4args{"file", "file"}), NFS4_OK},
      {at(dave_, {"dir", "file"}).add(OP_WRITE, write), NFS4_OK},
      {at(dave_, {"dir", "file"}).add(OP_SETATTR, SETATTR4args{{}, mode_of(0600)}), NFS4_OK},
      {at(dave_, {}).add(OP_REMOVE, REMOVE4args{"other"}), NFS4_OK},
  };
  std::size_t number = 0;
  for (const auto& [request, expected] : requests) {
    SCOPED_TRACE(number++);
    EXPECT_EQ(dave_.send(request).status(), expected);
  }
  EXPECT_TRUE(peer_.calls().empty());
  EXPECT_EQ(give_back(alice_, {"dir"}, *id), NFS4_OK);
}

TEST_F(DirectoryDelegations, both_directories_of_a_rename_are_asked_for_at_once) {
  const auto from = delegated(alice_, {"dir"});
  const auto to = delegated(carol_, {"other"});
  ASSERT_TRUE(from && to);
  const auto rename = [&] {
    return bob_.send(at(bob_, {"dir"})
                         .add(OP_SAVEFH)
                         .add(OP_PUTROOTFH)
                         .add(OP_LOOKUP, LOOKUP4args{"other"})
                         .add(OP_RENAME, RENAME4args{"sub", "sub"}));
  };
  EXPECT_EQ(rename().status(), NFS4ERR_DELAY);
  peer_.await(nfs_cb_opnum4::OP_CB_RECALL);
  other_peer_.await(nfs_cb_opnum4::OP_CB_RECALL);
  EXPECT_EQ(give_back(alice_, {"dir"}, *from), NFS4_OK);
  EXPECT_EQ(give_back(carol_, {"other"}, *to), NFS4_OK);
  EXPECT_EQ(rename().status(), NFS4_OK);
}

// RFC 8881 10.9.4: all delegations of a directory that goes come back.
TEST_F(DirectoryDelegations, a_directory_that_its_holder_removes_is_asked_for) {
  const auto id = delegated(alice_, {"dir", "sub"});
  ASSERT_TRUE(id);
  Reply found = alice_.send(at(alice_, {"dir", "sub"}).add(OP_GETFH));
  EXPECT_EQ(found.status_of(OP_PUTROOTFH), NFS4_OK);
  EXPECT_EQ(found.status_of(OP_LOOKUP), NFS4_OK);
  EXPECT_EQ(found.status_of(OP_LOOKUP), NFS4_OK);
  const auto handle = found.result<GETFH4res>(OP_GETFH);
  EXPECT_EQ(bob_.send(at(bob_, {"dir"}).add(OP_REMOVE, REMOVE4args{"sub"})).status(), NFS4ERR_DELAY);
  EXPECT_EQ(alice_.send(at(alice_, {"dir"}).add(OP_REMOVE, REMOVE4args{"sub"})).status(), NFS4_OK);
  EXPECT_EQ(peer_.await(nfs_cb_opnum4::OP_CB_RECALL).id, *id);
  const PUTFH4args there{handle.resok4()->object};
  const auto back = [&] {
    return alice_.send(alice_.request().add(OP_PUTFH, there).add(OP_DELEGRETURN, DELEGRETURN4args{*id}));
  };
  EXPECT_EQ(back().status(), NFS4_OK);
  EXPECT_EQ(back().status(), NFS4ERR_STALE);
}

TEST_F(DirectoryDelegations, a_local_change_has_it_recalled) {
  const auto id = delegated(alice_, {"dir"});
  ASSERT_TRUE(id);
  world_.write_local("dir/new", "");
  EXPECT_EQ(peer_.await(nfs_cb_opnum4::OP_CB_RECALL).id, *id);
  EXPECT_EQ(give_back(alice_, {"dir"}, *id), NFS4_OK);
}

// What other protocols do goes by the same file system.
TEST_F(DirectoryDelegations, a_change_without_nfsv4_has_it_recalled) {
  const auto id = delegated(alice_, {"dir"});
  ASSERT_TRUE(id);
  const auto refused = remove_without_nfsv4(world_, "dir", "file");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error(), vfs::Error::delay);
  EXPECT_EQ(peer_.await(nfs_cb_opnum4::OP_CB_RECALL).id, *id);
  EXPECT_EQ(give_back(alice_, {"dir"}, *id), NFS4_OK);
  EXPECT_TRUE(remove_without_nfsv4(world_, "dir", "file"));
}

// --- Holders that do not answer.

TEST_F(DirectoryDelegations, one_that_does_not_come_back_is_revoked_after_the_lease) {
  peer_.silent = true;
  const auto id = delegated(alice_, {"dir"});
  ASSERT_TRUE(id);
  EXPECT_EQ(make_directory(bob_, {"dir"}, "new"), NFS4ERR_DELAY);
  peer_.await(nfs_cb_opnum4::OP_CB_RECALL);
  for (const bool late : {false, true}) {
    world_.advance(60s);
    world_.tick();
    const std::array<stateid4, 1> ids{*id};
    TEST_STATEID4args asked;
    asked.ts_stateids = ids;
    Reply tested = alice_.send(alice_.request().add(OP_TEST_STATEID, asked));
    const auto result = tested.result<TEST_STATEID4res>(OP_TEST_STATEID);
    EXPECT_EQ(result.tsr_resok4()->tsr_status_codes[0], late ? NFS4ERR_DELEG_REVOKED : NFS4_OK);
    EXPECT_EQ(make_directory(bob_, {"dir"}, "new"), late ? NFS4_OK : NFS4ERR_DELAY);
  }
  EXPECT_EQ(give_back(alice_, {"dir"}, *id), NFS4ERR_DELEG_REVOKED);
  EXPECT_NE(flags_of(alice_) & SEQ4_STATUS_RECALLABLE_STATE_REVOKED, 0U);
  EXPECT_EQ(alice_.send(alice_.request().add(OP_FREE_STATEID, FREE_STATEID4args{*id})).status(), NFS4_OK);
  EXPECT_EQ(flags_of(alice_) & SEQ4_STATUS_RECALLABLE_STATE_REVOKED, 0U);
  EXPECT_EQ(held(), 0U);
}

TEST_F(DirectoryDelegations, a_holder_whose_lease_is_over_is_in_nobodys_way) {
  peer_.silent = true;
  ASSERT_TRUE(delegated(alice_, {"dir"}));
  world_.advance(60s);
  EXPECT_EQ(make_directory(bob_, {"dir"}, "new"), NFS4ERR_DELAY);
  world_.advance(60s);
  EXPECT_EQ(make_directory(bob_, {"dir"}, "new"), NFS4_OK);
  EXPECT_EQ(held(), 0U);
}

}  // namespace
}  // namespace braid::nfs4::test
