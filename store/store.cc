#include "store/store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>

#include "base/assert.h"
#include "base/log.h"

namespace braid::store {
namespace {

constexpr const char *format_name = "FORMAT", *key_name = "KEY", *trees_name = "trees", *index_name = "index";
constexpr std::size_t format_bytes_max = 4096, trees_bytes_max = 16 * base::MiB;

std::unexpected<std::string> wrong(const std::string& directory, std::string_view what) {
  return std::unexpected(fmt::format("{}: {}", directory, what));
}
std::unexpected<std::string> wrong(const std::string& directory, std::string_view name, base::Errno error) {
  return std::unexpected(fmt::format("{}/{}: {}", directory, name, base::message_of(error)));
}

void fill_random(base::MutableBytes to) {
  base::check(::getrandom(to.data(), to.size(), 0) == static_cast<ssize_t>(to.size()),
              "the kernel gives random bytes");
}

// What a crash leaves of a store that was being made.
bool may_be_half_made(const std::vector<std::string>& names) {
  constexpr std::array<std::string_view, 5> known{"lock", "KEY", "KEY.new", "registry", "registry.new"};
  return std::ranges::all_of(names, [&](const std::string& name) {
    return std::ranges::find(known, name) != known.end() || name == Containers::directory ||
           name == "FORMAT.new" || name == "trees" || name == "trees.new";
  });
}

}  // namespace

Store::~Store() {
  if (chunks_ != nullptr && what_ != OpenFor::reading) chunks_->index_filler().end();
}

std::expected<std::unique_ptr<Store>, std::string> Store::open(const std::string& directory,
                                                               const StoreOptions& options) {
  std::unique_ptr<Store> out(new Store(directory));
  if (options.what == OpenFor::creating && ::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST)
    return wrong(directory, base::message_of(base::last_errno()));
  auto medium = open_posix_medium(directory);
  if (!medium) return wrong(directory, base::message_of(medium.error()));
  out->medium_ = std::move(*medium);
  const auto names = out->medium_->list("");
  if (!names) return wrong(directory, base::message_of(names.error()));
  const bool is_store = std::ranges::find(*names, format_name) != names->end();
  if (!is_store && (options.what != OpenFor::creating || !may_be_half_made(*names)))
    return wrong(directory,
                 names->empty()
                     ? "it is empty, and no store: braid store seal, or braid serve with --store, makes one"
                     : "it has no file FORMAT: it is no store");
  const auto named = [](std::string_view holder) {
    return holder.empty() ? std::string_view("another process") : holder;
  };
  base::LockFile::Wait wait;
  if (options.wait) wait = [&](std::string_view holder) { return options.wait(named(holder)); };
  std::string holder;
  auto lock = base::LockFile::take(AT_FDCWD, directory + "/lock", options.who, wait, holder);
  if (!lock && lock.error() == base::errno_of(EBUSY))
    return wrong(directory, fmt::format("the store is in use by {}", named(holder)));
  if (!lock) return wrong(directory, "lock", lock.error());
  out->lock_.emplace(std::move(*lock));
  if (auto begun = out->begin(options, is_store); !begun) return std::unexpected(begun.error());
  return out;
}

std::expected<std::unique_ptr<Store>, std::string> Store::open(std::unique_ptr<Medium> medium,
                                                               std::unique_ptr<Index> index,
                                                               const StoreOptions& options) {
  std::unique_ptr<Store> out(new Store("the store"));
  out->medium_ = std::move(medium);
  out->index_ = std::move(index);
  const auto names = out->medium_->list("");
  if (!names) return wrong(out->directory_, base::message_of(names.error()));
  const bool is_store = std::ranges::find(*names, format_name) != names->end();
  if (auto begun = out->begin(options, is_store); !begun) return std::unexpected(begun.error());
  return out;
}

Store::Opened Store::begin(const StoreOptions& options, bool is_store) {
  Opened done;
  if (!is_store) done = make();
  if (done) done = load_format();
  if (done) done = load_key();
  if (done) done = check_purpose(options);
  if (done && options.what != OpenFor::reading) {
    const auto required = require(FormatFile::groups);
    if (!required) return wrong(directory_, format_name, required.error());
  }
  if (done && options.what != OpenFor::reading && options.compression.how != Compression::none) {
    const auto required = require(FormatFile::compression);
    if (!required) return wrong(directory_, format_name, required.error());
  }
  if (done) done = load_parts(options);
  return done;
}

// Ids of both kinds in one store would be those of other bytes.
Store::Opened Store::check_purpose(const StoreOptions& options) {
  const bool was = requires_feature(FormatFile::for_benchmarks);
  if (was == options.for_benchmarks) return {};
  if (was)
    return wrong(directory_,
                 "a benchmark has filled it (hashing = \"oracle\" or \"md5-tree\"): what is in it cannot be "
                 "read; remove it");
  const auto containers = medium_->list(Containers::directory);
  if (!containers) return wrong(directory_, Containers::directory, containers.error());
  if (!containers->empty() || options.what == OpenFor::reading)
    return wrong(directory_,
                 "hashing = \"oracle\" and \"md5-tree\" are for benchmarks, and take a store that is empty");
  const auto required = require(FormatFile::for_benchmarks);
  if (!required) return wrong(directory_, format_name, required.error());
  return {};
}

// FORMAT is last: with it the directory is a store.
Store::Opened Store::make() {
  std::array<std::byte, hashing::key_bytes> key{};
  fill_random(key);
  FormatFile format;
  fill_random(format.store);
  format.required = FormatFile::groups;
  format.key = StoreKeys(hashing::Key(key)).fingerprint();
  base::Result<void> done = medium_->make_directory(Containers::directory);
  const auto numbers = medium_->list(Containers::directory);
  if (done && (!numbers || !numbers->empty()))
    return wrong(directory_, "it has containers and no file FORMAT: the store has lost it");
  if (done) done = replace_small(*medium_, key_name, key);
  if (done) done = replace_small(*medium_, trees_name, base::bytes_of(encode(std::vector<Tree>())));
  if (done)
    if (const auto registry = Registry::open(*medium_, format.store, OpenFor::creating); !registry)
      done = base::fail(registry.error());
  if (done) done = replace_small(*medium_, format_name, base::bytes_of(encode(format)));
  if (!done) return wrong(directory_, base::message_of(done.error()));
  return {};
}

Store::Opened Store::load_format() {
  const auto text = read_small(*medium_, format_name, format_bytes_max);
  if (!text) return wrong(directory_, format_name, text.error());
  auto format = decode_format(base::text_of(*text));
  if (!format) return wrong(directory_, fmt::format("its file FORMAT {}", format.error()));
  format_ = *format;
  required_ = format_.required;
  return {};
}

Store::Opened Store::load_key() {
  const auto bytes = read_small(*medium_, key_name, hashing::key_bytes);
  if (!bytes) return wrong(directory_, key_name, bytes.error());
  const auto key = hashing::Key::from(*bytes);
  if (!key || StoreKeys(*key).fingerprint() != format_.key)
    return wrong(directory_, "its file KEY is not the key that it was made with; put that back");
  keys_.emplace(*key);
  return {};
}

// Without index chunks are read all the same; without registry, too.
Store::Opened Store::load_parts(const StoreOptions& options) {
  what_ = options.what == OpenFor::creating ? OpenFor::writing : options.what;
  auto containers = Containers::open(*medium_, format_.store, what_, options.container_bytes);
  if (!containers) return wrong(directory_, Containers::directory, containers.error());
  containers_ = std::move(*containers);
  auto registry = Registry::open(*medium_, format_.store, what_);
  if (registry)
    registry_ = std::move(*registry);
  else
    base::log_event(base::Level::error, "store_registry_lost",
                    "{}/{}: {}; nothing is sealed until it is back", directory_, Registry::name,
                    base::message_of(registry.error()));
  if (lock_) {
    auto index = Index::open(directory_ + "/" + index_name, options.index);
    if (index) index_ = std::move(*index);
  }
  chunks_ = std::make_unique<ChunkStore>(*containers_, index_.get(), *keys_, options.cache_bytes,
                                         options.compression, options.similarity);
  if (what_ == OpenFor::reading) return {};
  for (const Location& place : scrub_state().bad)
    if (place.offset != 0) chunks_->note_bad(place);
  while (!options.index_later && chunks_->index_filler().step() == IndexFiller::Step::more) {
  }
  return {};
}

base::Result<void> Store::require(std::uint64_t feature) {
  const std::scoped_lock lock(trees_);
  if ((required_ & feature) == feature) return {};
  FormatFile next = format_;
  next.required = required_ | feature;
  auto done = replace_small(*medium_, format_name, base::bytes_of(encode(next)));
  if (done) required_ = next.required;
  return done;
}

bool Store::requires_feature(std::uint64_t feature) {
  const std::scoped_lock lock(trees_);
  return (required_ & feature) == feature;
}

base::Result<void> Store::forget_tree(std::uint32_t number) {
  const std::scoped_lock lock(trees_);
  auto all = trees();
  if (!all) return base::fail(EBADMSG);
  for (Tree& tree : *all)
    if (tree.number == number) tree = {.number = number, .file_system = {}, .path = {}};
  return replace_small(*medium_, trees_name, base::bytes_of(encode(*all)));
}

std::optional<std::vector<Tree>> Store::trees() {
  const auto text = read_small(*medium_, trees_name, trees_bytes_max);
  return text ? decode_trees(base::text_of(*text)) : std::nullopt;
}

Marks Store::marks() {
  const auto text = read_small(*medium_, Marks::name, Marks::bytes_max);
  if (!text && text.error() == base::errno_of(ENOENT)) return {};
  const auto found = text ? decode_marks(base::text_of(*text)) : std::nullopt;
  if (!found) base::log_event(base::Level::warning, "store_marks_lost", "{}/{}", directory_, Marks::name);
  return found.value_or(Marks());
}

base::Result<void> Store::put_marks(const Marks& marks) {
  return replace_small(*medium_, Marks::name, base::bytes_of(encode(marks)));
}

std::vector<GoneFile> Store::gone_files() {
  const auto bytes = read_small(*medium_, GoneFile::name, GoneFile::file_bytes_max);
  if (!bytes && bytes.error() == base::errno_of(ENOENT)) return {};
  auto found = bytes ? decode_gone(format_.store, *bytes) : std::nullopt;
  if (!found) base::log_event(base::Level::warning, "store_gone_lost", "{}/{}", directory_, GoneFile::name);
  return found ? std::move(*found) : std::vector<GoneFile>();
}

base::Result<void> Store::put_gone_files(std::span<const GoneFile> files) {
  return replace_small(*medium_, GoneFile::name, encode_gone(format_.store, files));
}

ScrubState Store::scrub_state() {
  const auto text = read_small(*medium_, ScrubState::name, ScrubState::bytes_max);
  if (!text && text.error() == base::errno_of(ENOENT)) return {};
  const auto found = text ? decode_scrub(base::text_of(*text)) : std::nullopt;
  if (!found)
    base::log_event(base::Level::warning, "store_scrub_lost", "{}/{}", directory_, ScrubState::name);
  return found.value_or(ScrubState());
}

base::Result<void> Store::put_scrub_state(const ScrubState& state) {
  return replace_small(*medium_, ScrubState::name, base::bytes_of(encode(state)));
}

base::Result<std::uint32_t> Store::tree_of(const std::string& file_system, const std::string& path) {
  const std::scoped_lock lock(trees_);
  auto all = trees();
  if (!all) return base::fail(EBADMSG);
  const auto found = std::ranges::find(*all, file_system, &Tree::file_system);
  std::uint32_t number = 1;
  if (found == all->end()) {
    for (const Tree& tree : *all) number = std::max(number, tree.number + 1);
    all->push_back({number, file_system, path});
  } else {
    number = found->number;
    if (found->path == path) return number;
    found->path = path;
  }
  if (auto put = replace_small(*medium_, trees_name, base::bytes_of(encode(*all))); !put)
    return base::fail(put.error());
  return number;
}

}  // namespace braid::store
