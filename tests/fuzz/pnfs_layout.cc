// Records of where the bytes of a file are: what was not sealed for this file is refused, and what is signed
// but says nonsense, too. Input: whether to sign the rest, then the record without its signatures.
#include <algorithm>
#include <cstdint>

#include "base/assert.h"
#include "pnfs/layout_record.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace braid;
  if (size == 0) return 0;
  const bool sign = data[0] % 2 != 0;
  base::Bytes bytes(size - 1);
  std::ranges::copy(std::as_bytes(std::span(data + 1, size - 1)), bytes.begin());
  const hashing::Key key;
  const base::BytesView file = base::bytes_of("file");
  if (sign) {
    const pnfs::Mac record = pnfs::sign(key, {base::bytes_of("layout"), bytes});
    const pnfs::Mac with_file = pnfs::sign(key, {base::bytes_of("layout of a file"), bytes, file});
    bytes.insert(bytes.end(), record.bytes.begin(), record.bytes.end());
    bytes.insert(bytes.end(), with_file.bytes.begin(), with_file.bytes.end());
  }
  const pnfs::LayoutRecordCodec codec(key);
  const auto opened = codec.open(bytes, file);
  if (!opened) return 0;
  base::check(sign, "nobody makes a record without the key");
  base::check(opened->striping.valid() && opened->servers.size() == opened->striping.width,
              "what is opened is sound");
  base::check(base::equal(codec.seal(*opened, file), bytes), "there is one way to write a record");
  base::check(codec.open(bytes, base::bytes_of("copy")) == base::fail(pnfs::RecordFault::foreign),
              "a copy is another file's");
  return 0;
}
