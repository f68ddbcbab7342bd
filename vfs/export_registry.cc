#include "vfs/export_registry.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

namespace braid::vfs {
namespace {

constexpr std::string_view first_line = "braid-exports 2";
constexpr std::string_view first_line_1 = "braid-exports 1";
constexpr const char* registry_file = "exports";
constexpr const char* new_file = "exports.new";
constexpr std::size_t file_bytes_max = std::size_t{16} * 1024 * 1024;

// Paths may hold anything but NUL: blanks, control characters and backslashes become \ooo, as in
// /proc/mounts.
std::string escaped(std::string_view path) {
  std::string out;
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte <= ' ' || byte == 0x7f || c == '\\')
      out += fmt::format("\\{:03o}", byte);
    else
      out += c;
  }
  return out;
}

std::optional<std::string> unescaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      out += text[i];
      continue;
    }
    unsigned byte = 0;
    if (text.size() - i < 4) return std::nullopt;
    const auto [end, error] = std::from_chars(text.data() + i + 1, text.data() + i + 4, byte, 8);
    if (error != std::errc() || end != text.data() + i + 4 || byte > 0xff) return std::nullopt;
    out += static_cast<char>(byte);
    i += 3;
  }
  return out;
}

// A dash for what version 1 did not say.
std::string kept_text(std::string_view text) { return text.empty() ? "-" : escaped(text); }

template <class T>
bool parse_hex(std::string_view text, T& out) {
  if (text.size() != 2 * sizeof(T)) return false;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out, 16);
  return error == std::errc() && end == text.data() + text.size();
}

// Cuts the text up to `separator` off the front of `rest`.
std::string_view cut(std::string_view& rest, char separator) {
  const std::size_t at = rest.find(separator);
  const std::string_view front = rest.substr(0, at);
  rest.remove_prefix(at == rest.npos ? rest.size() : at + 1);
  return front;
}

base::Result<std::string> read_all(int fd) {
  std::string text;
  for (;;) {
    char buffer[4096];
    const ssize_t got = ::read(fd, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return base::fail(base::last_errno());
    if (got == 0) return text;
    text.append(buffer, static_cast<std::size_t>(got));
    if (text.size() > file_bytes_max) return base::fail(EBADMSG);
  }
}

base::Result<void> write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t put = ::write(fd, text.data(), text.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return base::fail(base::last_errno());
    text.remove_prefix(static_cast<std::size_t>(put));
  }
  return {};
}

}  // namespace

base::Result<ExportRegistry> ExportRegistry::open(const std::string& directory) {
  if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) return base::fail(base::last_errno());
  base::UniqueFd fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return base::fail(base::last_errno());
  return ExportRegistry(std::move(fd));
}

template <class F>
base::Result<Registration> ExportRegistry::with_file(F work) {
  if (!directory_) return work();
  // Several servers may share a state directory.
  if (::flock(directory_.get(), LOCK_EX) != 0) return base::fail(base::last_errno());
  auto loaded = load();
  base::Result<Registration> done = loaded ? work() : base::fail(loaded.error());
  ::flock(directory_.get(), LOCK_UN);
  return done;
}

base::Result<Registration> ExportRegistry::look_up(std::string_view export_path, std::string_view directory,
                                                   const DirectoryIdentity* found) {
  return with_file([&] { return find_or_add(export_path, directory, found); });
}

base::Result<Registration> ExportRegistry::reserve(std::string_view export_path, std::string_view directory) {
  return with_file([&]() -> base::Result<Registration> {
    if (const Entry* known = entry_of(export_path)) return Registration{known->identity, known->kept, false};
    auto reserved = put(export_path, directory, new_identity(), {});
    if (reserved) reserved->in_place = false;
    return reserved;
  });
}

base::Result<Registration> ExportRegistry::accept(std::string_view export_path, std::string_view directory,
                                                  const DirectoryIdentity& found) {
  return with_file([&] {
    const Entry* entry = entry_of(export_path);
    const bool same = entry != nullptr && entry->kept.names(found);
    return put(export_path, directory, same ? entry->identity : new_identity(), found);
  });
}

const ExportRegistry::Entry* ExportRegistry::entry_of(std::string_view export_path) const {
  const auto entry = std::ranges::find(entries_, export_path, &Entry::export_path);
  return entry == entries_.end() ? nullptr : &*entry;
}

base::Result<Registration> ExportRegistry::find_or_add(std::string_view export_path,
                                                       std::string_view directory,
                                                       const DirectoryIdentity* found) {
  const Entry* entry = entry_of(export_path);
  const bool same_path = entry != nullptr && entry->directory == directory;
  if (found == nullptr) {
    if (!same_path) return base::fail(ENOENT);
    return Registration{entry->identity, entry->kept, false};
  }
  if (entry == nullptr) return put(export_path, directory, new_identity(), *found);
  // Version 1 knew the path only, and so does who has reserved it.
  const bool unbound = entry->kept.file_system.empty() && same_path;
  if (unbound || entry->kept.names(*found)) return put(export_path, directory, entry->identity, *found);
  const bool lasting = entry->kept.lasting() || found->lasting();
  if (same_path && lasting) return Registration{entry->identity, entry->kept, false};
  return put(export_path, directory, new_identity(), *found);
}

