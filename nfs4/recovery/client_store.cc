#include "nfs4/recovery/client_store.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

#include "nfs4/recovery/fields.h"

namespace braid::nfs4::recovery {
namespace {

constexpr std::string_view epochs_magic = "BraidEp2", epochs_magic_1 = "BraidEp1";
constexpr std::string_view record_magic = "BraidCl2", record_magic_1 = "BraidCl1";
constexpr std::string_view held_magic = "BraidHd1";
constexpr const char* epochs_name = "epochs";
constexpr const char* held_name = "held";
constexpr const char* lock_name = "lock";
constexpr std::string_view record_prefix = "client-";
constexpr std::string_view new_suffix = ".new";
constexpr std::size_t file_bytes_max = 4096;  // the longest owner has 1024
constexpr std::uint32_t held_clients_max = 100'000;
constexpr std::size_t held_bytes_max = 64 + 28 * std::size_t{held_clients_max};

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

base::Result<base::Bytes> read_file(int directory, const char* name, std::size_t bytes_max = file_bytes_max) {
  const base::UniqueFd file(::openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file) return base::fail(base::last_errno());
  base::Bytes content(bytes_max);
  std::size_t filled = 0;
  while (filled < content.size()) {
    const ssize_t n = ::read(file.get(), content.data() + filled, content.size() - filled);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return base::fail(base::last_errno());
    if (n == 0) break;
    filled += static_cast<std::size_t>(n);
  }
  content.resize(filled);
  return content;
}

base::Result<void> write_all(int fd, base::BytesView content) {
  while (!content.empty()) {
    const ssize_t n = ::write(fd, content.data(), content.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return base::fail(base::last_errno());
    content = content.subspan(static_cast<std::size_t>(n));
  }
  return {};
}

struct Record {
  std::uint32_t epoch = 0;
  state::KnownClient client;
};

bool begins_with(base::BytesView content, std::string_view magic) {
  return base::text_of(content).starts_with(magic);
}

std::uint64_t number_of(const state::Verifier& verifier) {
  std::uint64_t out = 0;
  for (const std::byte byte : verifier) out = (out << 8U) | std::to_integer<std::uint64_t>(byte);
  return out;
}

state::Verifier verifier_of(std::uint64_t number) {
  state::Verifier out{};
  for (std::size_t i = out.size(); i > 0; number >>= 8U) out[--i] = static_cast<std::byte>(number);
  return out;
}

std::optional<Record> parse_record(base::BytesView content) {
  const bool first_version = begins_with(content, record_magic_1);
  FieldReader in(content, first_version ? record_magic_1 : record_magic);
  Record out;
  out.epoch = in.u32();
  out.client.minor_version = in.u32();
  (void)in.u64();  // the instance: of use within a run only
  if (!first_version) out.client.verifier = verifier_of(in.u64());
  out.client.owner = in.bytes();
  if (!in.at_end()) return std::nullopt;
  return out;
}

}  // namespace

base::Result<std::unique_ptr<ClientStore>> ClientStore::open(const std::string& directory) {
  if (::mkdir(directory.c_str(), S_IRWXU) != 0 && errno != EEXIST) return base::fail(base::last_errno());
  std::unique_ptr<ClientStore> store(new ClientStore());
  store->directory_ = base::UniqueFd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!store->directory_) return base::fail(base::last_errno());
  store->lock_ = base::UniqueFd(
      ::openat(store->directory_.get(), lock_name, O_RDWR | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!store->lock_) return base::fail(base::last_errno());
  if (::flock(store->lock_.get(), LOCK_EX | LOCK_NB) != 0)
    return base::fail(errno == EWOULDBLOCK ? EBUSY : errno);
  struct stat lock{};
  if (::fstat(store->lock_.get(), &lock) == 0)
    store->watched_until_ = vfs::Time{lock.st_mtim.tv_sec, static_cast<std::uint32_t>(lock.st_mtim.tv_nsec)};
  if (auto begun = store->begin_epoch(); !begun) return base::fail(begun.error());
  return store;
}

// proc(5): ORDINAL: FLOCK ADVISORY WRITE PID MAJOR:MINOR:INODE 0 EOF. What waits for a lock has an arrow
// behind the ordinal.
std::optional<int> ClientStore::user_of(const std::string& directory) {
  struct stat lock{};
  if (::stat(fmt::format("{}/{}", directory, lock_name).c_str(), &lock) != 0) return std::nullopt;
  const std::string wanted =
      fmt::format("{:02x}:{:02x}:{}", major(lock.st_dev), minor(lock.st_dev), lock.st_ino);
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    std::istringstream in(line);
    std::string ordinal, kind, advisory, type, file;
    int process = 0;
    if (in >> ordinal >> kind >> advisory >> type >> process >> file && kind == "FLOCK" && file == wanted)
      return process > 0 ? std::optional(process) : std::nullopt;
  }
  return std::nullopt;
}

base::Result<void> ClientStore::note_watching() {
  if (::futimens(lock_.get(), nullptr) != 0) return base::fail(base::last_errno());
  return {};
}

base::Result<void> ClientStore::begin_epoch() {
  Epochs before;
  if (const auto content = read_file(directory_.get(), epochs_name)) {
    FieldReader in(*content, begins_with(*content, epochs_magic_1) ? epochs_magic_1 : epochs_magic);
    before.epoch = in.u32();
    before.reclaim_from = in.u32();
    before.key = {in.u64(), in.u64()};
    if (!in.at_end()) return base::fail(EBADMSG);
  } else if (content.error() == base::errno_of(ENOENT)) {
    // A directory that was lost and made anew must not bring back epochs that clients have seen.
    before.key = base::random_sip_key();
    before.epoch = static_cast<std::uint32_t>(base::random_sip_key()[0]);
    before.reclaim_from = before.epoch;
  } else {
    return base::fail(content.error());
  }
  epochs_ = before;
  load_held();
  if (auto loaded = load_records(); !loaded) return loaded;
  held_.clear();
  epochs_.epoch = std::max<std::uint32_t>(before.epoch + 1, 1);
  // Without clients that might reclaim there is no grace period to end.
  if (known_.empty()) epochs_.reclaim_from = epochs_.epoch;
  return write_epochs(epochs_);
}

std::string ClientStore::server_id() const {
  return fmt::format("braid-{:016x}", base::siphash24(epochs_.key, base::bytes_of("server")));
}

base::Result<void> ClientStore::load_records() {
  const int fd = ::openat(directory_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return base::fail(base::last_errno());
  const std::unique_ptr<DIR, CloseDirectory> listing(::fdopendir(fd));
  if (!listing) return base::fail(base::last_errno());
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(listing.get())) names.emplace_back(entry->d_name);
  for (const std::string& name : names) {
    // Left over from a crash between writing and renaming.
    if (name.ends_with(new_suffix))
      (void)::unlinkat(directory_.get(), name.c_str(), 0);
    else if (name.starts_with(record_prefix))
      load_record(name);
  }
  return {};
}

void ClientStore::load_record(const std::string& name) {
  const auto content = read_file(directory_.get(), name.c_str());
  std::optional<Record> record;
  if (content) record = parse_record(*content);
  if (!record) ++damaged_;
  earlier_.push_back(name);
  // Epochs are numbers on a circle, like everything that is counted in 32 bits.
  if (!record || static_cast<std::int32_t>(record->epoch - epochs_.reclaim_from) < 0) return;
  if (const auto held = held_.find(hashes_of(record->client)); held != held_.end())
    record->client.held = held->second;
  known_.push_back(std::move(record->client));
}

// What is damaged, or of a run before the last one, says nothing: the clients are waited for.
void ClientStore::load_held() {
  const auto content = read_file(directory_.get(), held_name, held_bytes_max);
  if (!content) return;
  FieldReader in(*content, held_magic);
  if (in.u32() != epochs_.epoch) return;
  const std::uint32_t count = std::min(in.u32(), held_clients_max);
  std::map<NameHashes, state::Held> held;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint64_t first = in.u64(), second = in.u64();
    const std::uint32_t states = in.u32();
    held.insert_or_assign(NameHashes{first, second}, state::Held{.states = states, .sum = in.u64()});
  }
  if (in.at_end()) held_ = std::move(held);
}

