// A kind of state that is added to opens, locks and delegations: what it is asked and told.
#include <gmock/gmock.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "tests/unit/nfs4/state/opens_fixture.h"

namespace braid::nfs4::state::test {
namespace {

struct LayoutState final : State {
  static constexpr StateKind of_kind = StateKind::layout;
  LayoutState(ClientRef whose, FileState& of) : State(of_kind, std::move(whose)), file(&of) {}
  FileState* file;  // null once revoked
};

// One state for each client and file, which an OPEN by others recalls.
class Layouts final : public Kind {
 public:
  Layouts()
      : Kind({.kind = StateKind::layout,
              .name = "layout",
              .when_revoked = NFS4ERR_BAD_STATEID,
              .sequence_flag = SEQ4_STATUS_RECALLABLE_STATE_REVOKED}) {}

  void added_to(StateRegistry& registry) override { registry_ = &registry; }
  stateid4 give(const ClientRef& client, const vfs::FileHandle& handle) {
    FileState& file = registry_->file_of(handle);
    auto* layout = registry_->make<LayoutState>(registry_->states_of(client), file);
    file.others.push_back(layout);
    return layout->id();
  }
  void end(State& state, DeferredWork& work) override {
    told.emplace_back("end");
    detach(static_cast<LayoutState&>(state));
    if (state.revoked) registry_->note_freed(state);
    registry_->erase(state, work);
  }
  void revoke(State& state, DeferredWork& work) override {
    told.emplace_back("revoke");
    detach(static_cast<LayoutState&>(state));
    registry_->note_revoked(state);
    work.more.emplace_back([]() -> io::Op<> { return base::Result<void>(); });
  }
  [[nodiscard]] bool freeable(const State& state) const override { return state.revoked; }
  [[nodiscard]] bool describe(const State& state, StateLine& line) const override {
    line.file = static_cast<const LayoutState&>(state).file->handle;
    return true;
  }
  bool in_the_way(FileState& file, const OpenRequest& request, std::vector<ClientRef>& blockers,
                  DeferredWork& work) override {
    bool any = false;
    for (const State* state : file.others) {
      if (state->client == request.client) continue;
      any = true;
      blockers.push_back(state->client);
      work.recalls.push_back({state->client, state->id(), file.handle});
    }
    return any;
  }
  void last_close(FileState& /*file*/, const Client& client, DeferredWork& /*work*/) override {
    told.push_back("last close of " + std::to_string(client.id & 0xff));
  }
  void delegation_ends(FileState& /*file*/, const Client& client, DeferredWork& /*work*/) override {
    told.push_back("delegation of " + std::to_string(client.id & 0xff));
  }
  void client_leaves(clientid4 client, DeferredWork& /*work*/) override {
    told.push_back("leaves " + std::to_string(client & 0xff));
  }
  void tick(base::TimePoint /*lease_ago*/, base::TimePoint /*now*/, DeferredWork& /*work*/) override {
    told.emplace_back("tick");
  }

  std::vector<std::string> told;

 private:
  void detach(LayoutState& layout) {
    if (layout.file == nullptr) return;
    const vfs::FileHandle handle = layout.file->handle;
    layout.file->others.remove(&layout);
    layout.file = nullptr;
    registry_->forget_if_unused(handle);
  }

  StateRegistry* registry_ = nullptr;
};

class KindsTest : public StatesTest {
 protected:
  Layouts layouts;
  std::array<Kind*, 1> more{&layouts};
  States with_layouts{7, StateLimits{}, more};

