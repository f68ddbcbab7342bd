target_sources(braid_nfs4 PRIVATE
  backchannel_ctl.cc bind_conn_to_session.cc callback_parameters.cc create_session.cc
  destroy_clientid.cc destroy_session.cc exchange_id.cc reclaim_complete.cc renew.cc sequence.cc set_ssv.cc
  setclientid.cc setclientid_confirm.cc)
