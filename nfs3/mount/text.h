// Addresses, networks and paths as MOUNT shows them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "vfs/network.h"

namespace braid::nfs3::mount {

std::string text_of(const vfs::Address& address);  // "192.0.2.1", "2001:db8::1"
std::string text_of(const vfs::Network& network);  // "192.0.2.0/24"; one address without prefix length

// A path in the form that exports have: one leading slash, none doubled or trailing, no "." components; the
// empty path is "/". Nothing for a path with ".." or NUL.
std::optional<std::string> normal_path(std::string_view path);

}  // namespace braid::nfs3::mount
