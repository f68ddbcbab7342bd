"""Power cuts of the server: what no flush brought to the disk is lost; all that was acknowledged is there."""

from harness.client import Lab
from harness.journal import DATA_AND_NAMES, DIRECTORIES, survive

RUNS = ("ext4", "xfs", "ext4,4.2")
TAKES_S = 35
TIMEOUT_S = 240

lab = Lab()
mnt = lab.ready(size_mib=512)


def crash():
    lab.power_cut()
    lab.start()


# With NFSv4.0 each costs a lease.
rounds = 1 if lab.version == "4.0" else 3
survive(mnt, crash, DATA_AND_NAMES, rounds, crash_at_the_end=True)
survive(mnt, crash, DIRECTORIES, rounds + 1, crash_at_the_end=True)
