"""RDMA: every version of NFS mounts, and 16 MiB that were written are read back from the server as they were."""

import os

from harness.client import Lab, drop_caches, equal, expect, run, step
from harness.mountstats import rdma_counts

MACHINE = "rdma"
RUNS = ("tmpfs",)
VERSIONS = ("4.2", "4.1", "4.0", "3")
TAKES_S = 120
TIMEOUT_S = 400

BYTES = 16 << 20
DATA = "/run/tmp/data"

lab = Lab()
lab.export(size_mib=200)
lab.serve()
run("dd", "if=/dev/urandom", f"of={DATA}", "bs=1M", f"count={BYTES >> 20}")
for version in ("3", "4.0", "4.1", "4.2"):
    step(f"NFSv{version}")
    mnt = lab.mount(version=version, proto="rdma")
    with open("/proc/self/mounts", encoding="utf-8") as mounts:
        options = next(line for line in mounts if f" {mnt} nfs" in line)
    expect(f"vers={version}," in options and "proto=rdma" in options, f"mounted otherwise than asked: {options}")
    run("dd", f"if={DATA}", f"of={mnt}/file", "bs=1M", "conv=fsync")
    run("cmp", DATA, f"{lab.path}/file")
    drop_caches()
    run("cmp", DATA, f"{mnt}/file")
    counts = rdma_counts(mnt)
    step(" ".join(f"{name}={count}" for name, count in counts.items()))
    expect(counts["read_chunks"] > 0, "what was written was not moved through chunks")
    expect(counts["filled_bytes"] >= BYTES, "what was read was not moved through chunks")
    for name in ("bad_xids", "bad_replies"):
        equal(counts[name], 0, name)
    os.unlink(f"{mnt}/file")
    lab.unmount()
