// Records of sealed files: none is taken that was not made for this file with this key; what is signed and
// says nonsense is refused. Input: whether to sign the rest, then the record without its signature.
#include <algorithm>
#include <cstdint>
#include <span>

#include "base/assert.h"
#include "store/recipes/record.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace braid;
  if (size == 0) return 0;
  const store::StoreKeys keys{hashing::Key()};
  const store::KernelHandle file{.type = 1, .size = 8}, other{.type = 2, .size = 8};
  const auto view = std::as_bytes(std::span(data + 1, size - 1));
  base::Bytes bytes(view.begin(), view.end());
  const bool sign = data[0] % 2 != 0;
  if (sign) {
    const auto mac = keys.sign(bytes, file);
    bytes.insert(bytes.end(), mac.begin(), mac.end());
  }
  const auto record = store::decode_record(bytes, keys, file);
  if (!record) return 0;
  base::check(sign, "nobody makes a record without the key");
  base::check(base::equal(store::encode(*record, keys, file), bytes), "there is one way to write a record");
  base::check(!store::decode_record(bytes, keys, other), "a copy is another file's");
  return 0;
}
