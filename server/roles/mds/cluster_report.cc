#include "server/roles/mds/cluster_report.h"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "pnfs_ds/object_files.h"
#include "pnfs_ds/store_directory.h"
#include "server/roles/mds/commands.h"

namespace braid::server::roles::mds {
namespace {

using nlohmann::json;
using pnfs_mds::DataServerInfo;

constexpr std::size_t lines_max = 500;  // of a page

// Names that servers chose may be no UTF-8.
std::string text_of(const json& answer) {
  return answer.dump(-1, ' ', false, json::error_handler_t::replace);
}

const char* state_of(const DataServerInfo& server) {
  if (server.in_contact) return "in contact";
  return server.lost ? "lost" : "silent";
}

json addresses_of(const DataServerInfo& server) {
  json out = json::array();
  for (const pnfs_mds::Address& address : server.addresses)
    out.push_back(address.netid + " " + address.uaddr);
  return out;
}

json line_of(const DataServerInfo& server) {
  return {{"number", server.number.value()},
          {"name", server.name},
          {"server", pnfs_ds::hex_of(server.id)},
          {"addresses", addresses_of(server)},
          {"state", state_of(server)},
          {"generation", server.generation},
          {"bytes_total", server.room.bytes_total},
          {"bytes_free", server.room.bytes_free},
          {"bytes_available", server.room.bytes_available},
          {"objects_free", server.room.objects_free},
          {"load", server.load}};
}

std::string data_servers_page(pnfs_mds::Cluster& cluster, const admin::AdminRequest& request) {
  std::uint32_t after = 0;
  const char* const end = request.from.data() + request.from.size();
  if (!request.from.empty() && std::from_chars(request.from.data(), end, after).ptr != end)
    return admin::admin_error("\"from\" is not what a page before has said");
  json lines = json::array();
  json page;
  for (const DataServerInfo& server : cluster.servers().all()) {
    if (server.number.value() <= after) continue;
    if (lines.size() == lines_max) {
      page["next"] = std::to_string(lines.back().at("number").get<std::uint32_t>());
      break;
    }
    lines.push_back(line_of(server));
  }
  page[std::string(data_servers_command.name)] = std::move(lines);
  return text_of(page);
}

// The file at `below` in the export, as the server itself finds it.
vfs::VfsOp<vfs::FileRef> walk(std::shared_ptr<vfs::FileSystem> files, std::string below) {
  const vfs::Credentials itself;
  vfs::FileRef at = files->root();
  std::string_view rest = below;
  while (!rest.empty()) {
    const std::string_view name = rest.substr(0, rest.find('/'));
    rest.remove_prefix(std::min(name.size() + 1, rest.size()));
    if (name.empty()) continue;
    const vfs::Found found = co_await files->lookup(itself, at, name);
    at = found.file;
  }
  co_return std::move(at);
}

json location_of(pnfs_mds::Cluster& cluster, const pnfs::LayoutRecord& record) {
  json servers = json::array();
  for (std::uint32_t i = 0; i < record.servers.size(); ++i) {
    const pnfs::ObjectKey key{record.object, i};
    json one{
        {"index", i},
        {"number", record.servers[i].value()},
        {"object_file", fmt::format("objects/{}/{}", pnfs_ds::shard_name(key), pnfs_ds::object_name(key))}};
    if (const auto server = cluster.servers().find(record.servers[i])) {
      one["name"] = server->name;
      one["addresses"] = addresses_of(*server);
      one["state"] = state_of(*server);
    }
    servers.push_back(std::move(one));
  }
  const bool dense = record.striping.packing == pnfs::Packing::dense;
  return {{"object", fmt::format("{:016x}", record.object.value())},
          {"epoch", record.epoch.value()},
          {"unit", record.striping.unit},
          {"packing", dense ? "dense" : "sparse"},
          {"first", record.striping.first},
          {"servers", std::move(servers)}};
}

io::Op<std::string> location(ReportParts parts, std::string path) {
  const auto place = parts.directories.find(path);
  if (!place) co_return admin::admin_error(fmt::format("{} is in no striped export of this server", path));
  const std::shared_ptr<const vfs::ExportTable> table = parts.exports.current();
  const auto match = table->by_path(place->export_path);
  if (match.found == nullptr || match.found->path != place->export_path)
    co_return admin::admin_error(fmt::format("the export {} is not served now", place->export_path));
  const std::shared_ptr<vfs::FileSystem> files = match.found->file_system;
  const auto file = co_await walk(files, place->below).as_result();
  if (!file && file.error() == vfs::Error::delay)
    co_return admin::admin_error(fmt::format(
        "{} was written to, and a data server that has a part of it is silent: `braid data-servers`", path));
  if (!file)
    co_return admin::admin_error(fmt::format("{} cannot be found: {}", path, vfs::name_of(file.error())));
  const auto content = co_await files->content(*file).as_result();
  if (!content)
    co_return admin::admin_error(
        fmt::format("where {} lies cannot be told: {}", path, vfs::name_of(content.error())));
  const pnfs_mds::StripedContent* const striped = parts.cluster.source().of(*content);
  if (striped == nullptr)
    co_return admin::admin_error(
        fmt::format("{} has no bytes on data servers: it is empty, or has them itself", path));
  json answer = location_of(parts.cluster, striped->record());
  answer["file"] = fmt::format("{}:/{}", place->export_path, place->below);
  co_return text_of(answer);
}

}  // namespace

void ExportDirectories::add(const std::string& export_path, const std::string& directory) {
  std::error_code error;
  std::string canonical = std::filesystem::canonical(directory, error).string();
  if (error) canonical = directory;
  directories_.with([&](auto& all) { all.insert_or_assign(export_path, std::move(canonical)); });
}

std::optional<ExportDirectories::Place> ExportDirectories::find(const std::string& path) const {
  return directories_.with([&](const auto& all) -> std::optional<Place> {
    std::optional<Place> nearest;
    for (const auto& [export_path, directory] : all) {
      const std::string inside = directory.ends_with('/') ? directory : directory + "/";
      if (!path.starts_with(inside)) continue;
      std::string below = path.substr(inside.size());
      if (!nearest || below.size() < nearest->below.size()) nearest = {export_path, std::move(below)};
    }
    return nearest;
  });
}

std::vector<admin::AdminCommand> cluster_commands(const ReportParts& parts) {
  using Request = const admin::AdminRequest&;
  return {{data_servers_command,
           [&cluster = parts.cluster](Request request) -> io::Op<std::string> {
             return data_servers_page(cluster, request);
           }},
          {location_command, [parts](Request request) -> io::Op<std::string> {
             if (request.path.empty()) return admin::admin_error("the request has no \"path\"");
             return location(parts, request.path);
           }}};
}

}  // namespace braid::server::roles::mds
