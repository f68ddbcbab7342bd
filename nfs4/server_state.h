// What outlives a COMPOUND: references to the parts of a running NFSv4 server. Every member is thread-safe.
#pragma once

#include "base/clock.h"
#include "base/guarded.h"
#include "vfs/export.h"

namespace braid::io {
class BlockingPool;
}

namespace braid::nfs4 {

struct Nfs4Options;
class Clients;
class CopyJobs;
class HandleResolver;
class IdMap;
class IoAuthorizer;
class PseudoFileSystem;
class OperationTable;
namespace attributes {
struct ServerFacts;
}
namespace callback {
class Callbacks;
}
namespace state {
class States;
}

// Assembled by whoever owns the parts (Nfs4Engine); copied into nothing, referred to by each Compound.
struct ServerState {
  const Nfs4Options& options;
  const base::Clock& clock;
  const vfs::Exports& exports;
  PseudoFileSystem& pseudo;
  IdMap& ids;
  const attributes::ServerFacts& facts;
  Clients& clients;
  base::Guarded<state::States>& states;
  callback::Callbacks* callbacks;  // null: nobody can be called back
  io::BlockingPool& pool;
  CopyJobs* copies = nullptr;          // null: a COPY is done before it is answered
  HandleResolver* handles = nullptr;   // null: handles are those of exports
  IoAuthorizer* authorizer = nullptr;  // null: opens, locks and delegations say who may read and write
};

}  // namespace braid::nfs4
