#include "bench/load/workspace.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "bench/load/parallel.h"
#include "bench/load/random.h"

namespace braid::load {

namespace {

using nfs3::NFS_V3_procedure;

constexpr unsigned width = 16;  // calls at a time while preparing and cleaning up
constexpr std::uint32_t block_bytes = base::MiB;

nfs3::sattr3 attributes_with_mode(std::uint32_t mode) {
  nfs3::sattr3 attributes;
  attributes.mode = nfs3::set_mode3::with_mode(mode);
  return attributes;
}

// CREATE and MKDIR may leave out the handle; servers that do would need a LOOKUP, and none is known.
template <class Resok>
base::Result<Done, Fault> take_handle(const Resok& resok, Handle& to) {
  if (resok.obj.handle() == nullptr) return base::fail(Fault{"a new file without a handle"});
  to = Handle(resok.obj.handle()->data);
  return Done{};
}

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

LoadOp<> Workspace::prepare(io::SlabPool& pool) {
  base_ = co_await make_directory(root_, name_);
  made_base_ = true;
  directory_ = co_await make_directory(base_, "files");
  playground_ = co_await make_directory(base_, "playground");
  using enum Operation;
  if (mix_has({read, write})) co_await make_data(pool);
  if (mix_has({getattr, lookup, access, readdirplus})) co_await make_files();
  if (mix_has({remove})) co_await make_removable();
}

LoadOp<Handle> Workspace::make_directory(Handle parent, std::string_view name) {
  Handle made;
  const nfs3::MKDIR3args args{.where = {.dir = parent.wire(), .name = name},
                              .attributes = attributes_with_mode(0755)};
  co_await session_.call<nfs3::MKDIR3res>(NFS_V3_procedure::NFSPROC3_MKDIR, args,
                                          [&made](const auto& resok) { return take_handle(resok, made); });
  co_return made;
}

LoadOp<Handle> Workspace::make_file(Handle parent, std::string_view name) {
  Handle made;
  const nfs3::CREATE3args args{
      .where = {.dir = parent.wire(), .name = name},
      .how = nfs3::createhow3::with_obj_attributes(nfs3::createmode3::GUARDED, attributes_with_mode(0644))};
  co_await session_.call<nfs3::CREATE3res>(NFS_V3_procedure::NFSPROC3_CREATE, args,
                                           [&made](const auto& resok) { return take_handle(resok, made); });
  co_return made;
}

// The file that is read and written has all its blocks before the run, so that no operation meets a hole.
LoadOp<> Workspace::make_data(io::SlabPool& pool) {
  auto slab = pool.acquire(io::SlabSize::large);
  if (!slab) co_await base::fail(Fault{"no memory for the data to write"});
  Random random(options_.seed);
  for (std::size_t at = 0; at < slab->bytes(); at += sizeof(std::uint64_t)) {
    const std::uint64_t word = random.next();
    std::memcpy(slab->data() + at, &word, sizeof word);
  }
  data_ = io::Payload(io::SlabRange{std::move(*slab), 0, block_bytes});
  data_file_ = co_await make_file(base_, "data");
  const std::uint64_t blocks = (options_.file_bytes + block_bytes - 1) / block_bytes;
  co_await for_each(session_.reactor(), blocks, width,
                    [this](std::uint64_t block) { return write_block(block); });
  data_ = data_.slice(0, options_.size);
}

LoadOp<> Workspace::write_block(std::uint64_t block) {
  const std::uint64_t offset = block * block_bytes;
  const auto count =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(block_bytes, options_.file_bytes - offset));
  const nfs3::WRITE3args args{.file = data_file_.wire(),
                              .offset = offset,
                              .count = count,
                              .stable = nfs3::stable_how::UNSTABLE,
                              .data = data_.slice(0, count)};
  co_await session_.call<nfs3::WRITE3res>(NFS_V3_procedure::NFSPROC3_WRITE, args);
}

LoadOp<> Workspace::make_files() {
  files_.resize(options_.files);
  co_await for_each(session_.reactor(), options_.files, width,
                    [this](std::uint64_t number) { return make_listed(number); });
}

LoadOp<> Workspace::make_listed(std::uint64_t number) {
  const FileName name(number);
  files_[number] = co_await make_file(directory_, name.text());
}

LoadOp<> Workspace::make_removable() {
  co_await for_each(session_.reactor(), options_.removable, width,
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
  co_await for_each(session_.reactor(), removable_.size(), width,
                    [this](std::uint64_t) { return remove_numbered(playground_, *take_removable()); });
  co_await for_each(session_.reactor(), files_.size(), width,
                    [this](std::uint64_t number) { return remove_numbered(directory_, number); });
  if (!data_.empty()) co_await remove(base_, "data");
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
  const nfs3::REMOVE3args args{.object = {.dir = parent.wire(), .name = name}};
  auto done = co_await session_.call<nfs3::REMOVE3res>(NFS_V3_procedure::NFSPROC3_REMOVE, args).as_result();
  if (!done) not_removed_ = done.error();
}

LoadOp<> Workspace::remove_directory(Handle parent, std::string_view name) {
  const nfs3::RMDIR3args args{.object = {.dir = parent.wire(), .name = name}};
  auto done = co_await session_.call<nfs3::RMDIR3res>(NFS_V3_procedure::NFSPROC3_RMDIR, args).as_result();
  if (!done) not_removed_ = done.error();
}

}  // namespace braid::load
