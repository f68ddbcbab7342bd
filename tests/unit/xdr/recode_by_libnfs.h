// An independent XDR: bytes taken apart and put together again by libnfs.
#pragma once

#include <nfsc/libnfs-zdr.h>

#include <cstdint>
#include <optional>
#include <utility>

#include "base/bytes.h"

namespace braid::xdr::test {

// With the function of libnfs for one type. Nothing when it does not understand the bytes, or leaves some
// over.
template <class T, std::uint32_t (*code)(ZDR*, T*)>
std::optional<base::Bytes> recode_by_libnfs(base::BytesView bytes) {
  base::Bytes copy(bytes.begin(), bytes.end());
  T value{};
  ZDR in{};
  libnfs_zdrmem_create(&in, reinterpret_cast<char*>(copy.data()), static_cast<std::uint32_t>(copy.size()),
                       ZDR_DECODE);
  std::optional<base::Bytes> result;
  if (code(&in, &value) != 0 && libnfs_zdr_getpos(&in) == copy.size()) {
    base::Bytes out(copy.size() + 64);
    ZDR to{};
    libnfs_zdrmem_create(&to, reinterpret_cast<char*>(out.data()), static_cast<std::uint32_t>(out.size()),
                         ZDR_ENCODE);
    if (code(&to, &value) != 0) {
      out.resize(libnfs_zdr_getpos(&to));
      result = std::move(out);
    }
    libnfs_zdr_destroy(&to);
  }
  libnfs_zdr_destroy(&in);
  return result;
}

}  // namespace braid::xdr::test
