// When a card is asked whether a batch has ended.
#pragma once

#include "base/clock.h"

namespace braid::hashing {

// Of one batch.
struct Looks {
  base::TimePoint first{};  // when the card is to be asked
  // Again and again for so long since it was, and then in intervals.
  base::Duration steady{};
  base::TimePoint steady_until{};
  unsigned count = 0;  // since `first`
};

// Who asks too early has asked in vain, and who asks too late has let the card wait: it is first asked
// shortly before the batch is expected to have ended. A batch that had ended when it was first asked for may
// have ended long before, since a sleep takes longer than it was meant to: then the next one is asked for
// earlier, until one is not finished yet. Not synchronised.
class LookPlan {
 public:
  [[nodiscard]] Looks plan(base::TimePoint started, base::Duration expected) const;
  // The card is asked now.
  static void look(Looks& looks, base::TimePoint now);
  // When to look. Not after `now`: at once.
  [[nodiscard]] static base::TimePoint next(const Looks& looks, base::TimePoint now);
  // The batch has ended, after so many looks.
  void learn(const Looks& looks);

 private:
  double from_ = 0.9;  // of the expected time
};

}  // namespace braid::hashing
