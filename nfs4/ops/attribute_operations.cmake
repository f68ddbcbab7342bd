target_sources(braid_nfs4 PRIVATE
  delegated_times.cc directory_page.cc getattr.cc nverify.cc readdir.cc see_through.cc
  setattr.cc verify.cc)
