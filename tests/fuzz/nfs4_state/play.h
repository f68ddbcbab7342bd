// A server, the clients of all minor versions that share it, and what a script has them do.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "io/payload.h"
#include "tests/fuzz/nfs4_state/registers.h"
#include "tests/fuzz/nfs4_state/script.h"
#include "tests/unit/nfs4/support/callback_world.h"

namespace braid::nfs4::fuzz {

class Play {
 public:
  Play();
  // Carries the script out, then looks at what is left. Ends the process when something is wrong.
  void run(std::span<const std::uint8_t> script);

 private:
  // A message under way, or being put together.
  struct Message {
    test::Request request{0};
    test::Caller caller;
    std::optional<sessionid4> session;  // of the SEQUENCE in front
    slotid4 slot = 0;
    sequenceid4 sequence = 0;
    bool cached = false;  // the answer is to be kept
    bool again = false;   // the slot's message before, as it was
    bool beside = false;  // not waited for
    std::shared_ptr<test::Sent> sent;
  };
  // What a slot was asked last, and what it answered.
  struct Slot {
    sequenceid4 sequence = 0;
    test::Request request{0};
    io::Payload reply;
    bool cached = false;  // the server was asked to keep the answer
    bool kept = false;    // the answer must come again
  };

  void begin(const Step& step);
  void send();
  void finish(Message message);
  void finish_all();
  void happen(const Step& step);
  void pass(base::Duration time);
  void restart();
  void check_end();
  Slot& slot_of(const Message& message) { return slots_[*message.session][message.slot]; }

  static constexpr std::size_t beside_max = 4;

  test::CallbackWorld world_;
  std::array<std::unique_ptr<test::CallbackPeer>, 2> peers_;
  Registers registers_;
  std::optional<Message> message_;
  std::vector<Message> beside_;
  std::map<sessionid4, std::array<Slot, 9>> slots_;
};

}  // namespace braid::nfs4::fuzz