base::Result<void> ClientStore::note_held(std::span<const state::KnownClient> clients) {
  const std::scoped_lock lock(mutex_);
  clients = clients.first(std::min<std::size_t>(clients.size(), held_clients_max));
  FieldWriter out(held_magic);
  out.u32(epochs_.epoch);
  out.u32(static_cast<std::uint32_t>(clients.size()));
  for (const state::KnownClient& client : clients) {
    for (const std::uint64_t hash : hashes_of(client)) out.u64(hash);
    out.u32(client.held->states);
    out.u64(client.held->sum);
  }
  return replace_file(held_name, out.finish());
}

ClientStore::NameHashes ClientStore::hashes_of(const state::KnownClient& client) const {
  base::Bytes text(client.owner);
  text.push_back(static_cast<std::byte>(client.minor_version));
  const base::SipKey other{epochs_.key[1], epochs_.key[0]};
  return {base::siphash24(epochs_.key, text), base::siphash24(other, text)};
}

std::string ClientStore::file_of(const state::KnownClient& client) const {
  const NameHashes hashes = hashes_of(client);
  return fmt::format("{}{:016x}{:016x}", record_prefix, hashes[0], hashes[1]);
}

ClientStore::Group ClientStore::group_of(std::span<const RecordChange> changes) const {
  Group out;
  for (const RecordChange& change : changes) {
    std::string name = file_of(change.client);
    std::optional<std::uint64_t> instance;  // that has the record until this
    if (const auto found = current_.find(name); found != current_.end()) instance = found->second;
    if (const auto earlier = out.find(name); earlier != out.end()) {
      instance.reset();
      if (earlier->second->what == RecordChange::What::record) instance = earlier->second->instance;
    }
    const bool of_another = instance && *instance != change.instance;
    if (change.what == RecordChange::What::record || !of_another) out[std::move(name)] = &change;
  }
  return out;
}

