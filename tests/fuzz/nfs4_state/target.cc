// Sequences of COMPOUNDs of several clients and minor versions that share ids, stateids, sessions and
// filehandles, on one server, in virtual time: the script is in script.h.
#include <gtest/gtest.h>

#include <cstdint>

#include "tests/fuzz/nfs4_state/play.h"

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

// What the support code expects is an assertion here.
int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
  GTEST_FLAG_SET(break_on_failure, true);
  return 0;
}

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < braid::nfs4::fuzz::step_bytes) return 0;
  braid::nfs4::fuzz::Play play;
  play.run({data, size});
  return 0;
}
