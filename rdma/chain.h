// A chain of work requests on its way to Endpoint::post().
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "io/payload.h"
#include "rdma/registration.h"
#include "rdma/verbs.h"

namespace braid::rdma {

// Built, posted, and kept until it completes: it holds the slabs that the device works on, and their
// registrations. Made to be used again.
class Chain {
 public:
  // Data of a chunk, as one request or, if it lies in many pieces, several. Fails with the errno of a
  // registration.
  base::Result<void> transfer(Opcode opcode, const io::Payload& data, RemoteKey key, std::uint64_t address,
                              MemoryMap& map, std::uint32_t pieces_max);
  // The message that ends the chain; at most `pieces_max` ranges.
  void send(Opcode opcode, const io::Payload& message, RemoteKey key, const MemoryMap& map);
  // A request of no bytes.
  void probe();

  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(parts_.size()); }
  // Of the message, if it is a Send and nothing else.
  [[nodiscard]] std::optional<std::size_t> lone_send_bytes() const;
  // Valid until the chain is changed.
  [[nodiscard]] std::span<const Request> requests();
  // The device no longer works on anything of it.
  void clear();

 private:
  struct Part {
    Opcode opcode;
    std::size_t first;  // of its pieces
    std::size_t count;
    RemoteKey key;
    std::uint64_t address;
  };
  std::vector<Part> parts_;
  std::vector<LocalPiece> pieces_;
  std::vector<Pin> pins_;
  std::vector<io::SlabRef> slabs_;
  std::vector<Request> requests_;
};

}  // namespace braid::rdma
