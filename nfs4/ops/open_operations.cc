#include "nfs4/ops/open_operations.h"

#include <array>

#include "nfs4/operation_handler.h"
#include "nfs4/ops/operations.h"

namespace braid::nfs4::ops {

std::span<const Binding> open_operations() {
  static constexpr std::array bindings{
      Binding{nfs_opnum4::OP_CLOSE, handler_of<close>},
      Binding{nfs_opnum4::OP_DELEGPURGE, handler_of<delegpurge>},
      Binding{nfs_opnum4::OP_DELEGRETURN, handler_of<delegreturn>},
      Binding{nfs_opnum4::OP_FREE_STATEID, handler_of<free_stateid>},
      Binding{nfs_opnum4::OP_GET_DIR_DELEGATION, handler_of<get_dir_delegation>},
      Binding{nfs_opnum4::OP_LOCK, handler_of<lock>},
      Binding{nfs_opnum4::OP_LOCKT, handler_of<lockt>},
      Binding{nfs_opnum4::OP_LOCKU, handler_of<locku>},
      Binding{nfs_opnum4::OP_OPEN, handler_of<open>},
      Binding{nfs_opnum4::OP_OPEN_CONFIRM, handler_of<open_confirm>},
      Binding{nfs_opnum4::OP_OPEN_DOWNGRADE, handler_of<open_downgrade>},
      Binding{nfs_opnum4::OP_RELEASE_LOCKOWNER, handler_of<release_lockowner>},
      Binding{nfs_opnum4::OP_TEST_STATEID, handler_of<test_stateid>},
  };
  return bindings;
}

}  // namespace braid::nfs4::ops
