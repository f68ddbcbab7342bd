// REMOVE and RMDIR.
#include <unistd.h>

#include "vfs/posix/tree.h"

namespace braid::vfs::posix {

Outcome<> Tree::remove(const Credentials& who, PosixFile& directory, std::string_view name, Wcc& wcc,
                       Victim* victim) {
  return remove_name(who, directory, name, 0, wcc, victim);
}

Outcome<> Tree::rmdir(const Credentials& who, PosixFile& directory, std::string_view name, Wcc& wcc) {
  // RFC 1813 3.3.13 has an error of its own for "..".
  if (name == "..") {
    const Change change(*this, directory, &wcc);
    return base::fail(Error::exist);
  }
  return remove_name(who, directory, name, AT_REMOVEDIR, wcc, nullptr);
}

Outcome<> Tree::remove_name(const Credentials& who, PosixFile& directory, std::string_view text, int flags,
                            Wcc& wcc, Victim* expected) {
  std::optional<FileHandle> victim;
  PlannedSync plan;
  {
    const Change change(*this, directory, &wcc);
    if (auto allowed = change.allowed(who); !allowed) return allowed;
    const auto name = Name::of(text);
    if (!name) return base::fail(name.error());
    if (name->is_dot() || name->is_dot_dot()) return base::fail(Error::inval);
    victim = handle_before_removal(directory, *name);
    if (expected != nullptr && expected->handle != victim) {
      expected->other = true;
      return base::fail(Error::delay);
    }
    const auto held = cached_victim(who, victim);
    if (!held) return base::fail(held.error());
    const auto free = ask_back(who, *held, OwnChange::names);
    const auto entry_free = victim ? ask_back_entry(who, directory, *name) : OwnChanges();
    if (!free) return base::fail(free.error());
    if (!entry_free) return base::fail(entry_free.error());
    plan = plan_sync(directory);
    const auto done =
        identity_.as(who, [&] { return outcome_of(::unlinkat(directory.fd(), name->c_str(), flags)); });
    if (!done) return done;
  }
  forget_if_gone(victim, who.peer);
  return carry_out(plan);
}

// An open descriptor of ours would keep the space of a removed file: its handle is found while the name still
// is there. When the name changes its meaning in between, the descriptor goes with the idle ones.
std::optional<FileHandle> Tree::handle_before_removal(PosixFile& directory, const Name& name) {
  const auto handle = handle_at(directory, name);
  if (!handle) return std::nullopt;
  return *handle;
}

void Tree::forget_if_gone(const std::optional<FileHandle>& handle, io::PeerId remover) {
  if (!handle) return;
  if (const FileRef file = cache_.find(handle->view())) {
    const auto stat = stat_of(static_cast<const PosixFile&>(*file).fd());
    if (stat && stat->stx_nlink != 0) return;
    lost_last_name(static_cast<PosixFile&>(*file), remover);
  }
  if (transient_) transient_->forget(*handle);
  write_back_->forget_removed();
}

// Who may not remove the name, or has to wait for a lease, is told so by the call itself.
Outcome<Tree::Victim> Tree::victim_of(const Credentials& who, PosixFile& directory, std::string_view text) {
  Victim out;
  const auto name = Name::of(text);
  if (!name || directory.type() != FileType::directory) return out;
  out.handle = handle_before_removal(directory, *name);
  if (!out.handle || options_.read_only || who.read_only) return out;
  const auto now = live_attributes(directory);
  if (!now || !permit(who, directory, W_OK | X_OK, *now)) return out;
  FileRef file = cache_.find(out.handle->view());
  if (!file) {
    auto opened = resolve(out.handle->view());
    if (!opened && opened.error() == Error::stale) return out;
    if (!opened) return base::fail(opened.error());
    file = std::move(*opened);
  }
  const auto& node = static_cast<const PosixFile&>(*file);
  if (node.content() != nullptr && node.leases(who.holder).others.empty()) out.file = std::move(file);
  return out;
}

Outcome<> Tree::look_around(PosixFile& directory, Wcc& wcc) {
  Change change(*this, directory, &wcc);
  change.none();
  return {};
}

}  // namespace braid::vfs::posix
