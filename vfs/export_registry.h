// Which id and which key the handles of an export carry, and which directory of which file system they are
// of: kept in a state directory, so that handles outlive the process.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/siphash.h"
#include "base/unique_fd.h"
#include "vfs/directory_identity.h"
#include "vfs/export.h"

namespace braid::vfs {

struct ExportIdentity {
  ExportId id;
  base::SipKey key{};
};

// What is known of an export.
struct Registration {
  ExportIdentity identity;
  DirectoryIdentity kept;  // what its handles are of
  bool in_place = false;   // what was found is that
};

// Read and written at start-up, at a reload, and when a directory has been exchanged; one thread. The file is
// described in docs/filehandle.md. Ids are random: when the file is lost, old handles name exports that do
// not exist any more.
class ExportRegistry {
 public:
  static constexpr std::string_view file_name = "exports";

  // Makes the directory if it is missing (0700). The file is read when it is first needed.
  static base::Result<ExportRegistry> open(const std::string& directory);
  // Forgets everything when the process ends.
  static ExportRegistry in_memory() { return ExportRegistry(base::UniqueFd()); }

  // The export `export_path`, which offers `directory`, where `found` is now; null: nothing can be opened.
  // Its identity stays as long as what is found stays, wherever that is mounted. A path that is configured
  // anew, and what nobody expects to find again, get a new one; something else at the same path is not in
  // place. Durable on return. ENOENT: nothing was found, and nothing is known; EBADMSG: the file is damaged
  // and was left alone.
  base::Result<Registration> look_up(std::string_view export_path, std::string_view directory,
                                     const DirectoryIdentity* found);
  // The same of a path that leads nowhere, whether it is known or not: never in place. What is found first
  // gets the identity that is reserved here.
  base::Result<Registration> reserve(std::string_view export_path, std::string_view directory);
  // What is found now is meant, whatever it was before: another identity, unless it is the same.
  base::Result<Registration> accept(std::string_view export_path, std::string_view directory,
                                    const DirectoryIdentity& found);

 private:
  struct Entry {
    ExportIdentity identity;
    std::string export_path;
    std::string directory;
    DirectoryIdentity kept;  // without a file system: of version 1, which did not say
  };

  explicit ExportRegistry(base::UniqueFd directory) : directory_(std::move(directory)) {}
  template <class F>
  base::Result<Registration> with_file(F work);
  base::Result<Registration> find_or_add(std::string_view export_path, std::string_view directory,
                                         const DirectoryIdentity* found);
  base::Result<Registration> put(std::string_view export_path, std::string_view directory,
                                 const ExportIdentity& identity, const DirectoryIdentity& found);
  [[nodiscard]] const Entry* entry_of(std::string_view export_path) const;
  [[nodiscard]] ExportIdentity new_identity() const { return {unused_id(), base::random_sip_key()}; }
  base::Result<void> load();
  base::Result<void> save() const;
  static base::Result<std::vector<Entry>> parse(std::string_view text);
  static base::Result<Entry> parse_entry(std::string_view line, int version);
  [[nodiscard]] ExportId unused_id() const;

  base::UniqueFd directory_;  // none: in memory only
  std::vector<Entry> entries_;
};

}  // namespace braid::vfs
