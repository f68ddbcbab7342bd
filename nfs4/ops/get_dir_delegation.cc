#include "nfs4/ops/open_operations.h"
#include "nfs4/ops/open_support.h"

namespace braid::nfs4::ops {

// RFC 8881 18.39.3: this server watches no directories, and will not say when it does.
Op4<GET_DIR_DELEGATION4res_non_fatal> get_dir_delegation(Compound& compound,
                                                         const GET_DIR_DELEGATION4args& /*args*/) {
  if (!compound.current().pseudo()) {
    const auto attributes = co_await compound.current().attributes().as_result();
    if (!attributes) co_return refuse(attributes.error());
    co_await compound.check_directory(attributes->type);
  }
  co_return GET_DIR_DELEGATION4res_non_fatal::with_gddrnf_will_signal_deleg_avail(false);
}

}  // namespace braid::nfs4::ops
