// The NFSv4 side of a data server: what its handles mean, and who may read and write.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/metrics.h"
#include "io/payload.h"
#include "io/slab.h"
#include "nfs4/compound/compound.h"
#include "nfs4/handle_resolver.h"
#include "nfs4/op4.h"
#include "pnfs/data_handle.h"
#include "pnfs/object.h"
#include "pnfs_ds/announcements.h"
#include "pnfs_ds/contact.h"
#include "pnfs_ds/metadata_server.h"
#include "pnfs_ds/objects.h"
#include "pnfs_ds/verified_handles.h"
#include "vfs/export.h"
#include "vfs/file.h"

namespace braid::pnfs_ds {

// Why a client was refused: counted, never told.
enum class Denial : std::uint8_t {
  no_contact,     // with the metadata server
  forged,         // nobody signed the handle for this server, or with a key that is not in use any more
  other_client,   // the handle was given to another one
  reading_alone,  // WRITE with a handle for reading
  fenced,         // FenceTable
  no_facts,       // the metadata server does not say what has to be known
  not_told,       // it cannot be told that the object is written to
  failed,         // the object's file system
};
constexpr std::size_t denials = 8;

class DataServer;

// The current filehandle of a data server: verified, and for this client.
class HandleFile final : public vfs::File {
 public:
  HandleFile(DataServer& server, const pnfs::DataHandle& data, base::BytesView wire);
  [[nodiscard]] const vfs::FileHandle& handle() const override { return handle_; }
  [[nodiscard]] DataServer& server() const { return server_; }
  [[nodiscard]] const pnfs::DataHandle& data() const { return data_; }
  [[nodiscard]] ObjectKey key() const { return {data_.object, data_.index}; }

 private:
  DataServer& server_;
  const pnfs::DataHandle data_;
  vfs::FileHandle handle_;
};

// Thread-safe; outlives the engine whose handles it resolves. What is referred to outlives it.
class DataServer final : public nfs4::HandleResolver {
 public:
  // ENOBUFS: `slabs` has no memory.
  static base::Result<std::unique_ptr<DataServer>> create(Objects& objects, const Contact& contact,
                                                          MetadataServer& metadata, io::SlabPool& slabs,
                                                          base::MetricRegistry& metrics);

  nfs4::Op4<nfs4::Place> resolve(const nfs4::Compound& compound, base::BytesView handle) override;

  // After Use::begin(): PNFS_NO_LAYOUT, unless the handle lets its bearer do this now.
  nfs4::Result4<void> admit(const HandleFile& file, bool writes);
  // PNFS_IO_HOLE: some of these bytes of the object are none (RFC 8881 section 13.4.4).
  [[nodiscard]] static nfs4::Result4<void> check_stripe(const pnfs::DataHandle& handle, std::uint64_t offset,
                                                        std::uint64_t count);
  // What a client is told of an error of the file system: PNFS_NO_LAYOUT, so that it turns to the metadata
  // server at once, but for what is of no use there either.
  nfs4::nfsstat4 status_of(vfs::Error error);
  // Of an object that a client may write, and which may have to be made.
  nfs4::Op4<Objects::Opened> find_or_make(Objects::Use& use, const HandleFile& file);
  // Before an object is written to that is not announced(): the metadata server knows that it is.
  // PNFS_NO_LAYOUT: it cannot be told.
  nfs4::Op4<> announce(Objects::Use& use, const HandleFile& file);
  // Before the answer to a WRITE or COMMIT of an object that is not announced() any more: whoever has asked
  // meanwhile may have missed it, and thinks that there is nothing more. Ends the use.
  nfs4::Op4<> announce_done(Objects::Use& use);

  [[nodiscard]] const io::SlabRange& zeros() const { return zeros_; }
  nfs4::Op4<FileFacts> facts_of(pnfs::ObjectId object);
  [[nodiscard]] Objects& objects() const { return objects_; }

 private:
  DataServer(Objects& objects, const Contact& contact, MetadataServer& metadata, io::SlabRange zeros,
             base::MetricRegistry& metrics);
  base::Failure<nfs4::nfsstat4> deny(Denial why);

  Objects& objects_;
  const Contact& contact_;
  MetadataServer& metadata_;
  Announcements announcements_;
  const io::SlabRange zeros_;
  const vfs::Export nowhere_;  // objects are in no export
  VerifiedHandles verified_;
  std::vector<base::Counter*> denied_;
};

}  // namespace braid::pnfs_ds
