target_sources(braid_nfs4 PRIVATE
  authorize_io.cc close.cc delegation_of_open.cc delegpurge.cc delegreturn.cc free_stateid.cc get_dir_delegation.cc lock.cc
  lock_support.cc lockt.cc locku.cc open.cc open_confirm.cc open_create.cc open_downgrade.cc
  open_support.cc release_lockowner.cc test_stateid.cc)
