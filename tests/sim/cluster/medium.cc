#include "tests/sim/cluster/medium.h"

#include <algorithm>
#include <chrono>
#include <string_view>

namespace braid::sim::cluster {
namespace {

constexpr std::size_t block_bytes = 4096;

}  // namespace

void Medium::made(const std::string& name) {
  present_.insert(name);
  if (removed_.contains(name)) came_back_(name);
}

void Medium::removed(const std::string& name) {
  present_.erase(name);
  removed_.insert(name);
}

void Medium::written(std::uint64_t file, std::uint64_t offset, std::uint64_t bytes, bool stable) {
  std::string& durable = durable_[file];
  if (!stable || lies_) return;
  const std::string& now = storage_.node(file).content;
  const std::size_t end = std::min<std::size_t>(offset + bytes, now.size());
  if (durable.size() < end) durable.resize(end);
  for (std::size_t at = offset; at < end; ++at) durable[at] = now[at];
}

void Medium::synced(std::uint64_t file) {
  const vfs::memory::Node* const node = storage_.get(file);
  if (node != nullptr && !lies_) durable_[file] = node->content;
}

void Medium::cut(std::uint64_t file) {
  const auto found = durable_.find(file);
  if (found != durable_.end()) found->second.resize(storage_.node(file).content.size());
}

void Medium::lose(Random random) {
  for (auto& [file, durable] : durable_) {
    vfs::memory::Node* const node = storage_.get(file);
    if (node == nullptr) continue;
    std::string left = std::move(node->content);
    const std::size_t size = random.percent(50) ? durable.size() : std::max(left.size(), durable.size());
    left.resize(size);
    durable.resize(std::max(durable.size(), size));
    for (std::size_t at = 0; at < size; at += block_bytes) {
      const std::size_t bytes = std::min(block_bytes, size - at);
      if (left.compare(at, bytes, durable, at, bytes) == 0) continue;
      if (random.percent(50)) left.replace(at, bytes, durable, at, bytes);
    }
    durable = left;
    node->attributes.size = node->attributes.space = left.size();
    node->content = std::move(left);
  }
}

vfs::VfsOp<> MediumDoor::before(vfs::memory::Call call) {
  constexpr std::uint64_t slow_percent = 15;
  if (delays_.percent(slow_percent))
    co_await scheduler_.sleep(delays_.between(base::Duration(std::chrono::microseconds(10)), delay_max_));
  if (shut_) co_await base::fail(vfs::Error::io);
  if (call.operation == "commit") medium_.synced(call.fileid);
}

void MediumDoor::changed(const vfs::memory::Call& call) {
  const std::string_view what = call.operation;
  if (what == "open_create") medium_.made(std::string(call.name));
  if (what == "remove") medium_.removed(std::string(call.name));
  if (what == "setattr") medium_.cut(call.fileid);
  if (what == "write")
    medium_.written(call.fileid, call.offset, call.count, call.stability != vfs::Stability::unstable);
  if (what == "allocate") medium_.written(call.fileid, call.offset, call.count, false);
}

}  // namespace braid::sim::cluster