base::Bytes ClientStore::content_of(const RecordChange& change) const {
  FieldWriter out(record_magic);
  out.u32(epochs_.epoch);
  out.u32(change.client.minor_version);
  out.u64(change.instance);
  out.u64(number_of(change.client.verifier.value_or(state::Verifier{})));
  out.bytes(change.client.owner);
  return out.finish();
}

// All files are on their way to the medium before the first one is waited for: so a file system commits most
// of them together.
base::Result<void> ClientStore::write_group(const Group& group) {
  std::vector<base::UniqueFd> files;
  for (const auto& [name, change] : group) {
    if (change->what != RecordChange::What::record) continue;
    auto file = write_fresh(name, content_of(*change));
    if (!file) return base::fail(file.error());
    (void)::sync_file_range(file->get(), 0, 0, SYNC_FILE_RANGE_WRITE);
    files.push_back(std::move(*file));
  }
  for (const base::UniqueFd& file : files)
    if (::fsync(file.get()) != 0) return base::fail(base::last_errno());
  for (const auto& [name, change] : group) {
    const bool records = change->what == RecordChange::What::record;
    if (auto done = records ? put_fresh_in_place(name) : remove_file(name); !done) return done;
  }
  if (::fsync(directory_.get()) != 0) return base::fail(base::last_errno());
  return {};
}

base::Result<void> ClientStore::apply(std::span<const RecordChange> changes) {
  constexpr std::size_t files_max = 64;  // that are open at a time
  const std::scoped_lock lock(mutex_);
  for (; !changes.empty(); changes = changes.subspan(std::min(files_max, changes.size()))) {
    const Group group = group_of(changes.first(std::min(files_max, changes.size())));
    if (group.empty()) continue;
    if (auto written = write_group(group); !written) return written;
    for (const auto& [name, change] : group) {
      if (change->what == RecordChange::What::record)
        current_[name] = change->instance;
      else
        current_.erase(name);
      std::erase(earlier_, name);
    }
  }
  return {};
}

base::Result<void> ClientStore::end_grace() {
  const std::scoped_lock lock(mutex_);
  Epochs ended = epochs_;
  ended.reclaim_from = ended.epoch;
  if (auto written = write_epochs(ended); !written) return written;
  epochs_.reclaim_from = ended.reclaim_from;
  // They count no more; that they go is mere tidiness.
  for (const std::string& name : std::exchange(earlier_, {})) [[maybe_unused]]
    const auto removed = remove_file(name);
  return {};
}

base::Result<void> ClientStore::write_epochs(const Epochs& epochs) {
  FieldWriter out(epochs_magic);
  out.u32(epochs.epoch);
  out.u32(epochs.reclaim_from);
  out.u64(epochs.key[0]);
  out.u64(epochs.key[1]);
  return replace_file(epochs_name, out.finish());
}

base::Result<base::UniqueFd> ClientStore::write_fresh(const std::string& name,
                                                      base::BytesView content) const {
  const std::string fresh = name + std::string(new_suffix);
  base::UniqueFd file(::openat(directory_.get(), fresh.c_str(),
                               O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR));
  if (!file) return base::fail(base::last_errno());
  if (auto written = write_all(file.get(), content); !written) return base::fail(written.error());
  return file;
}

base::Result<void> ClientStore::put_fresh_in_place(const std::string& name) const {
  const std::string fresh = name + std::string(new_suffix);
  if (::renameat(directory_.get(), fresh.c_str(), directory_.get(), name.c_str()) != 0)
    return base::fail(base::last_errno());
  return {};
}

base::Result<void> ClientStore::replace_file(const std::string& name, base::BytesView content) {
  const auto file = write_fresh(name, content);
  if (!file) return base::fail(file.error());
  if (::fsync(file->get()) != 0) return base::fail(base::last_errno());
  if (auto placed = put_fresh_in_place(name); !placed) return placed;
  if (::fsync(directory_.get()) != 0) return base::fail(base::last_errno());
  return {};
}

base::Result<void> ClientStore::remove_file(const std::string& name) {
  if (::unlinkat(directory_.get(), name.c_str(), 0) != 0 && errno != ENOENT)
    return base::fail(base::last_errno());
  return {};
}

}  // namespace braid::nfs4::recovery
