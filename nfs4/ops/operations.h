// The operations that the folder ops/ implements, by subject. Each list lies beside its operations.
#pragma once

#include <span>

#include "nfs4/operation_handler.h"

namespace braid::nfs4::ops {

// Filehandles, names and data: file_operations.cc
std::span<const Binding> file_operations();
// GETATTR, SETATTR, VERIFY, NVERIFY, READDIR: attribute_operations.cc
std::span<const Binding> attribute_operations();
// Clients and sessions: client_operations.cc
std::span<const Binding> client_operations();
// Opens, locks and delegations: open_operations.cc
std::span<const Binding> open_operations();
// What 4.2 added: extended_operations.cc
std::span<const Binding> extended_operations();

}  // namespace braid::nfs4::ops
