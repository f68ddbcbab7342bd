// An independent XDR: COMPOUNDs of NFSv4.0 taken apart and put together again by libnfs.
#pragma once

#include <optional>

#include "base/bytes.h"

namespace braid::nfs4::test {

// COMPOUND4args and COMPOUND4res. Nothing when libnfs does not understand the bytes, or leaves some over.
std::optional<base::Bytes> compound_args_recoded_by_libnfs(base::BytesView bytes);
std::optional<base::Bytes> compound_results_recoded_by_libnfs(base::BytesView bytes);

}  // namespace braid::nfs4::test
