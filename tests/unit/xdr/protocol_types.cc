#include "tests/unit/xdr/protocol_types.h"

#include <vector>

#include "nfs3/mount3.x.h"
#include "nfs3/nfs3.x.h"
#include "rpc/rpc_msg.x.h"
#include "tests/unit/xdr/sample/constructs.x.h"

namespace braid::xdr_tests {
namespace {

template <class T>
class ValueOf final : public Value {
 public:
  bool decode_from(xdr::Decoder& in) override { return decode(in, value_); }
  void encode_to(xdr::Encoder& out) const override { encode(out, value_); }
  [[nodiscard]] std::size_t size() const override { return encoded_size(value_); }
  [[nodiscard]] std::size_t size_max() const override {
    if constexpr (requires { T::encoded_bytes_max; }) {
      return T::encoded_bytes_max;
    } else {
      return 4;  // an enum
    }
  }
  [[nodiscard]] bool equals(const Value& other) const override {
    return value_ == static_cast<const ValueOf&>(other).value_;
  }

 private:
  T value_{};
};

template <class T>
ProtocolType type(const char* name) {
  return {name, []() -> std::unique_ptr<Value> { return std::make_unique<ValueOf<T>>(); }};
}

const std::vector<ProtocolType> nfs3_types = {
    type<nfs3::nfsstat3>("nfsstat3"),
    type<nfs3::ftype3>("ftype3"),
    type<nfs3::specdata3>("specdata3"),
    type<nfs3::nfs_fh3>("nfs_fh3"),
    type<nfs3::nfstime3>("nfstime3"),
    type<nfs3::fattr3>("fattr3"),
    type<nfs3::post_op_attr>("post_op_attr"),
    type<nfs3::wcc_attr>("wcc_attr"),
    type<nfs3::pre_op_attr>("pre_op_attr"),
    type<nfs3::wcc_data>("wcc_data"),
    type<nfs3::post_op_fh3>("post_op_fh3"),
    type<nfs3::time_how>("time_how"),
    type<nfs3::set_mode3>("set_mode3"),
    type<nfs3::set_uid3>("set_uid3"),
    type<nfs3::set_gid3>("set_gid3"),
    type<nfs3::set_size3>("set_size3"),
    type<nfs3::set_atime>("set_atime"),
    type<nfs3::set_mtime>("set_mtime"),
    type<nfs3::sattr3>("sattr3"),
    type<nfs3::diropargs3>("diropargs3"),
    type<nfs3::GETATTR3args>("GETATTR3args"),
    type<nfs3::GETATTR3resok>("GETATTR3resok"),
    type<nfs3::GETATTR3res>("GETATTR3res"),
    type<nfs3::sattrguard3>("sattrguard3"),
    type<nfs3::SETATTR3args>("SETATTR3args"),
    type<nfs3::SETATTR3resok>("SETATTR3resok"),
    type<nfs3::SETATTR3resfail>("SETATTR3resfail"),
    type<nfs3::SETATTR3res>("SETATTR3res"),
    type<nfs3::LOOKUP3args>("LOOKUP3args"),
    type<nfs3::LOOKUP3resok>("LOOKUP3resok"),
    type<nfs3::LOOKUP3resfail>("LOOKUP3resfail"),
    type<nfs3::LOOKUP3res>("LOOKUP3res"),
    type<nfs3::ACCESS3args>("ACCESS3args"),
    type<nfs3::ACCESS3resok>("ACCESS3resok"),
    type<nfs3::ACCESS3resfail>("ACCESS3resfail"),
    type<nfs3::ACCESS3res>("ACCESS3res"),
    type<nfs3::READLINK3args>("READLINK3args"),
    type<nfs3::READLINK3resok>("READLINK3resok"),
    type<nfs3::READLINK3resfail>("READLINK3resfail"),
    type<nfs3::READLINK3res>("READLINK3res"),
    type<nfs3::READ3args>("READ3args"),
    type<nfs3::READ3resok>("READ3resok"),
    type<nfs3::READ3resfail>("READ3resfail"),
    type<nfs3::READ3res>("READ3res"),
    type<nfs3::stable_how>("stable_how"),
    type<nfs3::WRITE3args>("WRITE3args"),
    type<nfs3::WRITE3resok>("WRITE3resok"),
    type<nfs3::WRITE3resfail>("WRITE3resfail"),
    type<nfs3::WRITE3res>("WRITE3res"),
    type<nfs3::createmode3>("createmode3"),
    type<nfs3::createhow3>("createhow3"),
    type<nfs3::CREATE3args>("CREATE3args"),
    type<nfs3::CREATE3resok>("CREATE3resok"),
    type<nfs3::CREATE3resfail>("CREATE3resfail"),
    type<nfs3::CREATE3res>("CREATE3res"),
    type<nfs3::MKDIR3args>("MKDIR3args"),
    type<nfs3::MKDIR3resok>("MKDIR3resok"),
    type<nfs3::MKDIR3resfail>("MKDIR3resfail"),
    type<nfs3::MKDIR3res>("MKDIR3res"),
    type<nfs3::symlinkdata3>("symlinkdata3"),
    type<nfs3::SYMLINK3args>("SYMLINK3args"),
    type<nfs3::SYMLINK3resok>("SYMLINK3resok"),
    type<nfs3::SYMLINK3resfail>("SYMLINK3resfail"),
    type<nfs3::SYMLINK3res>("SYMLINK3res"),
    type<nfs3::devicedata3>("devicedata3"),
    type<nfs3::mknoddata3>("mknoddata3"),
    type<nfs3::MKNOD3args>("MKNOD3args"),
    type<nfs3::MKNOD3resok>("MKNOD3resok"),
    type<nfs3::MKNOD3resfail>("MKNOD3resfail"),
    type<nfs3::MKNOD3res>("MKNOD3res"),
    type<nfs3::REMOVE3args>("REMOVE3args"),
    type<nfs3::REMOVE3resok>("REMOVE3resok"),
    type<nfs3::REMOVE3resfail>("REMOVE3resfail"),
    type<nfs3::REMOVE3res>("REMOVE3res"),
    type<nfs3::RMDIR3args>("RMDIR3args"),
    type<nfs3::RMDIR3resok>("RMDIR3resok"),
    type<nfs3::RMDIR3resfail>("RMDIR3resfail"),
    type<nfs3::RMDIR3res>("RMDIR3res"),
    type<nfs3::RENAME3args>("RENAME3args"),
    type<nfs3::RENAME3resok>("RENAME3resok"),
    type<nfs3::RENAME3resfail>("RENAME3resfail"),
    type<nfs3::RENAME3res>("RENAME3res"),
    type<nfs3::LINK3args>("LINK3args"),
    type<nfs3::LINK3resok>("LINK3resok"),
    type<nfs3::LINK3resfail>("LINK3resfail"),
    type<nfs3::LINK3res>("LINK3res"),
    type<nfs3::READDIR3args>("READDIR3args"),
    type<nfs3::entry3>("entry3"),
    type<nfs3::dirlist3>("dirlist3"),
    type<nfs3::READDIR3resok>("READDIR3resok"),
    type<nfs3::READDIR3resfail>("READDIR3resfail"),
    type<nfs3::READDIR3res>("READDIR3res"),
    type<nfs3::READDIRPLUS3args>("READDIRPLUS3args"),
    type<nfs3::entryplus3>("entryplus3"),
    type<nfs3::dirlistplus3>("dirlistplus3"),
    type<nfs3::READDIRPLUS3resok>("READDIRPLUS3resok"),
    type<nfs3::READDIRPLUS3resfail>("READDIRPLUS3resfail"),
    type<nfs3::READDIRPLUS3res>("READDIRPLUS3res"),
    type<nfs3::FSSTAT3args>("FSSTAT3args"),
    type<nfs3::FSSTAT3resok>("FSSTAT3resok"),
    type<nfs3::FSSTAT3resfail>("FSSTAT3resfail"),
    type<nfs3::FSSTAT3res>("FSSTAT3res"),
    type<nfs3::FSINFO3args>("FSINFO3args"),
    type<nfs3::FSINFO3resok>("FSINFO3resok"),
    type<nfs3::FSINFO3resfail>("FSINFO3resfail"),
    type<nfs3::FSINFO3res>("FSINFO3res"),
    type<nfs3::PATHCONF3args>("PATHCONF3args"),
    type<nfs3::PATHCONF3resok>("PATHCONF3resok"),
    type<nfs3::PATHCONF3resfail>("PATHCONF3resfail"),
    type<nfs3::PATHCONF3res>("PATHCONF3res"),
    type<nfs3::COMMIT3args>("COMMIT3args"),
    type<nfs3::COMMIT3resok>("COMMIT3resok"),
    type<nfs3::COMMIT3resfail>("COMMIT3resfail"),
    type<nfs3::COMMIT3res>("COMMIT3res"),
};

const std::vector<ProtocolType> mount3_types = {
    type<nfs3::mountstat3>("mountstat3"), type<nfs3::mountres3_ok>("mountres3_ok"),
    type<nfs3::mountres3>("mountres3"),   type<nfs3::mountbody>("mountbody"),
    type<nfs3::groupnode>("groupnode"),   type<nfs3::exportnode>("exportnode"),
};

const std::vector<ProtocolType> rpc_types = {
    type<rpc::auth_flavor>("auth_flavor"),
    type<rpc::opaque_auth>("opaque_auth"),
    type<rpc::msg_type>("msg_type"),
    type<rpc::reply_stat>("reply_stat"),
    type<rpc::accept_stat>("accept_stat"),
    type<rpc::reject_stat>("reject_stat"),
    type<rpc::auth_stat>("auth_stat"),
    type<rpc::call_body>("call_body"),
    type<rpc::mismatch_info_t>("mismatch_info_t"),
    type<rpc::reply_data_t>("reply_data_t"),
    type<rpc::accepted_reply>("accepted_reply"),
    type<rpc::rejected_reply>("rejected_reply"),
    type<rpc::reply_body>("reply_body"),
    type<rpc::rpc_msg_body>("rpc_msg_body"),
    type<rpc::rpc_msg>("rpc_msg"),
    type<rpc::authsys_parms>("authsys_parms"),
};

const std::vector<ProtocolType> sample_types = {
    type<sample::forward>("forward"),
    type<sample::colour>("colour"),
    type<sample::flags>("flags"),
    type<sample::choices>("choices"),
    type<sample::numbers>("numbers"),
    type<sample::bytes>("bytes"),
    type<sample::bulk>("bulk"),
    type<sample::arrays>("arrays"),
    type<sample::optionals>("optionals"),
    type<sample::optional_bulk>("optional_bulk"),
    type<sample::word>("word"),
    type<sample::line>("line"),
    type<sample::page>("page"),
    type<sample::by_colour>("by_colour"),
    type<sample::by_bool>("by_bool"),
    type<sample::by_int>("by_int"),
    type<sample::by_unsigned>("by_unsigned"),
    type<sample::by_choice>("by_choice"),
    type<sample::by_alias>("by_alias"),
    type<sample::class_>("class"),
    type<sample::keywords>("keywords"),
    type<sample::template_>("template"),
    type<sample::hiding>("hiding"),
    type<sample::outer>("outer"),
    type<sample::imported>("imported"),
    type<sample::outer_inner>("outer_inner"),
    type<sample::outer_inner_state>("outer_inner_state"),
    type<sample::outer_rest>("outer_rest"),
    type<sample::outer_rest_levels>("outer_rest_levels"),
    type<sample::pair>("pair"),
    type<sample::answer>("answer"),
    type<sample::reply>("reply"),
};

}  // namespace

std::span<const ProtocolType> types_of(const std::string& include_as) {
  if (include_as == "nfs3/nfs3.x") return nfs3_types;
  if (include_as == "nfs3/mount3.x") return mount3_types;
  if (include_as == "rpc/rpc_msg.x") return rpc_types;
  return sample_types;
}

}  // namespace braid::xdr_tests
