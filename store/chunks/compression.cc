#include "store/chunks/compression.h"

#include <zstd.h>

#include <charconv>

#include "base/assert.h"

namespace braid::store {
namespace {

// What saves less is kept as it is: it is read from where it lies, and without being copied.
constexpr std::size_t saves_one_in = 8;

}  // namespace

std::optional<CompressionOptions> parse_compression(std::string_view text) {
  constexpr std::string_view zstd = "zstd", with_level = "zstd:";
  if (text == "none") return CompressionOptions{};
  CompressionOptions out{.how = Compression::zstd};
  if (text == zstd) return out;
  if (!text.starts_with(with_level)) return std::nullopt;
  text.remove_prefix(with_level.size());
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out.level);
  if (error != std::errc() || end != text.data() + text.size() || out.level < CompressionOptions::level_min ||
      out.level > CompressionOptions::level_max)
    return std::nullopt;
  return out;
}

void Compressor::Free::operator()(ZSTD_CCtx_s* context) const { ZSTD_freeCCtx(context); }

Compressor::Compressor(const CompressionOptions& options) : options_(options) {
  if (options_.how == Compression::none) return;
  context_.reset(ZSTD_createCCtx());
  base::check(context_ != nullptr, "there is memory for a context of zstd");
}

Compressor::~Compressor() = default;

base::Bytes Compressor::compress(base::BytesView bytes) {
  if (context_ == nullptr || bytes.size() < saves_one_in) return {};
  // With less room than that it fails early.
  base::Bytes out(bytes.size() - bytes.size() / saves_one_in);
  const std::size_t size =
      ZSTD_compressCCtx(context_.get(), out.data(), out.size(), bytes.data(), bytes.size(), options_.level);
  if (ZSTD_isError(size) != 0) return {};
  out.resize(size);
  return out;
}

bool decompress(base::BytesView frame, base::MutableBytes to) {
  return ZSTD_getFrameContentSize(frame.data(), frame.size()) == to.size() &&
         ZSTD_decompress(to.data(), to.size(), frame.data(), frame.size()) == to.size();
}

}  // namespace braid::store
