// What the metadata server asks of a data server (to_data_args of control.x).
#pragma once

#include "pnfs/control_service.h"
#include "pnfs_ds/objects.h"

namespace braid::pnfs_ds {

// Thread-safe; outlives the service. What is referred to outlives it.
class ControlCalls final : public pnfs::ControlHandler {
 public:
  explicit ControlCalls(Objects& objects) : objects_(objects) {}

  pnfs::control_status look_at(const pnfs::control_hello& /*hello*/,
                               const rpc::PeerAddress& /*peer*/) override {
    return pnfs::control_status::CONTROL_OK;
  }
  pnfs::ControlOp<> admit(const pnfs::ControlCaller& /*caller*/) override {
    return base::Result<void, pnfs::control_status>();
  }
  pnfs::ControlOp<pnfs::ControlAnswer> handle(const pnfs::ControlRequest& request) override;

 private:
  template <class T>
  using CallOp = pnfs::ControlOp<T>;  // which never fails
  CallOp<pnfs::FENCEres> fence(const pnfs::FENCEargs& args);
  CallOp<pnfs::OBJECT_READres> read(const pnfs::OBJECT_READargs& args, vfs::ReadMemory memory,
                                    io::Payload& bulk);
  CallOp<pnfs::OBJECT_WRITEres> write(const pnfs::OBJECT_WRITEargs& args, const io::Payload& bulk);
  CallOp<pnfs::OBJECT_COMMITres> commit(const pnfs::OBJECT_COMMITargs& args);
  CallOp<pnfs::OBJECT_STATres> stat(const pnfs::OBJECT_STATargs& args, xdr::Arena& arena);
  CallOp<pnfs::OBJECT_TRUNCATEres> truncate(const pnfs::OBJECT_TRUNCATEargs& args, xdr::Arena& arena);
  CallOp<pnfs::OBJECT_REMOVEres> remove(const pnfs::OBJECT_REMOVEargs& args, xdr::Arena& arena);

  Objects& objects_;
};

}  // namespace braid::pnfs_ds
