// The layout operations of a server that offers no layouts: fs_layout_type is empty, and no client holds a
// layout or knows a device. A server with layouts brings rows of its own.
#include "nfs4/ops/extended_operations.h"

namespace braid::nfs4::ops {

using enum nfsstat4;

// RFC 8881 18.43.3
Op4<LAYOUTGET4resok> layoutget(Compound& /*compound*/, const LAYOUTGET4args& /*args*/) {
  return refuse(NFS4ERR_LAYOUTUNAVAILABLE);
}

// RFC 8881 18.42.3: no layout covers the range.
Op4<LAYOUTCOMMIT4resok> layoutcommit(Compound& /*compound*/, const LAYOUTCOMMIT4args& /*args*/) {
  return refuse(NFS4ERR_BADLAYOUT);
}

// RFC 8881 18.44.3: whoever returns all that it has of a file system or of the server has returned it. A
// layout of one file comes with a stateid, which cannot be ours.
Op4<layoutreturn_stateid> layoutreturn(Compound& /*compound*/, const LAYOUTRETURN4args& args) {
  if (args.lora_layoutreturn.lr_returntype == layoutreturn_type4::LAYOUTRETURN4_FILE)
    return refuse(NFS4ERR_BAD_STATEID);
  return layoutreturn_stateid::with_FALSE();
}

// RFC 8881 18.40.3
Op4<GETDEVICEINFO4resok> getdeviceinfo(Compound& /*compound*/, const GETDEVICEINFO4args& /*args*/) {
  return refuse(NFS4ERR_NOENT);
}

// RFC 8881 18.41.3
Op4<GETDEVICELIST4resok> getdevicelist(Compound& /*compound*/, const GETDEVICELIST4args& /*args*/) {
  return refuse(NFS4ERR_UNKNOWN_LAYOUTTYPE);
}

// RFC 7862 15.7.3 and 15.6.3: the stateid of a layout, which cannot be ours.
Op4<> layoutstats(Compound& /*compound*/, const LAYOUTSTATS4args& /*args*/) {
  return refuse(NFS4ERR_BAD_STATEID);
}

Op4<> layouterror(Compound& /*compound*/, const LAYOUTERROR4args& /*args*/) {
  return refuse(NFS4ERR_BAD_STATEID);
}

}  // namespace braid::nfs4::ops
