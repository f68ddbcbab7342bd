// One COMPOUND on its way through its operations (RFC 8881 section 16.2): what operations see and change.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "base/clock.h"
#include "io/slab.h"
#include "nfs4/compound/place.h"
#include "nfs4/nfs4.x.h"
#include "nfs4/op4.h"
#include "nfs4/server_state.h"
#include "nfs4/state/clients/client.h"
#include "rpc/call.h"
#include "rpc/replay_cache.h"
#include "vfs/file_system.h"
#include "xdr/arena.h"

namespace braid::nfs4::state {
class Session;
}  // namespace braid::nfs4::state

namespace braid::nfs4 {

// What a SEQUENCE that succeeded leaves behind. The limits are those of the session's fore channel; they hold
// for whole RPC messages, headers included.
struct InSession {
  std::shared_ptr<state::Session> session;
  std::uint32_t slot = 0;
  std::uint32_t sequence = 0;
  bool cache_this = false;
  std::uint32_t response_bytes_max = 0;         // ca_maxresponsesize
  std::uint32_t cached_response_bytes_max = 0;  // ca_maxresponsesize_cached
  // Set by SEQUENCE for a repeated request whose reply was not kept: the operation after SEQUENCE is answered
  // NFS4ERR_RETRY_UNCACHED_REP, and none is executed.
  bool retry_uncached = false;
};

// What a name leads to. `seen`: its attributes, unless it is of the pseudo file system or the root of an
// export.
struct LookedUp {
  Place place;
  std::optional<vfs::Attributes> seen;
};

// Belongs to the thread of its call, from the decoding of the header until the reply is encoded.
class Compound {
 public:
  // Takes the exports as they are now: a reload does not reach a running call.
  Compound(const ServerState& server, rpc::Call& call, std::uint32_t minor_version,
           std::uint32_t operation_count);
  Compound(const Compound&) = delete;
  Compound& operator=(const Compound&) = delete;

  // --- The request.
  [[nodiscard]] const ServerState& server() const { return server_; }
  [[nodiscard]] rpc::Call& call() { return call_; }
  [[nodiscard]] const rpc::Call& call() const { return call_; }
  [[nodiscard]] std::uint32_t minor_version() const { return minor_version_; }
  [[nodiscard]] std::uint32_t operation_count() const { return operation_count_; }
  // Which operation runs, from 0.
  [[nodiscard]] std::uint32_t index() const { return index_; }
  // Of the whole RPC call, header included: what ca_maxrequestsize bounds.
  [[nodiscard]] std::size_t request_bytes() const { return call_.message.size(); }
  // The running operation has had delegations recalled, which are not back; it has done nothing else.
  void set_waits_for_recall() { waits_for_recall_ = true; }
  // Some milliseconds old: for leases, not for latencies.
  [[nodiscard]] base::TimePoint now() const;
  // When the call arrived, or the last operation that waited had ended. Costs nothing, and will do where the
  // running operation has not waited.
  [[nodiscard]] base::TimePoint began() const { return began_; }
  [[nodiscard]] io::SlabCursor& cursor() { return call_.cursor; }
  [[nodiscard]] xdr::Arena& arena() { return call_.arena; }
  // Text for the reply, copied into the call's arena; nothing when that is used up.
  [[nodiscard]] std::optional<std::string_view> keep(base::BytesView text);

