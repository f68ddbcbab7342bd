target_sources(braid_nfs4 PRIVATE
  access.cc commit.cc create.cc file_operations.cc getfh.cc io_support.cc link.cc lookup.cc lookupp.cc putfh.cc putpubfh.cc
  putrootfh.cc read.cc readlink.cc remove.cc rename.cc restorefh.cc savefh.cc secinfo.cc secinfo_no_name.cc write.cc)
