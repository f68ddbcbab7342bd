// Which grant numbers may still be in use: what data servers are told, so that they refuse all lower ones.
#pragma once

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
    Hold(Hold&& other) noexcept { take_from(other); }
    Hold& operator=(Hold&& other) noexcept {
      if (this == &other) return *this;
      release();
      take_from(other);
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
    explicit Hold(LiveGrants& of);
    void take_from(Hold& other) noexcept;
    void release();
    LiveGrants* of_ = nullptr;  // null: in no list
    Hold* previous_ = nullptr;
    Hold* next_ = nullptr;
    pnfs::GrantNumber number_;
  };

  // Of the number that Grants::next() will give, which is to be called after this.
  [[nodiscard]] Hold begin() { return Hold(*this); }
  // No layout that anybody has was granted by a lower number. Never goes down.
  [[nodiscard]] pnfs::GrantNumber lowest() const;

 private:
  // All of them, the lowest first. Numbers are given out in their order, so a new one comes last, and one
  // that is narrowed passes few.
  struct List {
    Hold* first = nullptr;
    Hold* last = nullptr;
    // Behind `before`; null: as the first.
    void put(Hold& hold, Hold* before);
    void take_out(const Hold& hold);
  };
  const Grants& grants_;
  base::Guarded<List> held_;
};

}  // namespace braid::pnfs_mds::layouts
