target_sources(braid_nfs4 PRIVATE
  allocate.cc clone.cc copy.cc deallocate.cc getxattr.cc io_advise.cc layouts.cc
  listxattrs.cc offload_cancel.cc offload_status.cc read_plus.cc removexattr.cc seek.cc setxattr.cc)
