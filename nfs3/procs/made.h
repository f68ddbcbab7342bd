// The OK arm that CREATE, MKDIR, SYMLINK and MKNOD share.
#pragma once

#include "nfs3/attributes.h"
#include "nfs3/request.h"

namespace braid::nfs3::procs {

template <class Ok>
Ok made(Request& request, const vfs::Found& found, const vfs::Wcc& wcc) {
  return Ok{.obj = post_op_fh3::with_handle(request.keep(found.file->handle())),
            .obj_attributes = post_op_attr::with_attributes(fattr3_of(found.attributes)),
            .dir_wcc = wcc_data_of(wcc)};
}

}  // namespace braid::nfs3::procs
