// How new files are spread over data servers.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "pnfs/striping.h"

namespace braid::pnfs_mds {

// As it is configured.
struct StripePolicy {
  std::uint32_t unit = base::MiB;  // bytes: Striping
  std::uint32_t width = 4;         // servers of a file, if there are as many; 1 to Striping::width_max
  pnfs::Packing packing = pnfs::Packing::sparse;
  friend bool operator==(const StripePolicy&, const StripePolicy&) = default;
};

// The extended attribute of a directory by which its new files, and those below it, are spread otherwise.
inline constexpr std::string_view stripe_attribute = "user.braid.stripe";
// "unit=1MiB,width=4,packing=sparse": any of these, each once at most; what it does not name is as in
// `otherwise`. The error says what is wrong.
std::expected<StripePolicy, std::string> parse_stripes(std::string_view text, const StripePolicy& otherwise);

}  // namespace braid::pnfs_mds
