#include "nfs4/names.h"

#include <climits>
#include <cstddef>

namespace braid::nfs4 {
namespace {

// Bytes of the sequence that begins with `lead`; 0 for what begins none.
std::size_t sequence_bytes(unsigned char lead) {
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead < 0xe0) return 2;
  if (lead >= 0xe0 && lead < 0xf0) return 3;
  if (lead >= 0xf0 && lead < 0xf5) return 4;
  return 0;
}

// What the second byte may be depends on the first: RFC 3629 section 4.
bool second_fits(unsigned char lead, unsigned char second) {
  switch (lead) {
    case 0xe0:
      return second >= 0xa0;
    case 0xed:
      return second < 0xa0;
    case 0xf0:
      return second >= 0x90;
    case 0xf4:
      return second < 0x90;
    default:
      return true;
  }
}

}  // namespace

Result4<void> check_name(std::string_view name) {
  if (name.empty()) return refuse(nfsstat4::NFS4ERR_INVAL);
  if (name.size() > NAME_MAX) return refuse(nfsstat4::NFS4ERR_NAMETOOLONG);
  if (name.find('/') != name.npos || name.find('\0') != name.npos) return refuse(nfsstat4::NFS4ERR_BADCHAR);
  if (name == "." || name == "..") return refuse(nfsstat4::NFS4ERR_BADNAME);
  return {};
}

Result4<void> check_link_target(std::string_view target) {
  if (target.empty()) return refuse(nfsstat4::NFS4ERR_INVAL);
  if (target.find('\0') != target.npos) return refuse(nfsstat4::NFS4ERR_BADCHAR);
  if (target.size() >= PATH_MAX) return refuse(nfsstat4::NFS4ERR_NAMETOOLONG);
  return {};
}

bool is_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const auto lead = static_cast<unsigned char>(text[at]);
    const std::size_t bytes = sequence_bytes(lead);
    if (bytes == 0 || bytes > text.size() - at) return false;
    for (std::size_t i = 1; i < bytes; ++i) {
      const auto next = static_cast<unsigned char>(text[at + i]);
      if ((next & 0xc0) != 0x80 || (i == 1 && !second_fits(lead, next))) return false;
    }
    at += bytes;
  }
  return true;
}

}  // namespace braid::nfs4
