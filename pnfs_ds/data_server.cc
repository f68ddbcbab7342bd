#include "pnfs_ds/data_server.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string_view>

#include "nfs4/status.h"
#include "vfs/unavailable.h"

namespace braid::pnfs_ds {
namespace {

using enum nfs4::nfsstat4;

constexpr std::array<std::string_view, denials> denial_names{
    "no_contact", "forged", "other_client", "reading_alone", "fenced", "no_facts", "not_told", "failed"};

vfs::Export nowhere() {
  vfs::Export out;
  out.path = "/";
  out.squash = vfs::Squash::none;
  out.anon_uid = out.anon_gid = 0;
  out.file_system = std::make_shared<vfs::UnavailableFileSystem>(vfs::Registration{}, nullptr);
  return out;
}

}  // namespace

HandleFile::HandleFile(DataServer& server, const pnfs::DataHandle& data, base::BytesView wire)
    : server_(server), data_(data) {
  handle_.size = static_cast<std::uint8_t>(wire.size());
  std::ranges::copy(wire, handle_.bytes.begin());
}

base::Result<std::unique_ptr<DataServer>> DataServer::create(Objects& objects, const Contact& contact,
                                                             MetadataServer& metadata, io::SlabPool& slabs,
                                                             base::MetricRegistry& metrics) {
  auto slab = slabs.acquire(io::SlabSize::small);
  if (!slab) return base::fail(slab.error());
  io::SlabRange zeros{std::move(*slab), 0, io::small_slab_bytes};
  std::ranges::fill(zeros.writable(), std::byte{});
  return std::unique_ptr<DataServer>(new DataServer(objects, contact, metadata, std::move(zeros), metrics));
}

DataServer::DataServer(Objects& objects, const Contact& contact, MetadataServer& metadata,
                       io::SlabRange zeros, base::MetricRegistry& metrics)
    : objects_(objects),
      contact_(contact),
      metadata_(metadata),
      announcements_(metadata),
      zeros_(std::move(zeros)),
      nowhere_(nowhere()) {
  denied_.reserve(denials);
  for (const std::string_view name : denial_names)
    denied_.push_back(&metrics.counter("braid_pnfs_refused_total",
                                       "Calls of clients that were told NFS4ERR_PNFS_NO_LAYOUT",
                                       fmt::format(R"(reason="{}")", name)));
  metrics.gauge("braid_pnfs_open_objects", "Objects in use, or that were lately", {},
                [this] { return static_cast<double>(objects_.open_objects()); });
}

base::Failure<nfs4::nfsstat4> DataServer::deny(Denial why) {
  denied_[static_cast<std::size_t>(why)]->add();
  return nfs4::refuse(NFS4ERR_PNFS_NO_LAYOUT);
}

nfs4::Op4<nfs4::Place> DataServer::resolve(const nfs4::Compound& compound, base::BytesView handle) {
  const auto number = pnfs::DataHandleCodec::key_of(handle);
  if (!number) return nfs4::refuse(NFS4ERR_BADHANDLE);
  if (!contact_.there()) return deny(Denial::no_contact);
  auto codec = contact_.codec(*number);
  if (codec == nullptr) return deny(Denial::forged);
  const nfs4::state::ClientRef client = compound.client();
  VerifiedHandles::Terms terms{client == nullptr ? nfs4::clientid4{} : client->id, std::move(codec)};
  if (client != nullptr)
    if (vfs::FileRef known = verified_.find(handle, terms))
      return nfs4::Place{&nowhere_, {}, std::move(known), nullptr};
  const auto data = terms.codec->open(handle);
  if (!data) return deny(Denial::forged);
  if (client == nullptr || pnfs::client_tag(contact_.cluster(), client->intro.owner) != data->client)
    return deny(Denial::other_client);
  vfs::FileRef file(new HandleFile(*this, *data, handle));
  verified_.add(file, std::move(terms));
  return nfs4::Place{&nowhere_, {}, std::move(file), nullptr};
}

nfs4::Result4<void> DataServer::admit(const HandleFile& file, bool writes) {
  if (!contact_.there()) return deny(Denial::no_contact);
  if (writes && file.data().iomode != pnfs::Iomode::read_write) return deny(Denial::reading_alone);
  if (objects_.fences().check(file.data()) != Refusal::none) return deny(Denial::fenced);
  return {};
}

nfs4::Result4<void> DataServer::check_stripe(const pnfs::DataHandle& handle, std::uint64_t offset,
                                             std::uint64_t count) {
  const pnfs::Striping& striping = handle.striping;
  if (count == 0) return {};
  const auto first = striping.to_file(handle.index, offset);
  if (!first) return nfs4::refuse(NFS4ERR_PNFS_IO_HOLE);
  // A dense object has no holes.
  if (striping.packing == pnfs::Packing::dense) return {};
  if (striping.piece(*first, count).length < count) return nfs4::refuse(NFS4ERR_PNFS_IO_HOLE);
  return {};
}

nfs4::nfsstat4 DataServer::status_of(vfs::Error error) {
  switch (error) {
    case vfs::Error::nospc:
    case vfs::Error::dquot:
    case vfs::Error::fbig:
      return nfs4::status_of(error);
    default:
      return deny(Denial::failed).error();
  }
}

nfs4::Op4<FileFacts> DataServer::facts_of(pnfs::ObjectId object) {
  const auto facts = co_await metadata_.facts_of(object).as_result();
  if (!facts) co_await deny(Denial::no_facts);
  co_return *facts;
}

nfs4::Op4<Objects::Opened> DataServer::find_or_make(Objects::Use& use, const HandleFile& file) {
  auto found = co_await objects_.find(use).as_result();
  if (!found) co_await nfs4::refuse(status_of(found.error()));
  if (*found) co_return std::move(*found);
  // The metadata server may be waiting for the end of what runs on this object.
  use.end();
  const Turn::Hold making = co_await use.object().making.take();
  std::optional<ObjectOwner> owner;
  if (use.object().opened() == nullptr) {
    const FileFacts facts = co_await facts_of(file.data().object);
    owner = facts.owner;
  }
  use.begin();
  co_await admit(file, true);
  vfs::VfsOp<Objects::Opened> making_it = owner ? objects_.make(use, *owner) : objects_.find(use);
  auto made = co_await std::move(making_it).as_result();
  if (!made) co_await nfs4::refuse(status_of(made.error()));
  if (*made == nullptr) co_await deny(Denial::failed);
  co_return std::move(*made);
}

// It is said before the first byte is written, so that the metadata server has taken the file's privileges
// away by then.
nfs4::Op4<> DataServer::announce(Objects::Use& use, const HandleFile& file) {
  co_await announce_done(use);
  use.begin();
  co_await admit(file, true);
}

// The metadata server may be waiting for the end of what runs on this object.
nfs4::Op4<> DataServer::announce_done(Objects::Use& use) {
  use.end();
  const auto told = co_await announcements_.announce(use.object()).as_result();
  if (!told) co_await deny(Denial::not_told);
}

}  // namespace braid::pnfs_ds
