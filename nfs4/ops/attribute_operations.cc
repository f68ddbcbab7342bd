#include "nfs4/ops/attribute_operations.h"

#include <array>

#include "nfs4/ops/operations.h"

namespace braid::nfs4::ops {

std::span<const Binding> attribute_operations() {
  static constexpr std::array bindings{
      Binding{nfs_opnum4::OP_GETATTR, handler_of<getattr>},
      Binding{nfs_opnum4::OP_NVERIFY, handler_of<nverify>},
      Binding{nfs_opnum4::OP_READDIR, handler_of<readdir>},
      Binding{nfs_opnum4::OP_SETATTR, handler_of<setattr>},
      Binding{nfs_opnum4::OP_VERIFY, handler_of<verify>},
  };
  return bindings;
}

}  // namespace braid::nfs4::ops
