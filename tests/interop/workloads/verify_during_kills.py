"""kill -9 of the server, again and again, while fio writes at random and verifies what it reads: no error, no damage."""

import random

from harness.client import Lab, step
from harness.fio_rounds import FioRounds

RUNS = ("ext4", "ext4,4.2")
TAKES_S = 40
TIMEOUT_S = 400

# Both jobs verify each block soon after it was written, and the whole file at the end; fio leaves at the first block
# that differs. One writes past the client's cache.
FIO = ("--size=8m", "--bs=4k", "--rw=randwrite", "--verify=crc32c", "--verify_fatal=1", "--verify_backlog=256", "--invalidate=1",
       "--end_fsync=1", "--ioengine=psync", "--name=cached", "--name=direct", "--direct=1", "--bs=16k")

lab = Lab()
fio = FioRounds(lab.ready(size_mib=256), FIO)
# Each finds other opens and locks to be reclaimed; NFSv3 has only data.
for number in range(10 if lab.version == "3" else 20):
    enough = random.randrange(20, 800)
    fio.await_calls(enough)
    step(f"kill {number + 1} after {enough} reads and writes, {fio.done()} rounds done")
    lab.kill()
    lab.start()
fio.stop()
