// Threads that work when nobody waits for them.
#pragma once

namespace braid::base {

// Nice value of such threads: they get a tenth of what another one gets of a busy processor (setpriority(2)).
// Not less: they may hold locks that others wait for.
constexpr int background_nice = 10;

// From now on the calling thread, and no other, gives way to others for its processor and for its disk. It
// cannot take that back without CAP_SYS_NICE. Linux has the nice value for each thread.
void give_way_to_others();

}  // namespace braid::base
