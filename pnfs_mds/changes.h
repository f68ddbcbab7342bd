// Changes to the bytes of one file that go through the metadata server and have not ended: what data servers
// were told of them may be carried out at any time.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/guarded.h"

namespace braid::pnfs_mds {

// Thread-safe. Outlives its holds.
class Changes {
 public:
  Changes() = default;
  Changes(const Changes&) = delete;
  Changes& operator=(const Changes&) = delete;

  // As long as the change has not ended.
  class Hold {
   public:
    Hold(Hold&& other) noexcept : of_(std::exchange(other.of_, nullptr)), began_(other.began_) {}
    Hold& operator=(Hold&&) = delete;
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;
    ~Hold() {
      if (of_ != nullptr) of_->end(began_);
    }

   private:
    friend class Changes;
    Hold(Changes& of, base::TimePoint began) : of_(&of), began_(began) {}
    Changes* of_;
    base::TimePoint began_;
  };
  [[nodiscard]] Hold begin(base::TimePoint now) {
    began_.with([now](auto& began) { began.push_back(now); });
    return {*this, now};
  }
  // Whether one has not ended that began before `then`.
  [[nodiscard]] bool any_before(base::TimePoint then) const {
    return began_.with([then](const auto& began) {
      return std::ranges::any_of(began, [then](base::TimePoint one) { return one < then; });
    });
  }

 private:
  void end(base::TimePoint began) {
    began_.with([began](auto& all) {
      std::swap(*std::ranges::find(all, began), all.back());
      all.pop_back();
    });
  }

  base::Guarded<std::vector<base::TimePoint>> began_;
};

}  // namespace braid::pnfs_mds
