// braid check
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdio>
#include <unordered_set>
#include <vector>

#include "store/maintenance/sealed_trees.h"
#include "store/recipes/sealed_file.h"
#include "tools/store_command.h"
#include "tools/store_repair.h"
#include "tools/store_tree.h"
#include "vfs/posix/kernel.h"

namespace braid::tools {
namespace {

using store::ChunkKind;
using store::Extent;

class Checker {
 public:
  Checker(store::Store& store, bool deep) : store_(store), deep_(deep) {}

  int run() {
    check_containers();
    look_for_trees();
    check_registry();
    if (draw_) fmt::print(stderr, "\r{:<60}\r", "");
    fmt::print("{} chunks in {} containers, {} files{}\n", chunks_, containers_, files_,
               deep_ ? "; every byte was read" : "; with --deep every byte is read");
    if (forwarding_ > 0) fmt::print("{} of the containers were rewritten, and lead to others\n", forwarding_);
    if (gone_ > 0) fmt::print("{} files of the registry are not there any more, or not sealed\n", gone_);
    fmt::print("{}\n", damaged_ > 0   ? "THERE IS DAMAGE"
                       : unreachable_ ? "not everything could be looked at"
                                      : "all is well");
    if (damaged_ > 0) return check_damaged;
    return unreachable_ ? check_failed : 0;
  }

 private:
  void damaged(const std::string& what) {
    ++damaged_;
    fmt::print("damaged: {}\n", what);
  }
  void unreachable(const std::string& what) {
    unreachable_ = true;
    fmt::print("not looked at: {}\n", what);
  }
  void progress(std::string_view what, std::uint64_t done) const {
    if (draw_) fmt::print(stderr, "\r{} {:<30}", what, done);
  }

  void check_container(std::uint32_t number) {
    const std::string name = store::Containers::name_of(number);
    std::uint64_t misnamed = 0;
    const auto walked = store_.containers().walk(
        number, deep_, [&](store::Location, const store::ChunkHeader& header, base::BytesView bytes) {
          if (!deep_) return;
          const auto named = named_bytes(header.kind, bytes);
          if (!named || store_.keys().id_of(header.kind, *named) != header.id) ++misnamed;
        });
    if (!walked) return unreachable(fmt::format("{}: {}", name, base::message_of(walked.error())));
    chunks_ += walked->chunks;
    if (walked->forwarding) ++forwarding_;
    if (walked->damaged > 0)
      damaged(fmt::format("{}: {} places are not what was written", name, walked->damaged));
    if (misnamed > 0) damaged(fmt::format("{}: {} chunks are not what their ids name", name, misnamed));
  }

  void check_containers() {
    const auto numbers = store_.containers().numbers();
    if (!numbers) return unreachable(fmt::format("containers: {}", base::message_of(numbers.error())));
    containers_ = numbers->size();
    for (const std::uint32_t number : *numbers) {
      check_container(number);
      progress("container", number);
    }
  }

  void look_for_trees() {
    trees_ = store::open_trees(store_);
    if (trees_.lost) damaged("trees: which file systems have sealed files is not known any more");
    for (const std::string& one : trees_.missing) unreachable(one);
  }

  void check_registry() {
    if (store_.registry() == nullptr)
      return damaged("registry: which files are sealed is not known any more");
    std::unordered_set<store::FileKey> seen;
    const auto bad = store_.registry()->walk([&](const store::RegistryEntry& entry) {
      if (entry.kind == store::RegistryKind::sealed && seen.insert(store::FileKey::of(entry)).second)
        check_file(entry);
    });
    if (!bad) return unreachable(fmt::format("registry: {}", base::message_of(bad.error())));
    if (*bad > 0) damaged(fmt::format("registry: {} entries", *bad));
  }

  void check_file(const store::RegistryEntry& entry) {
    const auto tree = trees_.all.find(entry.tree);
    if (tree == trees_.all.end()) return;
    const auto fd = vfs::posix::open_kernel_handle(tree->second.fd.get(), entry.file.type, entry.file.view(),
                                                   O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOATIME);
    if (!fd) {
      ++gone_;
      return;
    }
    const auto file = store_.medium().file_of(fd->get());
    const auto record = file->attribute(store::record_name);
    if (record && !*record) {
      ++gone_;
      return;
    }
    const std::string name = name_of(fd->get());
    progress("file", ++files_);
    if (!record) return damaged(fmt::format("{}: its record: {}", name, base::message_of(record.error())));
    const auto sealed = store::SealedFile::open(store_.chunks(), store_.keys(), entry.file, **record);
    if (!sealed && sealed.error() == base::errno_of(EIO)) return damaged(fmt::format("{}: all of it", name));
    if (!sealed) return damaged(fmt::format("{}: its record", name));
    check_recipe(name, (*sealed)->root());
  }

  void check_recipe(const std::string& name, const store::Root& root) {
    std::vector<Extent> lost;
    const auto lose = [&](std::uint64_t offset, std::uint64_t length) {
      if (!lost.empty() && lost.back().end == offset)
        lost.back().end += length;
      else
        lost.push_back({offset, offset + length});
    };
    const auto walked =
        store::walk_whole(store_.chunks(), root.top, lose, [&](const store::RecipePiece& piece) {
          if (piece.kind == store::EntryKind::chunk && !has(piece.chunk)) lose(piece.offset, piece.length);
          return base::Result<void>();
        });
    if (!walked) unreachable(fmt::format("{}: {}", name, base::message_of(walked.error())));
    for (const Extent& extent : lost)
      damaged(fmt::format("{}: bytes {} to {}", name, extent.begin, extent.end - 1));
  }

  bool has(const store::ChunkRef& chunk) {
    if (!deep_) {
      const auto header = store_.containers().look(chunk.at);
      if (header && header->kind == ChunkKind::data && header->id == chunk.id &&
          header->length == chunk.bytes)
        return true;
    }
    return store_.chunks().get(ChunkKind::data, chunk).has_value();
  }

  static std::string name_of(int fd) {
    std::array<char, PATH_MAX> buffer{};
    const ssize_t size = ::readlink(vfs::posix::path_of(fd).c_str(), buffer.data(), buffer.size());
    return size > 1 ? std::string(buffer.data(), static_cast<std::size_t>(size)) : std::string("a file");
  }

  store::Store& store_;
  const bool deep_;
  const bool draw_ = ::isatty(STDERR_FILENO) != 0;
  store::OpenTrees trees_;
  std::uint64_t chunks_ = 0, containers_ = 0, forwarding_ = 0, files_ = 0, gone_ = 0, damaged_ = 0;
  bool unreachable_ = false;
};

}  // namespace

int check_store(const StoreCheckCommand& command) {
  const std::string who = user_of_store("braid check");
  std::uint64_t corrected = 0;
  if (command.repair) {
    const auto opened = store::Store::open(command.store, {.what = store::OpenFor::writing, .who = who});
    const auto repaired = opened ? repair_store(**opened) : std::unexpected(opened.error());
    if (!repaired) {
      fmt::print(stderr, "braid check: {}\n", repaired.error());
      return check_failed;
    }
    corrected = *repaired;
  }
  const auto opened = store::Store::open(command.store, {.what = store::OpenFor::reading, .who = who});
  if (!opened) {
    fmt::print(stderr, "braid check: {}\n", opened.error());
    return check_failed;
  }
  const int found = Checker(**opened, command.deep).run();
  return found == 0 && corrected > 0 ? check_corrected : found;
}

}  // namespace braid::tools
