// The operations of RFC 7530, 8881, 7862 and 8276 as a table.
#pragma once

#include "nfs4/operation_table.h"

namespace braid::nfs4 {

// Every operation by its rules; those that a list of ops/operations.h implements have a handler.
OperationTable standard_operations();

}  // namespace braid::nfs4
