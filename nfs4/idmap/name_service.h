// Who knows which user has which number.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"

namespace braid::nfs4 {

enum class IdKind : std::uint8_t { user, group };

// May block for as long as a directory server takes; called on threads of the blocking pool. Thread-safe.
class NameService {
 public:
  virtual ~NameService() = default;
  // Nothing: there is none such. An error: it could not be found out now.
  virtual base::Result<std::optional<std::uint32_t>> id_of(IdKind kind, const std::string& name) = 0;
  virtual base::Result<std::optional<std::string>> name_of(IdKind kind, std::uint32_t id) = 0;
};

// The name service switch of this machine (nsswitch.conf(5)): files, LDAP, SSSD ...
class SystemNames final : public NameService {
 public:
  base::Result<std::optional<std::uint32_t>> id_of(IdKind kind, const std::string& name) override;
  base::Result<std::optional<std::string>> name_of(IdKind kind, std::uint32_t id) override;
};

}  // namespace braid::nfs4
