// Which id and which key the handles of an export carry: kept in a state directory, so that handles outlive
// the process.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/siphash.h"
#include "base/unique_fd.h"
#include "vfs/export.h"

namespace braid::vfs {

struct ExportIdentity {
  ExportId id;
  base::SipKey key{};
};

// Read and written at start-up and reload only; one thread. The file is described in docs/filehandle.md. Ids
// are random: when the file is lost, old handles name exports that do not exist any more.
class ExportRegistry {
 public:
  static constexpr std::string_view file_name = "exports";

  // Makes the directory if it is missing (0700). The file is read when it is first needed.
  static base::Result<ExportRegistry> open(const std::string& directory);
  // Forgets everything when the process ends.
  static ExportRegistry in_memory() { return ExportRegistry(base::UniqueFd()); }

  // The identity of `export_path` as long as it offers `directory`; a new one, durable on return, when it is
  // unknown or offered another directory before. EBADMSG: the file is damaged and was left alone.
  base::Result<ExportIdentity> identity_of(std::string_view export_path, std::string_view directory);

 private:
  struct Entry {
    ExportIdentity identity;
    std::string export_path;
    std::string directory;
  };

  explicit ExportRegistry(base::UniqueFd directory) : directory_(std::move(directory)) {}
  base::Result<ExportIdentity> find_or_add(std::string_view export_path, std::string_view directory);
  base::Result<void> load();
  base::Result<void> save() const;
  static base::Result<std::vector<Entry>> parse(std::string_view text);
  [[nodiscard]] ExportId unused_id() const;

  base::UniqueFd directory_;  // none: in memory only
  std::vector<Entry> entries_;
};

}  // namespace braid::vfs
