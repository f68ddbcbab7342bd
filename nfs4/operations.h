// The operations of RFC 7530, 8881, 7862 and 8276 as a table.
#pragma once

#include "nfs4/compound/operation_table.h"

namespace braid::nfs4 {

// Every operation of the minor versions 0 to 2, as a server without layouts has it. Another role replaces
// rows (OperationTable::add), or takes only some (OperationTable::only).
OperationTable standard_operations();

}  // namespace braid::nfs4
