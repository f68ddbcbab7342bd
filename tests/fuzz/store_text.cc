// The files FORMAT, trees, marks and scrub of a store: what is taken is what is made of it again. Input:
// which of them and whether to add the right check, then the text.
#include <cstdint>
#include <string>

#include "base/assert.h"
#include "base/bytes.h"
#include "base/xxhash64.h"
#include "store/format_file.h"
#include "store/marks_file.h"
#include "store/scrub_file.h"
#include "store/trees.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace braid;
  if (size == 0) return 0;
  std::string text(reinterpret_cast<const char*>(data + 1), size - 1);
  if ((data[0] & 2U) != 0) {
    const std::uint64_t check = base::xxhash64(base::bytes_of(text));
    base::Bytes bytes(sizeof check);
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(check >> (56 - 8 * i));
    text += "check " + store::hex_text(bytes) + "\n";
  }
  if ((data[0] & 8U) != 0) {
    const auto scrub = store::decode_scrub(text);
    if (scrub) base::check(store::encode(*scrub) == text, "there is one way to write it");
  } else if ((data[0] & 4U) != 0) {
    const auto marks = store::decode_marks(text);
    if (marks) base::check(store::encode(*marks) == text, "there is one way to write it");
  } else if ((data[0] & 1U) != 0) {
    const auto format = store::decode_format(text);
    if (format) base::check(store::encode(*format) == text, "there is one way to write it");
  } else {
    const auto trees = store::decode_trees(text);
    if (trees) base::check(store::encode(*trees) == text, "there is one way to write it");
  }
  return 0;
}
