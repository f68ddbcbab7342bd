// Layout operations of a server that offers none: RFC 8881 sections 18.40 to 18.44.
#include "tests/unit/nfs4/ops_42/fixture.h"

namespace braid::nfs4::test {
namespace {

using enum nfs_opnum4;
using enum nfsstat4;

class Layouts : public Extended {
 protected:
  void SetUp() override { world_.write_local("file", ""); }
};

TEST_F(Layouts, none_is_given) {
  LAYOUTGET4args args;
  args.loga_layout_type = static_cast<std::uint32_t>(layouttype4::LAYOUT4_NFSV4_1_FILES);
  args.loga_iomode = layoutiomode4::LAYOUTIOMODE4_READ;
  args.loga_length = 4096;
  args.loga_maxcount = 4096;
  EXPECT_EQ(status(at({"file"}).add(OP_LAYOUTGET, args)), NFS4ERR_LAYOUTUNAVAILABLE);
}

TEST_F(Layouts, none_is_committed) {
  LAYOUTCOMMIT4args args;
  args.loca_length = 4096;
  EXPECT_EQ(status(at({"file"}).add(OP_LAYOUTCOMMIT, args)), NFS4ERR_BADLAYOUT);
}

TEST_F(Layouts, whoever_returns_all_has_returned_nothing) {
  LAYOUTRETURN4args args;
  args.lora_iomode = layoutiomode4::LAYOUTIOMODE4_ANY;
  args.lora_layoutreturn = layoutreturn4::with_default(layoutreturn_type4::LAYOUTRETURN4_ALL);
  Reply reply = behind_at(at({"file"}).add(OP_LAYOUTRETURN, args));
  const auto result = reply.result<LAYOUTRETURN4res>(OP_LAYOUTRETURN);
  ASSERT_NE(result.lorr_stateid(), nullptr);
  EXPECT_FALSE(result.lorr_stateid()->lrs_present);
  args.lora_layoutreturn = layoutreturn4::with_lr_layout({});
  EXPECT_EQ(status(at({"file"}).add(OP_LAYOUTRETURN, args)), NFS4ERR_BAD_STATEID);
}

TEST_F(Layouts, no_device_is_known) {
  GETDEVICEINFO4args args;
  args.gdia_layout_type = static_cast<std::uint32_t>(layouttype4::LAYOUT4_NFSV4_1_FILES);
  args.gdia_maxcount = 4096;
  EXPECT_EQ(status(at({"file"}).add(OP_GETDEVICEINFO, args)), NFS4ERR_NOENT);
}

TEST_F(Layouts, nobody_reports_on_one) {
  EXPECT_EQ(status(at({"file"}).add(OP_LAYOUTSTATS, LAYOUTSTATS4args{})), NFS4ERR_BAD_STATEID);
  EXPECT_EQ(status(at({"file"}).add(OP_LAYOUTERROR, LAYOUTERROR4args{})), NFS4ERR_BAD_STATEID);
}

}  // namespace
}  // namespace braid::nfs4::test
