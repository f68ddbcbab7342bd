"""Power cuts of the server: what no flush brought to the disk is lost; all that was acknowledged is there."""

from harness.client import Lab
from harness.journal import DATA_AND_NAMES, DIRECTORIES, survive

VARIANTS = ("ext4", "xfs")
VERSIONS = ("4.0", "4.1", "4.2")
TIMEOUT_S = 240

lab = Lab()
mnt = lab.ready(size_mib=512)


def crash():
    lab.power_cut()
    lab.start()


survive(mnt, crash, DATA_AND_NAMES, rounds=3, crash_at_the_end=True)
survive(mnt, crash, DIRECTORIES, rounds=4, crash_at_the_end=True)
