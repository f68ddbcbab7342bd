#include "vfs/memory/recorder.h"

namespace braid::vfs::memory {
namespace {

std::string name_of(const Call& call) {
  if (call.operation == "rename") return std::string(call.name) + " -> " + std::string(call.to_name);
  if (call.operation == "commit") return std::to_string(call.offset) + "+" + std::to_string(call.count);
  return std::string(call.name);
}

}  // namespace

void Recorder::fail(std::string_view operation, std::optional<Error> error) {
  if (error)
    failures_.insert_or_assign(std::string(operation), *error);
  else
    failures_.erase(std::string(operation));
}

void Recorder::resume_one() {
  const auto handle = parked_.front();
  parked_.erase(parked_.begin());
  io::ReadyQueue::current().push(io::ReadyItem::of(handle));
}

VfsOp<> Recorder::before(Call call) {
  calls.push_back(
      {std::string(call.operation), call.who == nullptr ? Credentials{} : *call.who, name_of(call)});
  std::optional<Error> error;
  const auto found = failures_.find(call.operation);
  if (found != failures_.end()) error = found->second;
  const bool reads_only = read_only || (call.who != nullptr && call.who->read_only);
  if (call.changes && reads_only) error = Error::rofs;
  co_await Park{*this};
  if (error) co_await base::fail(*error);
}

}  // namespace braid::vfs::memory
