// The stores of a server, as a capability of the role that serves the exports.
#pragma once

#include <expected>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "server/config/config.h"
#include "server/roles/nfs/capability.h"
#include "server/roles/stores/seal_engine.h"
#include "server/roles/stores/store_commands.h"
#include "server/roles/stores/store_worker.h"
#include "server/roles/stores/upkeep.h"
#include "store/content/open_guard.h"
#include "store/content/store_source.h"

namespace braid::server::roles::stores {

class Stores final : public nfs::Capability {
 public:
  // Opens those of the configuration that no data server has; null: there are none. The error is a sentence
  // for the user.
  static std::expected<std::shared_ptr<Stores>, std::string> open(const config::Config& config,
                                                                  const base::Clock& clock);
  // The one of a data server, which has one.
  static std::expected<std::shared_ptr<Stores>, std::string> open(const config::Config& config,
                                                                  const config::DataServerConfig& own,
                                                                  const base::Clock& clock);

  std::vector<vfs::ContentSource*> sources(const config::ExportConfig& config) override;
  // Bytes that will be hashed come in memory.
  [[nodiscard]] bool takes_pipes() const override;
  void join(const Shared& shared, nfs4::EngineParts& parts) override;
  [[nodiscard]] std::vector<rpc::Program> programs() override { return {}; }
  void start(std::span<const std::unique_ptr<ServerThread>> threads, nfs4::Nfs4Engine& engine) override;
  io::Op<> tick() override;
  io::Op<bool> take_back(vfs::ExportId from) override;
  io::Op<> close() override;
  void describe(std::vector<admin::AdminCommand>& commands) override;
  void report(nlohmann::json& members) const override;

 private:
  struct Entry {
    std::unique_ptr<store::Store> store;
    std::unique_ptr<store::StoreSource> source;  // ends before it
    std::unique_ptr<StoreWorker> worker;         // ends before that
    std::unique_ptr<Upkeep> upkeep;              // ends before that
    std::unique_ptr<store::OpenGuard> guard;     // null: it has none
  };
  // The file system of an export, or of a data server, if its store has a guard. The error is a sentence.
  static std::expected<void, std::string> watch(const std::string& name, const Entry& entry,
                                                const std::string& directory);
  static void log_refusals(const std::string& name, store::OpenGuard& guard);
  static ServedStore served(const std::string& name, const Entry& entry);
  std::expected<void, std::string> add(const config::StoreConfig& wanted, store::OpenFor what,
                                       const config::Limits& limits, const base::Clock& clock);

  const vfs::Exports* exports_ = nullptr;
  const base::Clock* clock_ = nullptr;
  SealEngine hashing_;  // of all stores
  std::map<std::string, Entry> by_name_;
};

}  // namespace braid::server::roles::stores