  // --- Filehandles (RFC 8881 16.2.3.1.1). Operations that may not run without one say so in their row of the
  // table, and need not ask.
  [[nodiscard]] const Place& current() const { return current_; }
  [[nodiscard]] const Place& saved() const { return saved_; }
  // The new current filehandle; the current stateid becomes the anonymous one (16.2.3.1.2). `seen`: its
  // attributes, if they have just been looked at.
  void set_current(Place place, std::optional<vfs::Attributes> seen = std::nullopt);
  // The attributes of the current filehandle, as an operation of this COMPOUND has seen them; nothing after
  // one that may have changed them, or has waited (OperationFlags::looks). Whoever looks leaves here what it
  // saw.
  [[nodiscard]] std::optional<vfs::Attributes>& seen() { return seen_; }
  void save_current();
  // NFS4ERR_NOFILEHANDLE (4.1 and later) or NFS4ERR_RESTOREFH (4.0) when nothing was saved.
  [[nodiscard]] Result4<void> restore_saved();
  // What a handle of ours leads to, if the caller may go there: NFS4ERR_BADHANDLE, STALE, ACCESS.
  Op4<Place> resolve(base::BytesView handle) const;
  // The root of the server's name space.
  [[nodiscard]] Result4<Place> root() const;
  // `name` in the directory `at`, over the borders of exports. NFS4ERR_NOENT and what the file system says.
  // The name has been checked (names.h).
  Op4<LookedUp> look_up(Place at, std::string_view name) const;
  // The directory above, over the borders of exports; NFS4ERR_NOENT at the top.
  Op4<LookedUp> look_up_parent(Place at) const;
  // What goes before the entry `name` of the directory `at`: an export, or a directory on the way to one.
  // Null: nothing, the name means what the file system says.
  [[nodiscard]] const PseudoNode* junction_at(const Place& at, std::string_view name) const;
  // For an operation that would make, move or remove `name`: `there` if the name is that of another export,
  // or leads to one; `hidden` if it is, and the caller is not to know.
  [[nodiscard]] Result4<void> check_no_junction(const Place& at, std::string_view name, nfsstat4 there,
                                                nfsstat4 hidden) const;
  // Where a node of the pseudo file system leads: NOENT, ACCESS.
  [[nodiscard]] Result4<Place> place_of(const PseudoNode& node) const;
  [[nodiscard]] const PseudoTree& pseudo_tree() const;
  // No export that this client may use is there.
  void tell_of_refused(const std::string& path, nfsstat4 status) const;
  // The current filehandle as an object of an export. NFS4ERR_ROFS for one of the pseudo file system: what
  // changes something says so there.
  [[nodiscard]] Result4<const Place*> current_in_export(nfsstat4 otherwise = nfsstat4::NFS4ERR_ROFS) const;
  // The same, of this type: ISDIR for a directory, SYMLINK for a link, else INVAL (4.0) or WRONG_TYPE, as for
  // READ, WRITE and OPEN (RFC 8881 18.22.3).
  [[nodiscard]] Result4<void> check_regular(vfs::FileType type) const;
  // NOTDIR, or SYMLINK for a link (RFC 8881 18.13.3).
  [[nodiscard]] Result4<void> check_directory(vfs::FileType type) const;

  // --- Stateids (RFC 8881 16.2.3.1.2, 8.2.3).
  // What an operation that makes or changes state calls, so that later ones can refer to it.
  void set_current_stateid(const stateid4& id) { current_stateid_ = id; }
  [[nodiscard]] const stateid4& current_stateid() const { return current_stateid_; }
  // The stateid that an operation is about: the current one where the client says so. NFS4ERR_BAD_STATEID
  // when there is no current one.
  [[nodiscard]] Result4<stateid4> named(const stateid4& id) const;

  // --- Sessions. SEQUENCE sets it; absent in 4.0 and in the operations that need no session.
  std::optional<InSession> in_session;
  // SEQUENCE of a repeated request: nothing more is executed, and these bytes (COMPOUND4res) are the reply.
  std::optional<rpc::KeptReply> replay;
  // Of the session; null in 4.0 and without SEQUENCE.
  [[nodiscard]] state::ClientRef client() const;

  // --- For the figures of the client and of the export.
  void read(std::uint64_t bytes) const;
  void wrote(std::uint64_t bytes) const;

  // --- The reply.
  // Bytes that the body of this operation's result may take.
  [[nodiscard]] std::size_t reply_bytes_left() const { return reply_bytes_left_; }
  // Of the whole message so far, with the head of this result, and with what may have to follow it.
  [[nodiscard]] std::size_t reply_bytes_taken() const { return reply_bytes_taken_; }
  // For the data of a READ: without pipes once the message can take no more of them by reference.
  [[nodiscard]] vfs::ReadMemory read_memory();

 private:
  friend class CompoundRun;
  // Who the caller is there; whose leases are not in its way, if it is known: in 4.0 it is not.
  [[nodiscard]] vfs::Credentials credentials_by(const vfs::ExportRule& rule) const;
  // Of the session; nobody in 4.0.
  [[nodiscard]] vfs::LeaseHolder holder() const;
  // An export, and its rule for this client.
  struct Admitted {
    const vfs::Export& from;
    const vfs::ExportRule& rule;
  };
  Op4<Place> resolve_in(Admitted by, base::BytesView handle) const;
  Op4<Place> resolve_later(Admitted by, vfs::VfsOp<vfs::FileRef> resolving) const;
  [[nodiscard]] Result4<Place> place_in(Admitted by, base::Result<vfs::FileRef, vfs::Error> file) const;

  const ServerState& server_;
  rpc::Call& call_;
  const std::uint32_t minor_version_;
  const std::uint32_t operation_count_;
  std::uint32_t index_ = 0;
  base::TimePoint began_;  // kept up to date by CompoundRun
  std::shared_ptr<const vfs::ExportTable> exports_;
  mutable std::shared_ptr<const PseudoTree> pseudo_;  // once it is needed
  Place current_;
  Place saved_;
  std::optional<vfs::Attributes> seen_;  // of current_
  stateid4 current_stateid_;
  stateid4 saved_stateid_;
  std::size_t reply_bytes_left_ = 0;  // kept up to date by CompoundRun
  std::size_t reply_bytes_taken_ = 0;
  std::uint32_t payloads_ = 0;  // READ data in the reply so far
  bool reply_is_kept_ = false;  // kept up to date by CompoundRun
  bool waits_for_recall_ = false;
};

}  // namespace braid::nfs4
