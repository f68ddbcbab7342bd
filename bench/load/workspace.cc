#include "bench/load/workspace.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "base/unique_fd.h"
#include "bench/load/parallel.h"
#include "bench/load/random.h"

namespace braid::load {

namespace {

constexpr std::uint32_t block_bytes = base::MiB;
constexpr std::string_view data_name = "data";

}  // namespace

FileName::FileName(std::uint64_t number) {
  text_[0] = 'f';
  const auto end = std::to_chars(text_.data() + 1, text_.data() + text_.size(), number).ptr;
  length_ = static_cast<std::size_t>(end - text_.data());
}

bool Workspace::mix_has(std::initializer_list<Operation> operations) const {
  return std::ranges::any_of(options_.mix, [&](const Share& share) {
    return std::ranges::find(operations, share.operation) != operations.end();
  });
}

LoadOp<> Workspace::prepare() {
  base_ = co_await make_directory(root_, name_);
  made_base_ = true;
  directory_ = co_await make_directory(base_, "files");
  playground_ = co_await make_directory(base_, "playground");
  using enum Operation;
  if (mix_has({read, write})) co_await make_data();
  if (mix_has({getattr, lookup, access, readdirplus})) {
    co_await make_files();
    if (options_.listed_bytes > 0) co_await fill_listed();
  }
  if (mix_has({remove})) co_await make_removable();
}

LoadOp<> Workspace::attach(Protocol& other) {
  if (data_.empty()) co_return;
  co_await insist<void>(reactor_, [this, &other] { return other.open_data(base_, data_name, data_file_); });
}

LoadOp<> Workspace::detach(Protocol& other) {
  if (!data_.empty()) co_await other.close_data();
}

unsigned Workspace::width() const {
  constexpr unsigned width_max = 16;
  return std::min(width_max, protocol_.width());
}

LoadOp<Handle> Workspace::make_directory(Handle parent, std::string_view name) {
  co_return co_await insist<Handle>(reactor_, [&] { return protocol_.make_directory(parent, name); });
}

LoadOp<Handle> Workspace::make_file(Handle parent, std::string_view name) {
  co_return co_await insist<Handle>(reactor_, [&] { return protocol_.make_file(parent, name); });
}

base::Result<io::Payload, Fault> Workspace::block_of(std::uint64_t number) const {
  auto slab = pool_.acquire(io::SlabSize::large);
  if (!slab) return base::fail(Fault{"no memory for the data to write"});
  Random random(options_.seed + number);
  for (std::size_t at = 0; at < slab->bytes(); at += sizeof(std::uint64_t)) {
    const std::uint64_t word = random.next();
    std::memcpy(slab->data() + at, &word, sizeof word);
  }
  return io::Payload(io::SlabRange{std::move(*slab), 0, block_bytes});
}

base::Result<io::Payload, Fault> Workspace::copy_of(std::uint64_t number) const {
  auto slab = pool_.acquire(io::SlabSize::large);
  if (!slab) return base::fail(Fault{"no memory for the data to write"});
  const base::UniqueFd from(::open(options_.from.c_str(), O_RDONLY | O_CLOEXEC));
  const auto offset = static_cast<off_t>(number * options_.size);
  if (!from || ::pread(from.get(), slab->data(), options_.size, offset) != ssize_t{options_.size})
    return base::fail(Fault{"the file of --from cannot be read as far as --file-size says"});
  return io::Payload(io::SlabRange{std::move(*slab), 0, block_bytes});
}

base::Result<io::Payload, Fault> Workspace::fresh(std::uint64_t number) const {
  auto block = options_.from.empty() ? block_of(number) : copy_of(number);
  if (!block) return block;
  return block->slice(0, options_.size);
}

// The file that is read and written has all its blocks before the run, so that no operation meets a hole, and
// no two of them are equal; or none, with `fresh`.
LoadOp<> Workspace::make_data() {
  data_ = co_await block_of(0);
  data_file_ = co_await make_file(base_, data_name);
  co_await attach(protocol_);
  const std::uint64_t blocks = options_.fresh ? 0 : (options_.file_bytes + block_bytes - 1) / block_bytes;
  co_await for_each(reactor_, blocks, width(), [this](std::uint64_t block) { return write_block(block); });
  data_ = data_.slice(0, options_.size);
}

LoadOp<> Workspace::write_block(std::uint64_t block) {
  const std::uint64_t offset = block * block_bytes;
  const auto count =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(block_bytes, options_.file_bytes - offset));
  const io::Payload data = co_await block_of(block);
  co_await protocol_.write({offset, count}, data.slice(0, count), Stability::unstable);
}

LoadOp<> Workspace::make_files() {
  files_.resize(options_.files);
  co_await for_each(reactor_, options_.files, width(),
                    [this](std::uint64_t number) { return make_listed(number); });
}

LoadOp<> Workspace::make_listed(std::uint64_t number) {
  const FileName name(number);
  files_[number] = co_await make_file(directory_, name.text());
}

// A connection has one file open at a time.
LoadOp<> Workspace::fill_listed() {
  for (std::uint32_t number = 0; number < options_.files; ++number) {
    const FileName name(number);
    co_await insist<void>(reactor_,
                          [&] { return protocol_.open_data(directory_, name.text(), files_[number]); });
    const io::Payload data = co_await block_of(number);
    co_await protocol_.write({0, options_.listed_bytes}, data.slice(0, options_.listed_bytes),
                             Stability::unstable);
    co_await protocol_.close_data();
  }
}

LoadOp<> Workspace::make_removable() {
  co_await for_each(reactor_, options_.removable, width(),
                    [this](std::uint64_t) { return make_one_removable(); });
}

LoadOp<> Workspace::make_one_removable() {
  const std::uint64_t number = next_number();
  const FileName name(number);
  co_await make_file(playground_, name.text());
  created(number);
}

std::optional<std::uint64_t> Workspace::take_removable() {
  if (removable_.empty()) return std::nullopt;
  const std::uint64_t number = removable_.front();
  removable_.pop_front();
  return number;
}

LoadOp<> Workspace::clean_up() {
  if (!made_base_) co_return;
  co_await for_each(reactor_, removable_.size(), width(),
                    [this](std::uint64_t) { return remove_numbered(playground_, *take_removable()); });
  co_await for_each(reactor_, files_.size(), width(),
                    [this](std::uint64_t number) { return remove_numbered(directory_, number); });
  if (!data_.empty()) co_await remove(base_, data_name);
  co_await remove_directory(base_, "playground");
  co_await remove_directory(base_, "files");
  co_await remove_directory(root_, name_);
  if (not_removed_) co_await base::fail(*not_removed_);
}

LoadOp<> Workspace::remove_numbered(Handle parent, std::uint64_t number) {
  const FileName name(number);
  co_await remove(parent, name.text());
}

LoadOp<> Workspace::remove(Handle parent, std::string_view name) {
  auto done = co_await insist<Done>(reactor_, [&] { return protocol_.remove(parent, name); }).as_result();
  if (!done) not_removed_ = done.error();
}

LoadOp<> Workspace::remove_directory(Handle parent, std::string_view name) {
  auto done =
      co_await insist<void>(reactor_, [&] { return protocol_.remove_directory(parent, name); }).as_result();
  if (!done) not_removed_ = done.error();
}

}  // namespace braid::load
