// Seals files that clients use, and gives them their bytes back: their times, change attribute, delegations
// and caches stay.
//
// Reading, cutting and hashing go on beside the clients' calls, and so does what is made durable before the
// record. Then calls on the file wait for as long as the rest takes: if the file is as it was when it was
// read, the record is set, and holes are made.
//
// Of a file that clients have open for writing it is where nobody has written to between two calls of seal():
// the first one begins to look. What is written meanwhile stays as it is.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>

#include "store/content/store_source.h"
#include "store/sealing/sealer.h"
#include "store/sealing/unseal.h"
#include "vfs/file_system.h"

namespace braid::store {

// Belongs to one reactor, or to one thread; one call at a time. Source and store outlive it.
class LiveSealer {
 public:
  // `stop`: asked from time to time; then a call ends with vfs::Error::delay.
  LiveSealer(Store& store, StoreSource& source, std::function<bool()> stop)
      : store_(store), source_(source), stop_(std::move(stop)) {}

  // Before the first call; may be called by any thread of the blocking pool.
  void hash_by(HashJob hash) { hash_ = std::move(hash); }

  // `tree`: of the file system, by Store::tree_of(). `restless`: clients write to it all the time, as in
  // Stub::writers(). in_use: others than clients may have the file open for writing, or clients have, and
  // this is the first look; changed: it was written to meanwhile. io: it is in the log. nospc: the store's
  // medium is full.
  vfs::VfsOp<SealOutcome> seal(vfs::FileSystem& fs, std::uint32_t tree, const vfs::FileRef& file,
                               bool restless);
  // Of the last file that was sealed: those that the store has taken in.
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  // False: it is not sealed. delay: somebody has it open for writing.
  vfs::VfsOp<bool> unseal(vfs::FileSystem& fs, std::uint32_t tree, const vfs::FileRef& file);

 private:
  Sealer& sealer_of(std::uint32_t tree);
  // What a draft of the file begins with; `written`: null: no client has it open for writing.
  vfs::VfsOp<SealDraft> draft_of(vfs::Stub& stub, WrittenRanges* written, base::UniqueFd& own);

  Store& store_;
  StoreSource& source_;
  const std::function<bool()> stop_;
  HashJob hash_;
  std::uint64_t bytes_ = 0;
  std::map<std::uint32_t, std::unique_ptr<Sealer>> sealers_;
};

}  // namespace braid::store
