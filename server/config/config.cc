#include "server/config/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <utility>

#include "base/quoting.h"
#include "base/result.h"
#include "server/config/section.h"
#include "server/config/toml_reader.h"

namespace braid::server::config {
namespace {

std::string text_of(const toml::node* node) {
  std::ostringstream out;
  if (node != nullptr) node->visit([&](const auto& value) { out << value; });
  return out.str();
}

// Of both; null: none.
std::set<std::string_view> keys_of(const toml::table* first, const toml::table* second) {
  std::set<std::string_view> keys;
  for (const toml::table* table : {first, second})
    if (table != nullptr)
      for (const auto& [key, value] : *table) keys.insert(key.str());
  return keys;
}

}  // namespace

std::expected<Config, std::vector<Problem>> parse_config(std::string_view text) {
  toml::parse_result parsed = toml::parse(text);
  std::vector<Problem> problems;
  if (!parsed) {
    problems.push_back({parsed.error().source().begin.line,
                        fmt::format("{}; write TOML (https://toml.io)", parsed.error().description())});
    return std::unexpected(std::move(problems));
  }
  Config config;
  TomlReader root(parsed.table(), "the file", problems);
  for (const Section& section : sections()) section.read(root, section.name, config);
  root.finish();
  if (problems.empty()) return config;
  std::ranges::stable_sort(problems, {}, &Problem::line);
  return std::unexpected(std::move(problems));
}

std::expected<std::string, std::vector<Problem>> read_text(const std::string& file) {
  errno = 0;
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  if (!in || !(text << in.rdbuf())) {
    const std::string why = errno != 0 ? base::message_of(base::last_errno()) : "it is empty";
    return std::unexpected(std::vector<Problem>{{0, fmt::format("cannot be read: {}", why)}});
  }
  return text.str();
}

std::vector<std::string> changed_keys(std::string_view before, std::string_view after) {
  const toml::parse_result old_file = toml::parse(before), new_file = toml::parse(after);
  std::vector<std::string> changed;
  if (!old_file || !new_file) return changed;
  for (const std::string_view section : keys_of(&old_file.table(), &new_file.table())) {
    if (section == exports_section) continue;
    const toml::node* const was = old_file.table().get(section);
    const toml::node* const is = new_file.table().get(section);
    const toml::table* const was_table = was == nullptr ? nullptr : was->as_table();
    const toml::table* const is_table = is == nullptr ? nullptr : is->as_table();
    if (was_table == nullptr && is_table == nullptr && text_of(was) != text_of(is))
      changed.push_back(fmt::format("[[{}]]", section));
    const auto keys = keys_of(was_table, is_table);
    if (keys.empty() && (was_table == nullptr) != (is_table == nullptr))
      changed.push_back(fmt::format("[{}]", section));
    for (const std::string_view key : keys)
      if (text_of(was_table == nullptr ? nullptr : was_table->get(key)) !=
          text_of(is_table == nullptr ? nullptr : is_table->get(key)))
        changed.push_back(fmt::format("[{}] {}", section, key));
  }
  return changed;
}

std::vector<Problem> doubts_about(const Config& config) {
  std::vector<Problem> doubts;
  for (const ExportConfig& one : config.exports)
    if (one.unused_line != 0)
      doubts.push_back({one.unused_line,
                        fmt::format("rules name all clients of the export {}: what the export itself says of "
                                    "read_only and squash is for nobody",
                                    one.path)});
  return doubts;
}

std::string problems_text(std::string_view file, const std::vector<Problem>& problems) {
  std::string out;
  for (const Problem& problem : problems) {
    if (problem.line == 0)
      fmt::format_to(std::back_inserter(out), "{}: {}\n", base::printable(file),
                     base::printable(problem.what));
    else
      fmt::format_to(std::back_inserter(out), "{}:{}: {}\n", base::printable(file), problem.line,
                     base::printable(problem.what));
  }
  return out;
}

bool ExportConfig::writable() const {
  return !read_only || !std::ranges::all_of(rules, &RuleConfig::read_only);
}

std::optional<vfs::Squash> parse_squash(std::string_view text) {
  for (vfs::Squash squash : {vfs::Squash::none, vfs::Squash::root, vfs::Squash::all})
    if (text == name_of(squash)) return squash;
  return std::nullopt;
}

std::string_view name_of(vfs::Squash squash) {
  switch (squash) {
    case vfs::Squash::none:
      return "none";
    case vfs::Squash::root:
      return "root";
    case vfs::Squash::all:
      return "all";
  }
  return "root";
}

std::optional<base::Level> parse_level(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, base::Level>, 4> levels{{{"debug", base::Level::debug},
                                                                            {"info", base::Level::info},
                                                                            {"warning", base::Level::warning},
                                                                            {"error", base::Level::error}}};
  for (const auto& [name, level] : levels)
    if (text == name) return level;
  return std::nullopt;
}

std::optional<nfs4::Delegations> parse_delegations(std::string_view text) {
  if (text == "none") return nfs4::Delegations::none;
  if (text == "read") return nfs4::Delegations::read;
  if (text == "write") return nfs4::Delegations::write;
  return std::nullopt;
}

std::optional<rdma::Registration> parse_registration(std::string_view text) {
  for (rdma::Registration one :
       {rdma::Registration::cache, rdma::Registration::dynamic, rdma::Registration::odp})
    if (text == rdma::name_of(one)) return one;
  return std::nullopt;
}

std::optional<rpc::Transport> parse_transport(std::string_view text) {
  if (text == "tcp") return rpc::Transport::tcp;
  if (text == "rdma") return rpc::Transport::rdma;
  return std::nullopt;
}

}  // namespace braid::server::config
