// Operations on opens, locks and delegations.
#pragma once

#include "nfs4/compound/compound.h"
#include "nfs4/op4.h"

namespace braid::nfs4::ops {

Op4<stateid4> close(Compound& compound, const CLOSE4args& args);
Op4<> delegpurge(Compound& compound, const DELEGPURGE4args& args);
Op4<> delegreturn(Compound& compound, const DELEGRETURN4args& args);
Op4<> free_stateid(Compound& compound, const FREE_STATEID4args& args);
Op4<GET_DIR_DELEGATION4res_non_fatal> get_dir_delegation(Compound& compound,
                                                         const GET_DIR_DELEGATION4args& args);
Op4<LOCK4resok, LOCK4denied> lock(Compound& compound, const LOCK4args& args);
Op4<void, LOCK4denied> lockt(Compound& compound, const LOCKT4args& args);
Op4<stateid4> locku(Compound& compound, const LOCKU4args& args);
Op4<OPEN4resok> open(Compound& compound, const OPEN4args& args);
Op4<OPEN_CONFIRM4resok> open_confirm(Compound& compound, const OPEN_CONFIRM4args& args);
Op4<OPEN_DOWNGRADE4resok> open_downgrade(Compound& compound, const OPEN_DOWNGRADE4args& args);
Op4<> release_lockowner(Compound& compound, const RELEASE_LOCKOWNER4args& args);
Op4<TEST_STATEID4resok> test_stateid(Compound& compound, const TEST_STATEID4args& args);

}  // namespace braid::nfs4::ops
