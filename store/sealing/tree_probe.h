// Whether files of a file system can be sealed.
#pragma once

#include <string>

namespace braid::store {

// Tries on a file without a name in the directory what sealing takes. Empty: they can be; else why not, a
// sentence without its subject.
std::string why_not_sealable(int directory);

}  // namespace braid::store
