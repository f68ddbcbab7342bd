// An independent XDR: arguments and results taken apart and put together again by libnfs.
#pragma once

#include <cstdint>
#include <optional>

#include "base/bytes.h"

namespace braid::nfs3::test {

// Nothing when libnfs does not understand the bytes, or leaves some over.
std::optional<base::Bytes> nfs3_args_recoded_by_libnfs(std::uint32_t procedure, base::BytesView bytes);
std::optional<base::Bytes> nfs3_results_recoded_by_libnfs(std::uint32_t procedure, base::BytesView bytes);
std::optional<base::Bytes> mount_results_recoded_by_libnfs(std::uint32_t procedure, base::BytesView bytes);

}  // namespace braid::nfs3::test
