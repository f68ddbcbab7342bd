// Filehandles of data servers: what was not sealed is no handle, and what is signed but says nonsense is
// refused. Input: whether to sign the rest, then the handle.
#include <algorithm>
#include <cstdint>

#include "base/assert.h"
#include "pnfs/data_handle.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace braid;
  if (size == 0) return 0;
  const bool sign = data[0] % 2 != 0;
  base::Bytes wire(size - 1);
  std::ranges::copy(std::as_bytes(std::span(data + 1, size - 1)), wire.begin());
  constexpr std::size_t mac_at = pnfs::DataHandleCodec::bytes_count - pnfs::Mac::bytes_count;
  const hashing::Key key;
  const pnfs::ServerId server{};
  if (sign && wire.size() == pnfs::DataHandleCodec::bytes_count)
    std::ranges::copy(pnfs::sign(key, {server, base::BytesView(wire).first(mac_at)}).bytes,
                      wire.begin() + mac_at);
  const auto number = pnfs::DataHandleCodec::key_of(wire);
  const pnfs::DataHandleCodec codec(key, number.value_or(pnfs::KeyNumber(0)), server);
  const auto opened = codec.open(wire);
  if (!opened) return 0;
  base::check(sign && number.has_value(), "nobody makes a handle without the key");
  base::check(opened->striping.valid() && opened->index < opened->striping.width, "what is opened is sound");
  base::check(base::equal(codec.seal(*opened).view(), wire), "there is one way to write a handle");
  const std::uint64_t at = opened->size % pnfs::Striping::offset_max;
  const pnfs::ObjectRange piece = opened->striping.piece(at, 1);
  base::check(opened->striping.to_file(piece.index, piece.offset) == at, "each byte has its place");
  return 0;
}