base::Result<Registration> ExportRegistry::put(std::string_view export_path, std::string_view directory,
                                               const ExportIdentity& identity,
                                               const DirectoryIdentity& found) {
  auto entry = std::ranges::find(entries_, export_path, &Entry::export_path);
  if (entry == entries_.end()) entry = entries_.emplace(entries_.end());
  const bool changes = entry->identity.id != identity.id || entry->directory != directory ||
                       entry->kept.file_system != found.file_system ||
                       entry->kept.directory != found.directory;
  *entry = {identity, std::string(export_path), std::string(directory), found};
  if (directory_ && changes)
    if (auto saved = save(); !saved) return base::fail(saved.error());
  return Registration{identity, found, true};
}

ExportId ExportRegistry::unused_id() const {
  for (;;) {
    const ExportId id(static_cast<std::uint32_t>(base::random_sip_key()[0]));
    if (id.value() != 0 &&
        std::ranges::none_of(entries_, [&](const Entry& e) { return e.identity.id == id; }))
      return id;
  }
}

base::Result<void> ExportRegistry::load() {
  const base::UniqueFd fd(::openat(directory_.get(), registry_file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd) {
    entries_.clear();
    if (errno == ENOENT) return {};
    return base::fail(base::last_errno());
  }
  auto text = read_all(fd.get());
  if (!text) return base::fail(text.error());
  auto entries = parse(*text);
  if (!entries) return base::fail(entries.error());
  entries_ = std::move(*entries);
  return {};
}

base::Result<ExportRegistry::Entry> ExportRegistry::parse_entry(std::string_view line, int version) {
  Entry entry;
  std::uint32_t id = 0;
  const std::string_view id_text = cut(line, ' ');
  const std::string_view key_text = cut(line, ' ');
  const auto export_path = unescaped(cut(line, ' '));
  const auto directory = unescaped(version == 1 ? std::exchange(line, {}) : cut(line, ' '));
  const auto file_system = unescaped(cut(line, ' '));
  const auto kept = unescaped(line);
  if (!parse_hex(id_text, id) || key_text.size() != 32 ||
      !parse_hex(key_text.substr(0, 16), entry.identity.key[0]) ||
      !parse_hex(key_text.substr(16), entry.identity.key[1]) || !export_path || !directory || !file_system ||
      !kept || (version > 1 && (file_system->empty() || kept->empty())))
    return base::fail(EBADMSG);
  entry.identity.id = ExportId(id);
  entry.export_path = *export_path;
  entry.directory = *directory;
  if (*file_system != "-") entry.kept = {*file_system, *kept, {}};
  return entry;
}

base::Result<std::vector<ExportRegistry::Entry>> ExportRegistry::parse(std::string_view text) {
  std::vector<Entry> entries;
  const std::string_view first = cut(text, '\n');
  const int version = first == first_line ? 2 : first == first_line_1 ? 1 : 0;
  if (version == 0) return base::fail(EBADMSG);
  for (;;) {
    const std::string_view line = cut(text, '\n');
    // The last line proves that nothing was cut off.
    if (line == fmt::format("end {}", entries.size()) && text.empty()) return entries;
    auto entry = parse_entry(line, version);
    if (!entry) return base::fail(entry.error());
    entries.push_back(std::move(*entry));
  }
}

// A crash leaves the old file or the new one, never a mixture.
base::Result<void> ExportRegistry::save() const {
  std::string text = fmt::format("{}\n", first_line);
  // What version 1 left is upgraded when its export is served.
  for (const Entry& entry : entries_)
    text +=
        fmt::format("{:08x} {:016x}{:016x} {} {} {} {}\n", entry.identity.id.value(), entry.identity.key[0],
                    entry.identity.key[1], escaped(entry.export_path), escaped(entry.directory),
                    kept_text(entry.kept.file_system), kept_text(entry.kept.directory));
  text += fmt::format("end {}\n", entries_.size());
  ::unlinkat(directory_.get(), new_file, 0);
  const base::UniqueFd fd(
      ::openat(directory_.get(), new_file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!fd) return base::fail(base::last_errno());
  if (auto written = write_all(fd.get(), text); !written) return written;
  if (::fsync(fd.get()) != 0 ||
      ::renameat(directory_.get(), new_file, directory_.get(), registry_file) != 0 ||
      ::fsync(directory_.get()) != 0)
    return base::fail(base::last_errno());
  return {};
}

}  // namespace braid::vfs
