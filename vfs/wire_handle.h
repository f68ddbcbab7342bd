// The file handles that clients see: layout, signature, and how one is taken apart. docs/filehandle.md is the
// reference.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "base/result.h"
#include "base/siphash.h"
#include "vfs/export.h"
#include "vfs/types.h"

namespace braid::vfs {

// What a handle carries for the file system that made it.
struct HandleBody {
  bool transient = false;  // means something only to the process that made it
  std::uint16_t type = 0;  // of the kernel's handle (name_to_handle_at(2)); 0 when transient
  base::BytesView bytes;   // at most HandleCodec::body_bytes_max
};

// A verified handle; views into the bytes that were given.
struct OpenedHandle {
  HandleBody body;
  std::uint64_t mac = 0;  // a keyed hash of everything else: also the hash that caches use
};

// Signs and verifies the handles of one export. Immutable, so thread-safe.
class HandleCodec {
 public:
  static constexpr std::uint8_t version = 1;
  static constexpr std::size_t header_bytes = 16;
  static constexpr std::size_t body_bytes_max = FileHandle::bytes_max - header_bytes;

  HandleCodec(ExportId id, const base::SipKey& key) : id_(id), key_(key) {}

  // The body must have 1 to body_bytes_max bytes.
  [[nodiscard]] FileHandle seal(const HandleBody& body) const;
  // badhandle unless exactly this codec's export could have made it. Takes the same time wherever a forgery
  // is wrong.
  [[nodiscard]] base::Result<OpenedHandle, Error> open(base::BytesView wire) const;
  // Of a handle that was sealed or opened before: its body and its mac.
  [[nodiscard]] static HandleBody body_of(base::BytesView wire);
  [[nodiscard]] static std::uint64_t mac_of(base::BytesView wire);
  // The export that a handle claims to be from; nothing is verified.
  [[nodiscard]] static std::optional<ExportId> export_of(base::BytesView wire);

 private:
  [[nodiscard]] std::uint64_t sign(base::BytesView wire) const;

  ExportId id_;
  base::SipKey key_;
};

}  // namespace braid::vfs
