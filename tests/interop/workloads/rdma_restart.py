"""RDMA: kill -9 and restarts of the server while clients write: all that was acknowledged is there."""

import glob
import os

from harness.client import Lab, step
from harness.journal import DATA_AND_NAMES, survive

MACHINE = "rdma"
RUNS = ("tmpfs",)
VERSIONS = ("4.2", "3")
TAKES_S = 110
TIMEOUT_S = 400

lab = Lab()
lab.export(size_mib=256)
lab.serve()
for version in ("3", "4.2"):
    step(f"NFSv{version}")
    os.mkdir(f"{lab.path}/{version}")
    mnt = lab.mount(f"/{version}", version=version, proto="rdma")
    ways = iter((lab.kill, lab.stop, lab.kill))

    def crash(ways=ways):
        next(ways)()
        lab.start()

    survive(mnt, crash, DATA_AND_NAMES, rounds=3, crash_at_the_end=False)
    lab.unmount()
    for journal in glob.glob("/run/tmp/*.journal"):
        os.unlink(journal)
