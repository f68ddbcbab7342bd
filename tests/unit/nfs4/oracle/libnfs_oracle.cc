#include "tests/unit/nfs4/oracle/libnfs_oracle.h"

#include <nfsc/libnfs-raw-nfs4.h>

#include "tests/unit/xdr/recode_by_libnfs.h"

namespace braid::nfs4::test {

std::optional<base::Bytes> compound_args_recoded_by_libnfs(base::BytesView bytes) {
  return xdr::test::recode_by_libnfs<::COMPOUND4args, ::zdr_COMPOUND4args>(bytes);
}
std::optional<base::Bytes> compound_results_recoded_by_libnfs(base::BytesView bytes) {
  return xdr::test::recode_by_libnfs<::COMPOUND4res, ::zdr_COMPOUND4res>(bytes);
}

}  // namespace braid::nfs4::test
