// Text that others have chosen, made fit for a terminal, a log or a shell.
#pragma once

#include <string>
#include <string_view>

namespace braid::base {

// For people: control characters, those of C1 among them, and bytes that are no UTF-8, as \xHH. What is
// printable stays.
std::string printable(std::string_view text);

// One word of a POSIX shell; as it is, where that is one. Bytes that are not printable are octal in $'...'.
std::string shell_word(std::string_view text);

}  // namespace braid::base
