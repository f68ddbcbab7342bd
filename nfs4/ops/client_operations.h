// The operations on clients and sessions, a file each.
#pragma once

#include "nfs4/compound/compound.h"
#include "nfs4/nfs4.x.h"
#include "nfs4/op4.h"

namespace braid::nfs4::ops {

Op4<> backchannel_ctl(Compound& compound, const BACKCHANNEL_CTL4args& args);
Op4<BIND_CONN_TO_SESSION4resok> bind_conn_to_session(Compound& compound,
                                                     const BIND_CONN_TO_SESSION4args& args);
Op4<CREATE_SESSION4resok> create_session(Compound& compound, const CREATE_SESSION4args& args);
Op4<> destroy_clientid(Compound& compound, const DESTROY_CLIENTID4args& args);
Op4<> destroy_session(Compound& compound, const DESTROY_SESSION4args& args);
Op4<EXCHANGE_ID4resok> exchange_id(Compound& compound, const EXCHANGE_ID4args& args);
Op4<> reclaim_complete(Compound& compound, const RECLAIM_COMPLETE4args& args);
Op4<> renew(Compound& compound, const RENEW4args& args);
Op4<SEQUENCE4resok> sequence(Compound& compound, const SEQUENCE4args& args);
Op4<> set_ssv(Compound& compound, const SET_SSV4args& args);
Op4<SETCLIENTID4resok, clientaddr4> setclientid(Compound& compound, const SETCLIENTID4args& args);
Op4<> setclientid_confirm(Compound& compound, const SETCLIENTID_CONFIRM4args& args);

}  // namespace braid::nfs4::ops
