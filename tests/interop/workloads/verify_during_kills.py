"""kill -9 of the server, again and again, while fio writes at random and verifies what it reads: no error, no damage."""

import os
import random

from harness.client import Failure, Lab, join, read_file, run, start, step, until, write_file
from harness.mountstats import operations_sent

RUNS = ("ext4", "ext4,4.2")
TAKES_S = 40
TIMEOUT_S = 400

STOP = "/run/tmp/stop"
# Both jobs verify each block soon after it was written, and the whole file at the end; fio leaves at the first block
# that differs. One writes past the client's cache.
FIO = ("fio", "--size=8m", "--bs=4k", "--rw=randwrite", "--verify=crc32c", "--verify_fatal=1", "--verify_backlog=256",
       "--invalidate=1", "--end_fsync=1", "--ioengine=psync", "--output=/run/tmp/fio", "--directory=" + "{mnt}",
       "--name=cached", "--name=direct", "--direct=1", "--bs=16k")


def verify_on():
    """At least one whole round begins and ends without a kill: what they have left behind is read, too."""
    number, last = 0, False
    while not last:
        last = os.path.exists(STOP)
        run(*(word.format(mnt=mnt) for word in FIO))
        number += 1
        write_file("/run/tmp/rounds", str(number).encode())


lab = Lab()
mnt = lab.ready(size_mib=256)
write_file("/run/tmp/rounds", b"0")
child = start(verify_on)
before = 0
# Each finds other opens and locks to be reclaimed; NFSv3 has only data.
kills = 10 if lab.version == "3" else 20


def used():
    return sum(operations_sent(mnt, name) for name in ("READ", "WRITE"))


def used_since(before, enough):
    if os.waitpid(child, os.WNOHANG) != (0, 0):
        raise Failure("fio ended early")
    return used() >= before + enough


for number in range(kills):
    enough = random.randrange(20, 800)
    until(lambda: used_since(before, enough), f"{enough} reads and writes")
    before = used()
    step(f"kill {number + 1} after {enough} reads and writes, {read_file('/run/tmp/rounds').decode()} rounds done")
    lab.kill()
    lab.start()
write_file(STOP, b"x")
join(child, "fio")
