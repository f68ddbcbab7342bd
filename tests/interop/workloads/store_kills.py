"""The server is killed, or loses its power, again and again, while fio writes, verifies what it reads, all of it is sealed and garbage is collected without end: no error, no damage."""

import random

from harness.client import Lab, equal, step, until
from harness.fio_rounds import FioRounds
from harness.store import SealingAndCollecting, Store

RUNS = ("xfs", "ext4,4.2", "btrfs,4.2")
TAKES_S = 50
TIMEOUT_S = 400

# Blocks at random, through the client's cache and past it, and a stream that has windows. As in verify_during_kills.
FIO = ("--size=8m", "--bs=4k", "--rw=randwrite", "--verify=crc32c", "--verify_fatal=1", "--verify_backlog=256", "--invalidate=1",
       "--end_fsync=1", "--ioengine=psync", "--name=cached", "--name=direct", "--direct=1", "--bs=16k",
       "--name=stream", "--direct=0", "--rw=write", "--bs=1m", "--size=16m", "--verify_backlog=8")

lab = Lab()
lab.ready(size_mib=512)
exported = lab.path
medium = lab.export(name="store", size_mib=1024)
lab.path = exported
store = Store(lab, 'gc_keep_seconds = 0\ningest = "window"', f"{medium}/store")
mnt = lab.mount()
ends = [lab.kill]
# btrfs has no call that takes its disk away.
if not lab.variant.startswith("btrfs"):
    ends.append(lambda: lab.power_cut("data", "store"))
fio = FioRounds(mnt, FIO)
with SealingAndCollecting(store):
    for number in range(lab.rounds or 4):
        for end in ends:
            fio.await_calls(random.randrange(200, 2000))
            step(f"end {number + 1}, {fio.done()} rounds done, {store.figure('files_sealed_total'):.0f} files sealed, "
                 f"{store.figure('gc_total'):.0f} collections")
            equal(store.figure("gc_alarm"), 0, "no alarm of the garbage collection")
            end()
            lab.start()
    # Each server counts from its start.
    until(lambda: store.figure("files_sealed_total") > 0 and store.figure("gc_total") > 0, "something to be sealed and collected")
    fio.stop()
equal(store.figure("gc_alarm"), 0, "no alarm of the garbage collection")
store.end({})
