#include "tools/store_repair.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <unordered_set>
#include <utility>

#include "store/maintenance/sealed_trees.h"
#include "store/recipes/sealed_file.h"
#include "store/sealing/sealer.h"
#include "tools/store_tree.h"
#include "tools/tree_files.h"
#include "vfs/posix/kernel.h"

namespace braid::tools {
namespace {

// Where the file system of `path` is mounted, as a whole. Nothing: only a part of it is, there.
std::optional<std::string> mount_point_of(const std::string& path) {
  const std::string whole = std::filesystem::weakly_canonical(path).string();
  std::ifstream mounts("/proc/self/mountinfo");
  std::string best, root;
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream words(line);
    std::string skipped, part, point;
    words >> skipped >> skipped >> skipped >> part >> point;
    const bool covers = point == "/" || whole == point || whole.starts_with(point + "/");
    // The last of those on one place is the one that is seen.
    if (covers && point.size() >= best.size()) {
      best = point;
      root = part;
    }
  }
  struct stat top{}, below{};
  // A name with blanks is written otherwise there: then another one was found.
  const bool same =
      ::stat(best.c_str(), &top) == 0 && ::stat(whole.c_str(), &below) == 0 && top.st_dev == below.st_dev;
  return same && root == "/" ? std::optional(best) : std::nullopt;
}

class Repairer {
 public:
  explicit Repairer(store::Store& store) : store_(store), trees_(store::open_trees(store)) {}

  std::expected<std::uint64_t, std::string> run() {
    if (auto learnt = fill_index(); !learnt)
      return std::unexpected(fmt::format("containers: {}", base::message_of(learnt.error())));
    bool lost = store_.registry() == nullptr;
    if (!lost) {
      const auto damaged = store_.registry()->walk([&](const store::RegistryEntry& entry) {
        // Whether what was taken off was the end of a crash nobody knows for sure.
        lost = lost || entry.kind == store::RegistryKind::cut;
      });
      if (!damaged) return std::unexpected(fmt::format("registry: {}", base::message_of(damaged.error())));
      lost = lost || *damaged > 0;
    }
    if (lost) {
      if (std::string why = make_registry(); !why.empty()) return std::unexpected(std::move(why));
    } else {
      finish_all();
    }
    return corrected_;
  }

 private:
  base::Result<void> fill_index() {
    if (store_.index() == nullptr) return {};
    const auto numbers = store_.containers().numbers();
    if (!numbers) return base::fail(numbers.error());
    for (const std::uint32_t number : *numbers) {
      const auto walked = store_.containers().walk(
          number, false, [&](store::Location at, const store::ChunkHeader& header, base::BytesView) {
            if (!store_.index()->find(header.id)) store_.index()->put(header.id, at);
          });
      if (!walked) return base::fail(walked.error());
    }
    return {};
  }

  // One that does not know some file would have its chunks removed some day: all or nothing.
  std::string make_registry() {
    if (trees_.lost) return "neither trees nor registry are there any more: put trees back";
    if (!trees_.missing.empty())
      return fmt::format("the registry is made anew when all trees are there; not there is {}",
                         trees_.missing.front());
    std::string why;
    std::uint64_t files = 0;
    const auto fill = [&](const store::Registry::Add& add) -> base::Result<void> {
      for (const auto& [number, tree] : trees_.all) {
        const auto point = mount_point_of(tree.path);
        if (!point) why = fmt::format("of the file system of {} only a part is mounted there", tree.path);
        if (!point) return base::fail(ENOENT);
        const TreeFiles found =
            list_files(*point, {.one_file_system = true}, [&](const std::string& path, base::Errno error) {
              why = fmt::format("{}: {}", path, base::message_of(error));
            });
        if (found.unreadable > 0) return base::fail(EIO);
        for (const std::string& path : found.paths) {
          const auto entry = entry_of(path, number);
          if (entry) ++files;
          if (auto added = entry ? add(*entry) : base::Result<void>(); !added) return added;
        }
      }
      return {};
    };
    const auto made = store::Registry::replace(store_.medium(), store_.format().store, fill);
    if (!made && why.empty()) why = base::message_of(made.error());
    if (!made) return fmt::format("the registry cannot be made anew: {}", why);
    fmt::print("registry: made anew, with {} files\n", files);
    ++corrected_;
    return {};
  }

  // Of a file that has a record of this store.
  std::optional<store::RegistryEntry> entry_of(const std::string& path, std::uint32_t tree) {
    const base::UniqueFd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOATIME));
    if (!fd) return std::nullopt;
    const auto file = store_.medium().file_of(fd.get());
    const auto bytes = file->attribute(store::record_name);
    const auto handle = file->handle();
    if (!bytes || !*bytes || !handle) return std::nullopt;
    const auto record = store::decode_record(**bytes, store_.keys(), *handle);
    if (!record) return std::nullopt;
    if (record->pending) finish(*file, *handle, **bytes, path);
    return store::RegistryEntry{store::RegistryKind::sealed, tree, record->mapped, *handle};
  }

  void finish_all() {
    std::unordered_set<store::FileKey> seen;
    (void)store_.registry()->walk([&](const store::RegistryEntry& entry) {
      const auto tree = trees_.all.find(entry.tree);
      if (tree == trees_.all.end() || entry.kind != store::RegistryKind::sealed ||
          !seen.insert(store::FileKey::of(entry)).second)
        return;
      const auto fd =
          vfs::posix::open_kernel_handle(tree->second.fd.get(), entry.file.type, entry.file.view(),
                                         O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOATIME);
      if (!fd) return;
      const auto file = store_.medium().file_of(fd->get());
      const auto bytes = file->attribute(store::record_name);
      if (bytes && *bytes) finish(*file, entry.file, **bytes, vfs::posix::path_of(fd->get()));
    });
  }

  // What cannot be done stays as it is: the check names it.
  void finish(store::File& file, const store::KernelHandle& handle, base::BytesView record,
              const std::string& path) {
    const auto sealed = store::SealedFile::open(store_.chunks(), store_.keys(), handle, record);
    if (!sealed || !(*sealed)->record().pending) return;
    const auto done = store::finish_steps(store_, file, handle, **sealed);
    if (!done) {
      fmt::print("{}: what a crash left of its sealing stays: {}\n", path, base::message_of(done.error()));
      return;
    }
    ++corrected_;
    fmt::print("fileid {}: what a crash left of its sealing is done\n",
               file.status() ? file.status()->fileid : 0);
  }

  store::Store& store_;
  store::OpenTrees trees_;
  std::uint64_t corrected_ = 0;
};

}  // namespace

std::expected<std::uint64_t, std::string> repair_store(store::Store& store) { return Repairer(store).run(); }

}  // namespace braid::tools
