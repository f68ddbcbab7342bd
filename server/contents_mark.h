// What an export directory says of the files in it whose bytes are somewhere else.
#pragma once

#include <expected>
#include <span>
#include <string>

#include "vfs/content.h"

namespace braid::server {

// The extended attribute of the directory: the names of the records that files may have, separated by commas.
inline constexpr const char* contents_mark = "trusted.braid.contents";

// An export without the source that its files were given to would serve them as zeros, and take writes that
// nobody finds again: so a directory that has had a source is served with it alone. Notes `sources` in the
// directory, and refuses, with a sentence, one that has had others. Blocks.
std::expected<void, std::string> mark_contents(const std::string& directory,
                                               std::span<vfs::ContentSource* const> sources);

}  // namespace braid::server
