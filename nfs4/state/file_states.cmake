target_sources(braid_nfs4 PRIVATE
  access.cc delegations.cc lock_queue.cc locks.cc opens.cc owner_sequence.cc range_set.cc records.cc
  revocation.cc state_id.cc state_table.cc turns.cc)
