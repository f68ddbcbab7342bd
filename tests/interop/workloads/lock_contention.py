"""Two clients want one lock all the time: each gets it in turn, and sees what the other wrote under it."""

import fcntl
import os
import sys
import time

from harness.client import Lab, equal, step, until, write_file

RUNS = ("ext4,4.0", "ext4,4.2")
TAKES_S = 15

ROUNDS = 30
FRESH = "acdirmin=1,acdirmax=1"  # each is to see soon that the other is there
KINDS = {"fcntl": fcntl.lockf, "flock": fcntl.flock}


def contend(mnt, kind):
    """Adds 1 to a number ROUNDS times under a lock. Returns the seconds."""
    begin = time.monotonic()
    with open(f"{mnt}/{kind}", "r+b", buffering=0) as file:
        for _ in range(ROUNDS):
            KINDS[kind](file, fcntl.LOCK_EX)
            number = int(os.pread(file.fileno(), 10, 0))
            os.pwrite(file.fileno(), b"%d" % (number + 1), 0)
            KINDS[kind](file, fcntl.LOCK_UN)
    return time.monotonic() - begin


def meet(mnt, kind, me, other):
    """Both begin when both are there."""
    write_file(f"{mnt}/{kind}-{me}", b"")
    until(lambda: f"{kind}-{other}" in os.listdir(mnt), f"the client {other}")
    return contend(mnt, kind)


def in_other_machine():
    mnt = Lab().mount(options=FRESH)
    for kind in KINDS:
        meet(mnt, kind, "second", "first")


if len(sys.argv) > 1:
    in_other_machine()
    sys.exit()

lab = Lab()
mnt = lab.ready(options=FRESH)
for kind in KINDS:
    write_file(f"{mnt}/{kind}", b"0")
lab.boot("second", "contend")
for kind in KINDS:
    seconds = meet(mnt, kind, "first", "second")
    step(f"{kind}: {ROUNDS} rounds against another client in {seconds:.1f} s")
lab.await_machine("second")
for kind in KINDS:
    equal(int(lab.host(f"cat {lab.path}/{kind}")), 2 * ROUNDS, f"{kind}: what both added")
