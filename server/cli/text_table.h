// Tables for people.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace braid::server::cli {

// Rows of as many cells as the first one has. Columns are as wide as their widest cell; the first
// `text_columns` begin at the left, the others, numbers, end at the right. Cells may hold what clients chose:
// what is not printable is shown as \xHH.
std::string table_text(std::vector<std::vector<std::string>> rows, std::size_t text_columns);

}  // namespace braid::server::cli
