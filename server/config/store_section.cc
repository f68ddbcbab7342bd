// [[store]]
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>
#include <string_view>

#include "server/config/section.h"

namespace braid::server::config {
namespace {

constexpr std::size_t store_name_bytes_max = 64;
constexpr unsigned scrub_days_max = 3650;
constexpr std::uint64_t window_bytes_least = 1U << 20U, window_bytes_most = std::uint64_t{1} << 40U;
constexpr std::uint64_t gc_rate_min = 64U << 10U, gc_rate_max = std::uint64_t{1} << 40U;

void read_hashing(TomlReader& table, StoreConfig& config) {
  std::string hashing;
  if (!table.text("hashing", hashing, R"(hashing = "auto")")) return;
  if (hashing == "cpu")
    config.hashing = StoreHashing::cpu;
  else if (hashing == "cuda")
    config.hashing = StoreHashing::cuda;
  else if (hashing == "oracle")
    config.hashing = StoreHashing::oracle;
  else if (hashing == "md5-tree")
    config.hashing = StoreHashing::md5_tree;
  else if (hashing != "auto")
    table.problem("hashing", fmt::format(R"('hashing' is "{}"; write "auto", "cpu" or "cuda")", hashing));
}

void read_ingest(TomlReader& table, StoreConfig& config) {
  std::string ingest;
  if (!table.text("ingest", ingest, R"(ingest = "after")")) return;
  if (ingest == "window")
    config.ingest = StoreIngest::window;
  else if (ingest != "after")
    table.problem("ingest", fmt::format(R"('ingest' is "{}"; write "after" or "window")", ingest));
}

void read_similarity(TomlReader& table, StoreConfig& config) {
  std::string similarity;
  if (!table.text("similarity", similarity, R"(similarity = "global")")) return;
  if (similarity == "previous")
    config.similarity = store::Similarity::previous;
  else if (similarity != "global")
    table.problem("similarity",
                  fmt::format(R"('similarity' is "{}"; write "global" or "previous")", similarity));
}

void read_compression(TomlReader& table, StoreConfig& config) {
  std::string compression;
  if (!table.text("compression", compression, R"(compression = "zstd")")) return;
  if (const auto known = store::parse_compression(compression))
    config.compression = *known;
  else
    table.problem(
        "compression",
        fmt::format(R"('compression' is "{}"; write "none", "zstd", or "zstd:{}" to "zstd:{}")", compression,
                    store::CompressionOptions::level_min, store::CompressionOptions::level_max));
}

StoreConfig read_store(TomlReader table) {
  constexpr std::string_view name_example = R"(name = "archive")",
                             directory_example = R"(directory = "/srv/store")";
  StoreConfig config;
  if (table.text("name", config.name, name_example)) {
    if (config.name.empty() || config.name.size() > store_name_bytes_max)
      table.problem("name", fmt::format("'name' has {} bytes; write 1 to {}, e.g. {}", config.name.size(),
                                        store_name_bytes_max, name_example));
  } else if (!table.has("name")) {
    table.problem("name", fmt::format("[[store]] has no 'name'; write {}", name_example));
  }
  table.absolute_path("directory", config.directory, directory_example);
  if (!table.has("directory"))
    table.problem("directory", fmt::format("[[store]] has no 'directory'; write {}", directory_example));
  read_hashing(table, config);
  read_ingest(table, config);
  read_similarity(table, config);
  read_compression(table, config);
  table.bytes("window_bytes_max", config.window_bytes_max, window_bytes_least, window_bytes_most);
  table.integer("seal_seconds", config.seal_seconds, 0U, std::numeric_limits<unsigned>::max());
  table.integer("gc_keep_seconds", config.gc_keep_seconds, 0U, std::numeric_limits<unsigned>::max());
  table.bytes("gc_bytes_per_second", config.gc_bytes_per_second, gc_rate_min, gc_rate_max);
  table.integer("scrub_days", config.scrub_days, 0U, scrub_days_max);
  table.boolean("guard", config.guard);
  table.finish();
  return config;
}

}  // namespace

void read_stores(TomlReader& file, std::string_view name, Config& config) {
  const toml::node* const node = file.node(name);
  if (node == nullptr) return;
  std::vector<Problem>& problems = file.problems();
  const toml::array* const stores = node->as_array();
  if (stores == nullptr || !stores->is_array_of_tables()) {
    problems.push_back(
        {node->source().begin.line,
         "stores are a list; write [[store]], then name = \"archive\" and directory = \"/srv/store\""});
    return;
  }
  for (const toml::node& element : *stores) {
    const TomlReader table(*element.as_table(), "[[store]]", problems);
    const std::uint32_t line = table.line_of("name");
    StoreConfig next = read_store(table);
    for (const StoreConfig& known : config.stores) {
      if (!next.name.empty() && known.name == next.name)
        problems.push_back(
            {line, fmt::format("two stores are called \"{}\"; write another name", next.name)});
      if (!next.directory.empty() && known.directory == next.directory)
        problems.push_back(
            {line, fmt::format("the stores \"{}\" and \"{}\" have one directory; leave one of them out",
                               known.name, next.name)});
    }
    config.stores.push_back(std::move(next));
  }
}

}  // namespace braid::server::config
