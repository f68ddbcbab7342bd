#include "nfs4/state/clients/byte_changes.h"

#include <utility>

namespace braid::nfs4::state {

void ByteChanges::wake() {
  const std::vector<Waiter> waiting =
      waiting_.with([](std::vector<Waiter>& all) { return std::exchange(all, {}); });
  for (const Waiter& one : waiting) one.reactor->post(one.handle);
}

}  // namespace braid::nfs4::state
