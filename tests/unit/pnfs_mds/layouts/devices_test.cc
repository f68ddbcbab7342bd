// GETDEVICEINFO, and when a device is another one (RFC 8881 sections 13.2 and 18.40).
#include "tests/unit/pnfs_mds/layouts/layouts_fixture.h"

namespace braid::pnfs_mds::layouts::test {
namespace {

class DevicesTest : public LayoutsTest {
 protected:
  GETDEVICEINFO4res getdeviceinfo(const GETDEVICEINFO4args& args) {
    kept_ = alice_->send(alice_->request().add(OP_GETDEVICEINFO, args));
    return kept_.result<GETDEVICEINFO4res>(OP_GETDEVICEINFO);
  }
  DeviceId device_of(std::string_view name) {
    const auto granted =
        layoutget(*alice_, name, layoutget_args(open(*alice_, name, OPEN4_SHARE_ACCESS_BOTH)));
    return granted ? granted->file.nfl_deviceid : DeviceId{};
  }

  Reply kept_;
};

TEST_F(DevicesTest, says_where_each_server_is) {
  const std::array<std::uint32_t, 1> both{6};
  const GETDEVICEINFO4args args{.gdia_device_id = device_of("file"),
                                .gdia_layout_type = files_type,
                                .gdia_maxcount = 4096,
                                .gdia_notify_types = both};
  const auto result = getdeviceinfo(args);
  const auto* const ok = result.gdir_resok4();
  ASSERT_NE(ok, nullptr);
  EXPECT_EQ(ok->gdir_device_addr.da_layout_type, files_type);
  EXPECT_THAT(ok->gdir_notification, testing::ElementsAre(6)) << "Linux keeps no device without them";
  io::SlabCursor cursor(test_slabs());
  auto range = cursor.carve(ok->gdir_device_addr.da_addr_body.size());
  std::ranges::copy(ok->gdir_device_addr.da_addr_body, range->writable().begin());
  io::Payload body;
  body.append(std::move(*range));
  xdr::Arena arena;
  xdr::Decoder in(body, arena);
  pnfs::nfsv4_1_file_layout_ds_addr4 device;
  ASSERT_TRUE(decode(in, device));
  EXPECT_EQ(in.remaining(), 0U);
  EXPECT_THAT(device.nflda_stripe_indices, testing::ElementsAre(0, 1, 2));
  ASSERT_EQ(device.nflda_multipath_ds_list.size(), servers);
  for (const auto& list : device.nflda_multipath_ds_list) {
    ASSERT_EQ(list.addresses.size(), 1U);
    EXPECT_EQ(list.addresses[0].na_r_netid, "tcp");
    EXPECT_TRUE(list.addresses[0].na_r_addr.starts_with("192.0.2.7.8."));
  }
}

TEST_F(DevicesTest, a_client_is_told_addresses_of_its_own_transport_or_of_those_that_are_configured) {
  using enum rpc::Transport;
  DataServerInfo server;
  server.addresses = {{"tcp", "1"}, {"rdma", "2"}, {"tcp6", "3"}, {"rdma6", "4"}};
  const auto told = [&server](const Layouts& layouts, rpc::Transport own) {
    std::string all;
    for (const Address& address : layouts.addresses_for(own, server)) all += address.uaddr;
    return all;
  };
  EXPECT_EQ(told(*layouts_, tcp), "13");
  EXPECT_EQ(told(*layouts_, rdma), "24");
  EXPECT_EQ(told(Layouts(*cluster_, {rdma}), tcp), "24");
  EXPECT_EQ(told(Layouts(*cluster_, {rdma, tcp}), tcp), "2413");
  EXPECT_EQ(told(Layouts(*cluster_, {tcp}), rdma), "13");
  server.addresses = {{"tcp", "1"}};
  EXPECT_EQ(told(*layouts_, rdma), "1") << "better than none";
  EXPECT_EQ(told(Layouts(*cluster_, {rdma}), tcp), "") << "it was said";
}

TEST_F(DevicesTest, refuses_what_it_does_not_know_and_says_how_much_room_it_needs) {
  GETDEVICEINFO4args args{.gdia_device_id = device_of("file"),
                          .gdia_layout_type = files_type,
                          .gdia_maxcount = 16,
                          .gdia_notify_types = {}};
  const auto small = getdeviceinfo(args);
  EXPECT_EQ(small.gdir_status, NFS4ERR_TOOSMALL);
  ASSERT_NE(small.gdir_mincount(), nullptr);
  args.gdia_maxcount = *small.gdir_mincount();
  EXPECT_EQ(getdeviceinfo(args).gdir_status, NFS4_OK);
  args.gdia_layout_type = 2;
  EXPECT_EQ(getdeviceinfo(args).gdir_status, NFS4ERR_UNKNOWN_LAYOUTTYPE);
  args.gdia_layout_type = files_type;
  args.gdia_device_id[3] ^= std::byte{1};
  EXPECT_EQ(getdeviceinfo(args).gdir_status, NFS4ERR_NOENT);
}

TEST_F(DevicesTest, a_server_that_has_restarted_makes_it_another_one) {
  const auto ids = [&] { return std::pair(device_of("one"), device_of("two")); };
  const auto [one, two] = ids();
  EXPECT_EQ(one, two) << "one for a set of servers";
  objects_.restart(pnfs::ServerNumber(2));
  beat(2);
  EXPECT_NE(device_of("one"), one);
}

}  // namespace
}  // namespace braid::pnfs_mds::layouts::test
