// What replies have given away, for later messages of whoever it may be.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "io/payload.h"
#include "nfs4/nfs4.x.h"
#include "tests/fuzz/nfs4_state/script.h"
#include "tests/unit/nfs4/support/request.h"

namespace braid::nfs4::fuzz {

// The last ones of a kind.
template <class T, std::size_t n = 8>
class Register {
 public:
  void keep(const T& value) { values_[next_++ % n] = value; }
  [[nodiscard]] const T& at(std::size_t which) const { return values_[which % n]; }

 private:
  std::array<T, n> values_{};
  std::size_t next_ = 0;
};

struct Introduction {
  clientid4 id = 0;
  sequenceid4 sequence = 0;  // of the next CREATE_SESSION
  verifier4 confirm{};       // of SETCLIENTID_CONFIRM
};

struct Registers {
  Register<Introduction> clients;
  Register<sessionid4> sessions;
  Register<stateid4, 16> states;
  Register<std::string> handles;  // bytes of filehandles
  Register<verifier4> verifiers;

  // As it was given, or nearly so.
  clientid4 client(Bytes& bytes) const {
    const std::uint8_t which = bytes.byte();
    const clientid4 id = clients.at(which).id;
    return which >= 0xf8 ? id ^ (std::uint64_t{1} << (which % 8 * 8)) : id;
  }
  stateid4 state(Bytes& bytes) const {
    const std::uint8_t which = bytes.byte();
    if (which < 0xa0) return states.at(which);
    if (which < 0xb0) return {};
    if (which < 0xc0) return {.seqid = 1, .other = {}};
    stateid4 near = states.at(which);
    if (which < 0xd0) near.seqid = 0;
    if (which >= 0xd0 && which < 0xe0) ++near.seqid;
    if (which >= 0xe0 && which < 0xf0) --near.seqid;
    if (which >= 0xf0) near.other[which % near.other.size()] ^= std::byte{1};
    if (which == 0xff) {
      near.seqid = 0xffff'ffff;
      near.other.fill(std::byte{0xff});
    }
    return near;
  }
  std::string handle(Bytes& bytes) const {
    const std::uint8_t which = bytes.byte();
    std::string handle = handles.at(which);
    if (which >= 0xf0 && !handle.empty()) handle[bytes.byte() % handle.size()] ^= 1;
    return handle;
  }
};

// Keeps what the results in this reply give. With BRAID_FUZZ_TRACE in the environment it prints a line: the
// status, and the operations up to the one that has it.
void keep_results(const io::Payload& reply, Registers& registers);
// Adds the operation that the step says to the end of the message.
void add_operation(test::Request& request, const Step& step, const Registers& registers);

}  // namespace braid::nfs4::fuzz
