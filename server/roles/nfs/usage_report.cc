#include "server/roles/nfs/usage_report.h"

#include <fmt/format.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace braid::server::roles::nfs {
namespace {

using Samples = std::vector<base::MetricRegistry::Sample>;
// A label, and what was counted.
using Counted = std::pair<std::string, rpc::UsageCounts>;

void add_sample(Samples& out, std::string labels, std::uint64_t value) {
  out.push_back({std::move(labels), static_cast<double>(value)});
}

void add_operations(Samples& out, const Counted& one) {
  for (std::size_t i = 0; i < rpc::works; ++i)
    add_sample(out, fmt::format("{},kind=\"{}\"", one.first, name_of(static_cast<rpc::Work>(i))),
               one.second.operations.at(i));
}

void add_bytes(Samples& out, const Counted& one) {
  add_sample(out, one.first + R"(,direction="read")", one.second.read_bytes);
  add_sample(out, one.first + R"(,direction="written")", one.second.written_bytes);
}

void add_errors(Samples& out, const Counted& one) { add_sample(out, one.first, one.second.errors); }

// `what`: "export" or "client", whose counts `read` gives.
void register_families(base::MetricRegistry& metrics, std::string_view what,
                       const std::function<std::vector<Counted>()>& read) {
  const auto family = [&](std::string_view name, std::string_view help, auto add) {
    metrics.counter_family(fmt::format("braid_{}_{}_total", what, name), help, [read, add] {
      Samples out;
      for (const Counted& one : read()) add(out, one);
      return out;
    });
  };
  family("operations", "Operations of NFS by kind", add_operations);
  family("bytes", "Bytes of files that were read and written", add_bytes);
  family("errors", "Operations of NFS that ended with an error", add_errors);
}

std::string label(std::string_view name, std::string_view value) {
  return fmt::format("{}=\"{}\"", name, base::escaped_label(value));
}

}  // namespace

void register_clients_usage(base::MetricRegistry& metrics, const rpc::Usage& usage) {
  register_families(metrics, "client", [&usage] {
    rpc::Usage::ByClient all = usage.by_client();
    all.named.push_back({"other", all.other});
    std::vector<Counted> out;
    out.reserve(all.named.size());
    for (rpc::Usage::Named& one : all.named) out.emplace_back(label("client", one.client), one.counts);
    return out;
  });
}

void register_exports_usage(base::MetricRegistry& metrics, const rpc::Usage& usage,
                            const vfs::Exports& exports) {
  register_families(metrics, "export", [&usage, &exports] {
    rpc::UsageByExport counted = usage.by_export();
    std::vector<Counted> out;
    const std::shared_ptr<const vfs::ExportTable> table = exports.current();
    for (const vfs::Export& one : table->all())
      out.emplace_back(label("export", one.path), counted[one.id.value()]);
    return out;
  });
}

}  // namespace braid::server::roles::nfs
