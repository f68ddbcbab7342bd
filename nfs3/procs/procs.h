// The procedures of NFSv3, one per file; RFC 1813 3.3.N describes procedure N. An error that is met before
// the object is known leaves the failing arm empty; later ones carry the attributes that the RFC wants there.
#pragma once

#include "nfs3/directory_page.h"
#include "nfs3/nfs3.x.h"
#include "nfs3/op3.h"
#include "nfs3/request.h"
#include "rpc/program.h"

namespace braid::nfs3::procs {

io::Op<rpc::Answer> null(rpc::Service& service, rpc::Call& call, rpc::Reply& reply);
Op3<GETATTR3resok> getattr(Request& request, const GETATTR3args& args);
Op3<SETATTR3resok, SETATTR3resfail> setattr(Request& request, const SETATTR3args& args);
Op3<LOOKUP3resok, LOOKUP3resfail> lookup(Request& request, const LOOKUP3args& args);
Op3<ACCESS3resok, ACCESS3resfail> access(Request& request, const ACCESS3args& args);
Op3<READLINK3resok, READLINK3resfail> readlink(Request& request, const READLINK3args& args);
Op3<READ3resok, READ3resfail> read(Request& request, const READ3args& args);
Op3<WRITE3resok, WRITE3resfail> write(Request& request, const WRITE3args& args);
// The length of a WRITE's data (rpc::Procedure::bulk).
std::optional<std::uint32_t> write_bulk(xdr::Decoder& args);
Op3<CREATE3resok, CREATE3resfail> create(Request& request, const CREATE3args& args);
Op3<MKDIR3resok, MKDIR3resfail> mkdir(Request& request, const MKDIR3args& args);
Op3<SYMLINK3resok, SYMLINK3resfail> symlink(Request& request, const SYMLINK3args& args);
Op3<MKNOD3resok, MKNOD3resfail> mknod(Request& request, const MKNOD3args& args);
Op3<REMOVE3resok, REMOVE3resfail> remove(Request& request, const REMOVE3args& args);
Op3<RMDIR3resok, RMDIR3resfail> rmdir(Request& request, const RMDIR3args& args);
Op3<RENAME3resok, RENAME3resfail> rename(Request& request, const RENAME3args& args);
Op3<LINK3resok, LINK3resfail> link(Request& request, const LINK3args& args);
Op3<DirectoryListing, READDIR3resfail> readdir(Request& request, const READDIR3args& args);
Op3<DirectoryListing, READDIRPLUS3resfail> readdirplus(Request& request, const READDIRPLUS3args& args);
Op3<FSSTAT3resok, FSSTAT3resfail> fsstat(Request& request, const FSSTAT3args& args);
Op3<FSINFO3resok, FSINFO3resfail> fsinfo(Request& request, const FSINFO3args& args);
Op3<PATHCONF3resok, PATHCONF3resfail> pathconf(Request& request, const PATHCONF3args& args);
Op3<COMMIT3resok, COMMIT3resfail> commit(Request& request, const COMMIT3args& args);

}  // namespace braid::nfs3::procs