  base::Result<OpenAnswer, Refusal> open_by(const ClientRef& client, std::string_view owner = "owner") {
    return with_layouts.opens().open({.client = client,
                                      .minor_version = client->minor_version(),
                                      .owner = owner,
                                      .file = file_one,
                                      .share = reads,
                                      .opener = {},
                                      .descriptor = nullptr,
                                      .wish = DelegationWish::none,
                                      .reclaim = false,
                                      .also_writes = false,
                                      .now = now},
                                     after);
  }
};

TEST_F(KindsTest, stands_in_the_way_of_others_opens) {
  const stateid4 id = layouts.give(alice, file_one);
  EXPECT_TRUE(open_by(alice));
  const auto refused = open_by(bob);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().status, NFS4ERR_DELAY);
  EXPECT_THAT(refused.error().blockers, testing::ElementsAre(alice));
  ASSERT_EQ(after.recalls.size(), 1U);
  EXPECT_EQ(after.recalls.front().id, id);
}

TEST_F(KindsTest, hears_of_the_last_close_of_a_client_alone) {
  const stateid4 first = open_by(alice)->id;
  const stateid4 others = open_by(bob)->id;
  const stateid4 by_another = open_by(alice, "another")->id;
  ASSERT_TRUE(with_layouts.opens().close(use(alice, first), after));
  EXPECT_THAT(layouts.told, testing::IsEmpty());
  ASSERT_TRUE(with_layouts.opens().close(use(alice, by_another), after));
  EXPECT_THAT(layouts.told, testing::ElementsAre("last close of 1"));
  ASSERT_TRUE(with_layouts.opens().close(use(bob, others), after));
  EXPECT_THAT(layouts.told, testing::ElementsAre("last close of 1", "last close of 2"));
}

TEST_F(KindsTest, hears_of_the_end_of_a_delegation) {
  const auto open = with_layouts.opens().open({.client = alice,
                                               .minor_version = alice->minor_version(),
                                               .owner = "owner",
                                               .file = file_one,
                                               .share = reads,
                                               .opener = {},
                                               .descriptor = descriptor(share_read),
                                               .wish = DelegationWish::any,
                                               .reclaim = false,
                                               .also_writes = false,
                                               .now = now},
                                              after);
  ASSERT_TRUE(open && open->delegation);
  DelegationRequest request;
  request.type = *open->delegation;
  request.now = now;
  const auto id = with_layouts.delegations().give(*open, request);
  ASSERT_TRUE(id);
  EXPECT_THAT(layouts.told, testing::IsEmpty());
  ASSERT_TRUE(with_layouts.delegations().give_back(use(alice, *id), after));
  EXPECT_THAT(layouts.told, testing::ElementsAre("delegation of 1"));
}

TEST_F(KindsTest, stateids_are_tested_used_and_freed_by_its_rules) {
  const stateid4 id = layouts.give(alice, file_one);
  EXPECT_EQ(with_layouts.test(id, *alice), NFS4_OK);
  EXPECT_EQ(with_layouts.authorize(use(alice, id), share_read, after).error().status, NFS4ERR_BAD_STATEID)
      << "nothing is read by a layout here";
  EXPECT_EQ(status_of(with_layouts.free(id, *alice, after)), NFS4ERR_LOCKS_HELD);
  with_layouts.revoke_client(alice->id);
  EXPECT_THAT(layouts.told, testing::ElementsAre("leaves 1", "revoke"));
  EXPECT_EQ(with_layouts.take_left().more.size(), 1U);
  EXPECT_EQ(alice->status(), SEQ4_STATUS_RECALLABLE_STATE_REVOKED);
  EXPECT_EQ(with_layouts.test(id, *alice), NFS4ERR_BAD_STATEID) << "as its kind says";
  EXPECT_EQ(status_of(with_layouts.free(id, *alice, after)), NFS4_OK);
  EXPECT_EQ(alice->status(), 0U);
  EXPECT_EQ(with_layouts.size(), 0U);
}

TEST_F(KindsTest, is_counted_listed_and_ended_with_its_client) {
  const stateid4 id = layouts.give(bob, handle(2));
  EXPECT_EQ(with_layouts.count().of(StateKind::layout), 1U);
  EXPECT_EQ(with_layouts.count(bob->id).of(StateKind::layout), 1U);
  EXPECT_TRUE(with_layouts.holds_state(bob->id));
  const StatePage page =
      with_layouts.list({.kind = StateKind::layout, .client = std::nullopt, .from = 0, .lines_max = 8});
  ASSERT_EQ(page.lines.size(), 1U);
  EXPECT_EQ(page.lines.front().id, id);
  EXPECT_EQ(page.lines.front().file, handle(2));
  with_layouts.tick(now, now, after);
  with_layouts.drop_client(bob->id);
  EXPECT_THAT(layouts.told, testing::ElementsAre("tick", "leaves 2", "end"));
  EXPECT_EQ(with_layouts.size(), 0U);
  EXPECT_FALSE(with_layouts.has(id));
}

}  // namespace
}  // namespace braid::nfs4::state::test
