"""kill -9 of the server, several times, while clients write synchronously: all that was acknowledged is there."""

from harness.client import Lab
from harness.journal import DATA_AND_NAMES, survive

RUNS = ("ext4", "ext4,4.0", "tmpfs,4.2")
TAKES_S = 30
TIMEOUT_S = 240

lab = Lab()
mnt = lab.ready(size_mib=512)


def crash():
    lab.kill()
    lab.start()


# With NFSv4.0 each costs a lease.
survive(mnt, crash, DATA_AND_NAMES, rounds=3 if lab.version == "4.0" else 7, crash_at_the_end=False)
