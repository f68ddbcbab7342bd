// Which grant numbers may still be in use: what data servers are told, so that they refuse all lower ones.
#pragma once

#include <cstdint>
#include <set>
#include <utility>

#include "base/guarded.h"
#include "pnfs/data_handle.h"
#include "pnfs_mds/counter.h"

namespace braid::pnfs_mds::layouts {

// Thread-safe. Outlives its holds.
class LiveGrants {
 public:
  // `grants` outlives it.
  explicit LiveGrants(const Grants& grants) : grants_(grants) {}
  LiveGrants(const LiveGrants&) = delete;
  LiveGrants& operator=(const LiveGrants&) = delete;

  // As long as there is one, lowest() does not pass its number.
  class Hold {
   public:
    Hold() = default;
    Hold(Hold&& other) noexcept : of_(std::exchange(other.of_, nullptr)), number_(other.number_) {}
    Hold& operator=(Hold&& other) noexcept {
      std::swap(of_, other.of_);
      std::swap(number_, other.number_);
      return *this;
    }
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;
    ~Hold() { release(); }

    // The number that was taken after begin().
    void narrow(pnfs::GrantNumber number);
    // That one; 0: there is none.
    [[nodiscard]] pnfs::GrantNumber number() const { return number_; }

   private:
    friend class LiveGrants;
    Hold(LiveGrants& of, pnfs::GrantNumber number) : of_(&of), number_(number) {}
    void release();
    LiveGrants* of_ = nullptr;
    pnfs::GrantNumber number_;
  };

  // Of the number that Grants::next() will give, which is to be called after this.
  [[nodiscard]] Hold begin();
  // No layout that anybody has was granted by a lower number. Never goes down.
  [[nodiscard]] pnfs::GrantNumber lowest() const;

 private:
  const Grants& grants_;
  base::Guarded<std::multiset<pnfs::GrantNumber>> held_;
};

}  // namespace braid::pnfs_mds::layouts
