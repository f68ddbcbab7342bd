#include "nfs4/ops/extended_operations.h"

#include <array>

#include "nfs4/ops/operations.h"

namespace braid::nfs4::ops {

// COPY_NOTIFY and WRITE_SAME are not among them: NFS4ERR_NOTSUPP.
std::span<const Binding> extended_operations() {
  using enum nfs_opnum4;
  static constexpr std::array bindings{
      Binding{OP_ALLOCATE, handler_of<allocate>},
      Binding{OP_CLONE, handler_of<clone>},
      Binding{OP_COPY, handler_of<copy>},
      Binding{OP_DEALLOCATE, handler_of<deallocate>},
      Binding{OP_GETDEVICEINFO, handler_of<getdeviceinfo>},
      Binding{OP_GETDEVICELIST, handler_of<getdevicelist>},
      Binding{OP_GETXATTR, handler_of<getxattr>},
      Binding{OP_IO_ADVISE, handler_of<io_advise>},
      Binding{OP_LAYOUTCOMMIT, handler_of<layoutcommit>},
      Binding{OP_LAYOUTERROR, handler_of<layouterror>},
      Binding{OP_LAYOUTGET, handler_of<layoutget>},
      Binding{OP_LAYOUTRETURN, handler_of<layoutreturn>},
      Binding{OP_LAYOUTSTATS, handler_of<layoutstats>},
      Binding{OP_LISTXATTRS, handler_of<listxattrs>},
      Binding{OP_OFFLOAD_CANCEL, handler_of<offload_cancel>},
      Binding{OP_OFFLOAD_STATUS, handler_of<offload_status>},
      Binding{OP_READ_PLUS, handler_of<read_plus>},
      Binding{OP_REMOVEXATTR, handler_of<removexattr>},
      Binding{OP_SEEK, handler_of<seek>},
      Binding{OP_SETXATTR, handler_of<setxattr>},
  };
  return bindings;
}

}  // namespace braid::nfs4::ops
