// Rules for texts that clients send, before a file system sees them.
#pragma once

#include <string_view>

#include "nfs4/op4.h"

namespace braid::nfs4 {

// A component of a path: INVAL when empty, NAMETOOLONG above NAME_MAX, BADCHAR with '/' or NUL, BADNAME for
// "." and "..", which have no meaning in NFSv4. Other bytes are the file system's: a name that is not UTF-8
// is a name too, since local programs can make such files and clients must be able to reach them
// (fs_charset_cap says FSCHARSET_CAP4_CONTAINS_NON_UTF8).
Result4<void> check_name(std::string_view name);

// The content of a symbolic link: INVAL when empty, BADCHAR with NUL, NAMETOOLONG at PATH_MAX or above.
Result4<void> check_link_target(std::string_view target);

// Well-formed UTF-8 (RFC 3629): no overlong forms, no surrogates, nothing above U+10FFFF.
bool is_utf8(std::string_view text);

}  // namespace braid::nfs4
