// Between user and group numbers and what NFSv4 calls them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/guarded.h"
#include "base/siphash.h"
#include "io/blocking_pool.h"
#include "io/op.h"
#include "nfs4/idmap/expiring_cache.h"
#include "nfs4/idmap/name_service.h"
#include "nfs4/idmap/owner_text.h"

namespace braid::nfs4 {

struct IdMapOptions {
  std::string domain{};  // of "user@domain"; empty: only numbers are understood
  // Owners are sent as "user@domain" where there is a name. Off, they are numbers, which is what Linux
  // clients expect with sec=sys (nfs4_disable_idmapping).
  bool send_names = false;
  std::size_t entries_max = 4096;  // remembered answers, for each direction
  base::Duration found_for = std::chrono::minutes(10);
  base::Duration absent_for = std::chrono::minutes(1);
};

enum class IdError : std::uint8_t {
  unknown,  // no such user or group: NFS4ERR_BADOWNER
  later,    // the name service or the pool cannot tell now: NFS4ERR_DELAY
};

template <class T>
using IdOp = io::Op<T, IdError>;

// Thread-safe. Numbers are translated at once; names wait for the name service in the blocking pool unless
// the answer is remembered. `names`, `pool` and what is passed in outlive every Op; a null pool, or a thread
// without a reactor, means that look-ups run in place.
class IdMap {
 public:
  IdMap(IdMapOptions options, NameService& names, io::BlockingPool* pool, const base::SipKey& key);

  // Numbers without leading zeros are accepted always, names of our domain (whose case does not matter) when
  // there is one.
  [[nodiscard]] IdOp<std::uint32_t> id_of(IdKind kind, std::string_view owner, base::TimePoint now);
  // Whatever has no name is sent as its number; this never fails.
  [[nodiscard]] IdOp<OwnerText> text_of(IdKind kind, std::uint32_t id, base::TimePoint now);
  // The same without waiting; nothing when it would have to.
  [[nodiscard]] std::optional<OwnerText> text_now(IdKind kind, std::uint32_t id, base::TimePoint now) const;

 private:
  struct Number {
    IdKind kind = IdKind::user;
    std::uint32_t id = 0;
    friend bool operator==(const Number&, const Number&) = default;
  };
  struct Name {
    IdKind kind = IdKind::user;
    std::string text;
    friend bool operator==(const Name&, const Name&) = default;
  };
  // Peers choose names and numbers, so they must not be able to choose collisions.
  struct Hash {
    base::SipKey key;
    std::size_t operator()(const Number& number) const;
    std::size_t operator()(const Name& name) const;
  };
  // An absent user is remembered as nothing.
  using Texts = ExpiringCache<Number, OwnerText, Hash>;
  using Ids = ExpiringCache<Name, std::optional<std::uint32_t>, Hash>;

  [[nodiscard]] std::optional<std::string_view> name_in_domain(std::string_view owner) const;
  [[nodiscard]] IdOp<std::uint32_t> look_up_id(Name name, base::TimePoint now);
  [[nodiscard]] IdOp<OwnerText> look_up_text(Number number, base::TimePoint now);
  void remember(const Number& number, const std::optional<std::string>& name, base::TimePoint now);

  const IdMapOptions options_;
  NameService& names_;
  io::BlockingPool* const pool_;
  base::Guarded<Texts> texts_;
  base::Guarded<Ids> ids_;
};

// The part of the machine's host name behind the first dot, in lower case; empty without one. What Linux
// clients (idmapd.conf(5)) assume when they are not told.
std::string domain_of_host();

}  // namespace braid::nfs4
