// OBJECT_SEEK, OBJECT_ALLOCATE and OBJECT_DEALLOCATE of control.x.
#pragma once

#include "pnfs/control.x.h"
#include "pnfs/control_service.h"
#include "pnfs_ds/objects.h"

namespace braid::pnfs_ds {

// They never fail: the result says what went wrong.
pnfs::ControlOp<pnfs::OBJECT_SEEKres> object_seek(Objects& objects, const pnfs::OBJECT_SEEKargs& args);
pnfs::ControlOp<pnfs::OBJECT_ALLOCATEres> object_allocate(Objects& objects,
                                                          const pnfs::OBJECT_ALLOCATEargs& args);
pnfs::ControlOp<pnfs::OBJECT_DEALLOCATEres> object_deallocate(Objects& objects,
                                                              const pnfs::OBJECT_DEALLOCATEargs& args);

}  // namespace braid::pnfs_ds
