#include "server/roles/nfs/state_in_use.h"

#include <fmt/format.h>

#include "nfs4/engine.h"
#include "server/patience.h"

namespace braid::server::roles::nfs {
namespace {

std::string other_server(const std::string& state_dir) {
  const auto process = nfs4::Nfs4Engine::user_of(state_dir);
  return process ? fmt::format("another server (process {})", *process) : "another server";
}

}  // namespace

void while_in_use(const base::Clock& clock, const std::string& state_dir, unsigned drain_seconds,
                  const std::function<bool()>& attempt) {
  Patience patience(clock, "the state directory " + state_dir, drain_seconds);
  while (attempt() && patience.lasts(other_server(state_dir))) {
  }
}

std::string in_use_text(const std::string& state_dir) {
  return fmt::format("{} uses the state directory {}; give another one with --state", other_server(state_dir),
                     state_dir);
}

}  // namespace braid::server::roles::nfs
