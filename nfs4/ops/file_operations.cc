#include "nfs4/ops/file_operations.h"

#include <utility>

#include "nfs4/ops/delegated_attributes.h"
#include "nfs4/state/states.h"

namespace braid::nfs4::ops {

change_info4 change_info_of(const vfs::Wcc& wcc) {
  if (wcc.before && wcc.after) return {true, wcc.before->change, wcc.after->change};
  // Another change overlapped: only the end is known, and a client has to look for itself.
  const changeid4 after = wcc.after ? wcc.after->change : 0;
  return {false, after, after};
}

Op4<> break_delegations_of(Compound& compound, const Place& dir, std::string_view name) {
  const bool any =
      compound.server().states.with([](const state::States& states) { return states.size() > 0; });
  if (!any) co_return;
  auto found = co_await dir.fs().lookup(dir.who, dir.file, name).as_result();
  if (!found) co_return;
  const Place at{dir.from, dir.who, std::move(found->file), nullptr};
  co_await break_delegations(compound, at);
}

bool delegated_to_others(const Compound& compound, const Place& at) {
  const state::ClientRef by = compound.client();
  return compound.server().states.with([&](const state::States& states) {
    return states.delegations().held_by_others(at.file->handle(), by.get());
  });
}

Op4<> break_directory_delegations(Compound& compound, const Place& dir, std::string_view name,
                                  EntryChange change) {
  if (!delegated_to_others(compound, dir)) co_return;
  const auto found = co_await dir.fs().lookup(dir.who, dir.file, name).as_result();
  const bool changes =
      change == EntryChange::goes ? found.has_value() : !found && found.error() == vfs::Error::noent;
  if (changes) co_await break_delegations(compound, dir);
}

Op4<> refuse_in_directory(Compound& compound, const Place& dir, vfs::Error error) {
  if (error == vfs::Error::notdir) {
    const auto attributes = co_await dir.attributes().as_result();
    if (attributes) co_await compound.check_directory(attributes->type);
  }
  co_await refuse(error);
}

Op4<> refuse_on_file(Compound& compound, const Place& at, vfs::Error error) {
  const bool about_type =
      error == vfs::Error::inval || error == vfs::Error::isdir || error == vfs::Error::nxio;
  if (about_type) {
    const auto attributes = co_await at.attributes().as_result();
    if (attributes) co_await compound.check_regular(attributes->type);
  }
  co_await refuse(error);
}

}  // namespace braid::nfs4::ops
