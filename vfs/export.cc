#include "vfs/export.h"

#include <algorithm>

#include "vfs/wire_handle.h"

namespace braid::vfs {
namespace {

// What setfsuid(2) cannot set: "no user".
constexpr std::uint32_t no_id = 0xffffffff;

std::string_view trimmed(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  return path;
}

// What follows the components of `parent` in `path`; nothing if it is not a parent.
std::optional<std::string_view> rest_below(std::string_view path, std::string_view parent) {
  if (parent == "/") parent = {};
  if (!path.starts_with(parent)) return std::nullopt;
  path.remove_prefix(parent.size());
  if (!path.empty() && path.front() != '/') return std::nullopt;
  path.remove_prefix(std::min(path.find_first_not_of('/'), path.size()));
  return path;
}

}  // namespace

bool ExportRule::names(const Address& client) const {
  return clients.empty() ||
         std::ranges::any_of(clients, [&](const Network& network) { return network.contains(client); });
}

Credentials ExportRule::squashed(const Credentials& who) const {
  Credentials out = squash == Squash::all ? Credentials() : who;
  out.read_only = read_only;
  if (squash == Squash::all) {
    out.uid = anon_uid;
    out.gid = anon_gid;
    return out;
  }
  const auto replaced = [this](std::uint32_t asked, std::uint32_t anonymous) {
    return asked == no_id || (asked == 0 && squash == Squash::root) ? anonymous : asked;
  };
  out.uid = replaced(who.uid, anon_uid);
  out.gid = replaced(who.gid, anon_gid);
  for (std::uint32_t i = 0; i < out.group_count; ++i)
    out.group_list[i] = replaced(out.group_list[i], anon_gid);
  return out;
}

const ExportRule* Export::rule_of(const Address& client) const {
  const auto found = std::ranges::find_if(rules, [&](const ExportRule& rule) { return rule.names(client); });
  if (found != rules.end()) return &*found;
  return names(client) ? this : nullptr;
}

ExportTable::ExportTable(std::vector<Export> exports) : exports_(std::move(exports)) {
  for (Export& entry : exports_) entry.path = std::string(trimmed(entry.path));
}

const Export* ExportTable::by_handle(base::BytesView handle) const {
  const auto id = HandleCodec::export_of(handle);
  if (!id) return nullptr;
  const auto found = std::ranges::find(exports_, *id, &Export::id);
  return found == exports_.end() ? nullptr : &*found;
}

ExportTable::Match ExportTable::by_path(std::string_view path) const {
  Match best;
  for (const Export& entry : exports_) {
    if (best.found != nullptr && entry.path.size() <= best.found->path.size()) continue;
    if (const auto rest = rest_below(trimmed(path), entry.path)) best = {&entry, *rest};
  }
  return best;
}

}  // namespace braid::vfs
