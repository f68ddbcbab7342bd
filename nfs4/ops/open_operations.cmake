target_sources(braid_nfs4 PRIVATE
  close.cc delegation_of_open.cc delegpurge.cc delegreturn.cc free_stateid.cc get_dir_delegation.cc lock.cc
  lock_support.cc lockt.cc locku.cc open.cc open_confirm.cc open_create.cc open_downgrade.cc
  open_support.cc owner_sequence.cc release_lockowner.cc state_access.cc test_stateid.cc)
