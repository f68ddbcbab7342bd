target_sources(braid_nfs4 PRIVATE
  delegated_attributes.cc directory_page.cc getattr.cc nverify.cc readdir.cc
  setattr.cc verify.cc)
