// Operations on filehandles, names and data, one per file.
#pragma once

#include "nfs4/compound/compound.h"
#include "nfs4/op4.h"
#include "vfs/types.h"
#include "xdr/encoder.h"

namespace braid::nfs4::ops {

// SECINFO4resok, whose elements are the same for every export.
struct SecurityList {};
void encode(xdr::Encoder& out, const SecurityList& list);
std::size_t encoded_size(const SecurityList& list);

Op4<ACCESS4resok> access(Compound& compound, const ACCESS4args& args);
Op4<COMMIT4resok> commit(Compound& compound, const COMMIT4args& args);
Op4<CREATE4resok> create(Compound& compound, const CREATE4args& args);
Op4<GETFH4resok> getfh(Compound& compound);
Op4<LINK4resok> link(Compound& compound, const LINK4args& args);
Op4<> lookup(Compound& compound, const LOOKUP4args& args);
Op4<> lookupp(Compound& compound);
Op4<> putfh(Compound& compound, const PUTFH4args& args);
Op4<> putpubfh(Compound& compound);
Op4<> putrootfh(Compound& compound);
Op4<READ4resok> read(Compound& compound, const READ4args& args);
Op4<READLINK4resok> readlink(Compound& compound);
Op4<REMOVE4resok> remove(Compound& compound, const REMOVE4args& args);
Op4<RENAME4resok> rename(Compound& compound, const RENAME4args& args);
Op4<> restorefh(Compound& compound);
Op4<> savefh(Compound& compound);
Op4<SecurityList> secinfo(Compound& compound, const SECINFO4args& args);
Op4<SecurityList> secinfo_no_name(Compound& compound, const SECINFO_NO_NAME4args& args);
Op4<WRITE4resok> write(Compound& compound, const WRITE4args& args);

// What a change did to a directory. `atomic` where nobody else changed it meanwhile.
change_info4 change_info_of(const vfs::Wcc& wcc);

// Before a name of a file goes, or gets another one: DELAY while delegations of the file are recalled (RFC
// 8881 10.4.4). A name that leads nowhere is left to the operation itself.
Op4<> break_delegations_of(Compound& compound, const Place& dir, std::string_view name);

// Somebody else than the caller has a delegation of it.
bool delegated_to_others(const Compound& compound, const Place& at);
// Before the entry `name` of a directory comes or goes: DELAY while others' delegations of the directory are
// recalled. An entry that is there already, or that is not, is left to the operation itself.
enum class EntryChange : std::uint8_t { comes, goes };
Op4<> break_directory_delegations(Compound& compound, const Place& dir, std::string_view name,
                                  EntryChange change);

// Why an operation on a name in `dir` failed: NOTDIR is SYMLINK where `dir` is a link.
Op4<> refuse_in_directory(Compound& compound, const Place& dir, vfs::Error error);
// The same for one that needs a regular file (INVAL, ISDIR).
Op4<> refuse_on_file(Compound& compound, const Place& at, vfs::Error error);

}  // namespace braid::nfs4::ops
