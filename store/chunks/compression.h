// Chunks of data as they are kept: as they are, or made smaller by zstd.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/bytes.h"

struct ZSTD_CCtx_s;

namespace braid::store {

enum class Compression : std::uint8_t { none, zstd };

struct CompressionOptions {
  static constexpr int level_min = 1, level_max = 19, level_usual = 3;
  Compression how = Compression::none;
  int level = level_usual;  // of zstd
  friend bool operator==(const CompressionOptions&, const CompressionOptions&) = default;
};

// What may be written for them on a command line.
inline constexpr const char* compression_forms = "none, zstd, or zstd:1 to zstd:19";
// "none", "zstd", or "zstd:LEVEL". Nothing: it is none of these.
std::optional<CompressionOptions> parse_compression(std::string_view text);

// Belongs to one thread, and keeps its memory (about 1 MiB at the usual level) from chunk to chunk.
class Compressor {
 public:
  explicit Compressor(const CompressionOptions& options);
  ~Compressor();
  Compressor(const Compressor&) = delete;
  Compressor& operator=(const Compressor&) = delete;

  // As one frame of zstd (RFC 8878) that says how long the bytes are. Empty: that would not save an eighth,
  // or the options say that nothing is compressed.
  base::Bytes compress(base::BytesView bytes);

 private:
  struct Free {
    void operator()(ZSTD_CCtx_s* context) const;
  };
  const CompressionOptions options_;
  std::unique_ptr<ZSTD_CCtx_s, Free> context_;
};

// False: `frame` is not what compress() makes of so many bytes as `to` has.
bool decompress(base::BytesView frame, base::MutableBytes to);

}  // namespace braid::store
