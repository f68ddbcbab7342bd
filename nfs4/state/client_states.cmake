target_sources(braid_nfs4 PRIVATE
  client_ids.cc client_report.cc client_table.cc grace.cc principal.cc session.cc session_table.cc slots.cc)
