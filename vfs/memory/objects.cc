#include "vfs/memory/objects.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "vfs/memory/bytes.h"

namespace braid::vfs::memory {
namespace {

constexpr Verifier verifier{{std::byte{0x0b}, std::byte{0x1e}}};

void append(base::Bytes& out, std::uint64_t number) {
  for (unsigned shift = 64; shift > 0; shift -= 8)
    out.push_back(static_cast<std::byte>(number >> (shift - 8) & 0xffU));
}

std::uint64_t number_at(base::BytesView bytes, std::size_t at) {
  std::uint64_t out = 0;
  for (const std::byte byte : bytes.subspan(at, sizeof out))
    out = out << 8U | std::to_integer<std::uint64_t>(byte);
  return out;
}

}  // namespace

std::uint64_t Objects::add(Object object) {
  objects_.emplace(++last_id_, std::move(object));
  return last_id_;
}

Object* Objects::get(std::uint64_t id) {
  const auto found = objects_.find(id);
  return found == objects_.end() ? nullptr : &found->second;
}

void Objects::erase(std::uint64_t id) {
  objects_.erase(id);
  removals_.erase(id);
}

class ObjectSource::ObjectContent final : public Content {
 public:
  ObjectContent(ObjectSource& source, std::uint64_t id) : source_(source), id_(id) {}
  [[nodiscard]] std::uint64_t id() const { return id_; }
  [[nodiscard]] ContentSource& source() const override { return source_; }
  VfsOp<ReadResult> read(Stub& stub, std::uint64_t offset, std::uint32_t count, ReadMemory memory) override;
  VfsOp<WriteResult> write(Stub& stub, const Credentials& who, std::uint64_t offset, const io::Payload& data,
                           Stability stability) override;
  VfsOp<Verifier> commit(Stub& stub, const Credentials& who, std::uint64_t offset,
                         std::uint32_t count) override;
  [[nodiscard]] Verifier write_verifier(const Verifier& /*own*/) const override { return verifier; }
  VfsOp<> resize(Stub& stub, const Credentials& who, std::uint64_t size) override;
  [[nodiscard]] bool unsettled() const override;
  VfsOp<> settle(Stub& stub) override;
  void adjust(Attributes& attributes) const override;

 private:
  // io: somebody has erased it.
  base::Result<Object*, Error> object();
  // What the object has is what the inode says.
  static VfsOp<> tell(Object& object, Stub& stub);

  ObjectSource& source_;
  const std::uint64_t id_;
};

base::Result<Object*, Error> ObjectSource::ObjectContent::object() {
  Object* const found = source_.objects_.get(id_);
  if (found == nullptr) return base::fail(Error::io);
  return found;
}

VfsOp<ReadResult> ObjectSource::ObjectContent::read(Stub& /*stub*/, std::uint64_t offset, std::uint32_t count,
                                                    ReadMemory memory) {
  co_await source_.before("content_read", false);
  const std::string& bytes = (co_await object())->bytes;
  const std::size_t from = std::min<std::uint64_t>(offset, bytes.size());
  const std::size_t take = std::min<std::size_t>(count, bytes.size() - from);
  ReadResult out;
  if (!memory::append(out.data, std::string_view(bytes).substr(from, take), memory.cursor))
    co_await base::fail(Error::delay);
  out.eof = from + take == bytes.size();
  co_return out;
}

VfsOp<WriteResult> ObjectSource::ObjectContent::write(Stub& /*stub*/, const Credentials& /*who*/,
                                                      std::uint64_t offset, const io::Payload& data,
                                                      Stability stability) {
  co_await source_.before("content_write", true);
  Object& at = *co_await object();
  const auto count = static_cast<std::uint32_t>(data.size());
  if (!put(at.bytes, offset, data, count)) co_await base::fail(Error::fbig);
  at.unsettled = true;
  co_return WriteResult{count, stability, verifier};
}

VfsOp<Verifier> ObjectSource::ObjectContent::commit(Stub& /*stub*/, const Credentials& /*who*/,
                                                    std::uint64_t /*offset*/, std::uint32_t /*count*/) {
  co_await source_.before("content_commit", false);
  (void)co_await object();
  co_return verifier;
}

VfsOp<> ObjectSource::ObjectContent::tell(Object& object, Stub& stub) {
  SetAttributes set;
  set.size = object.bytes.size();
  set.mtime.how = SetTime::How::server;
  object.unsettled = false;
  return stub.put_size_and_times(set);
}

VfsOp<> ObjectSource::ObjectContent::resize(Stub& stub, const Credentials& /*who*/, std::uint64_t size) {
  co_await source_.before("content_resize", true);
  Object& at = *co_await object();
  if (size > Storage::file_bytes_max) co_await base::fail(Error::fbig);
  at.bytes.resize(size);
  co_await tell(at, stub);
}

bool ObjectSource::ObjectContent::unsettled() const {
  const Object* const found = source_.objects_.get(id_);
  return found != nullptr && found->unsettled;
}

VfsOp<> ObjectSource::ObjectContent::settle(Stub& stub) {
  co_await source_.before("content_settle", true);
  Object& at = *co_await object();
  if (at.unsettled) co_await tell(at, stub);
}

void ObjectSource::ObjectContent::adjust(Attributes& attributes) const {
  const Object* const found = source_.objects_.get(id_);
  if (found != nullptr) attributes.space = found->bytes.size();
}

VfsOp<> ObjectSource::before(std::string_view operation, bool changes) {
  Call call;
  call.operation = operation;
  call.changes = changes;
  return hooks_.before(call);
}

std::uint64_t ObjectSource::id_of(const Content& content) {
  return static_cast<const ObjectContent&>(content).id();
}

VfsOp<ContentRef> ObjectSource::load(Stub& stub, base::BytesView record) {
  co_await before("content_load", false);
  if (record.size() != 2 * sizeof(std::uint64_t)) co_await base::fail(Error::io);
  const std::uint64_t id = number_at(record, 0);
  if (number_at(record, sizeof id) != stub.fileid() || objects_.get(id) == nullptr)
    co_await base::fail(Error::io);
  co_return std::make_shared<ObjectContent>(*this, id);
}

VfsOp<ContentRef> ObjectSource::place(Stub& stub, const ContentRef& former, const PlacementHint& /*hint*/) {
  co_await before("content_place", true);
  Object fresh;
  if (former != nullptr) {
    const Object* const old = objects_.get(id_of(*former));
    if (old == nullptr) co_await base::fail(Error::io);
    fresh = *old;
  } else {
    const Attributes now = co_await stub.attributes();
    // There is no descriptor to copy the file's own bytes by.
    if (now.size > 0) co_return former;
  }
  const std::uint64_t id = objects_.add(std::move(fresh));
  base::Bytes record;
  append(record, id);
  append(record, stub.fileid());
  const auto kept = co_await stub.put_record(record).as_result();
  if (!kept) {
    objects_.erase(id);
    co_await base::fail(kept.error());
  }
  if (former != nullptr) objects_.erase(id_of(*former));
  co_return std::make_shared<ObjectContent>(*this, id);
}

VfsOp<> ObjectSource::removing(Stub& /*stub*/, Content& content) {
  co_await before("content_removing", true);
  objects_.note_removal(id_of(content));
}

void ObjectSource::gone(ContentRef content) { objects_.erase(id_of(*content)); }

ContentRef ObjectSource::copy_of(const ContentRef& content) {
  return std::make_shared<ObjectContent>(*this, objects_.add(*objects_.get(id_of(*content))));
}

}  // namespace braid::vfs::memory
