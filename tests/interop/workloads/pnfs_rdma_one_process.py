"""RDMA: each role of one process has a port of its own, and clients are led to the right one."""

import hashlib

from harness.client import METRICS, Lab, drop_caches, equal, expect, metric, sha256, step, until, write_file
from harness.pnfs import SERVERS, events, in_band, pattern

MACHINE = "rdma"
RUNS = ("tmpfs,4.2",)
TAKES_S = 30

SIZE = 8 * 1024 * 1024

lab = Lab()
lab.export(size_mib=256)
lab.serve(more=f"--data-servers {SERVERS} --metrics {METRICS}")
until(lambda: all(metric(f'braid_pnfs_contact{{role="ds{number}"}}') == 1 for number in range(1, SERVERS + 1)),
      "the data servers to be in contact")
mnt = lab.mount(proto="rdma")
step("a file is written and read by its layout")
data = pattern(SIZE, "one process")
write_file(f"{mnt}/file", data)
drop_caches()
equal(sha256(f"{mnt}/file"), hashlib.sha256(data).hexdigest(), "what is read back")
reads, writes = events(mnt)
expect(reads > 0 and writes > 0, f"the client sent {reads} reads and {writes} writes by a layout")
equal((in_band("READ"), in_band("WRITE")), (0, 0), "READ and WRITE at the metadata server")
equal(metric("braid_rdma_accepted_total"), 1 + SERVERS, "connections by RDMA")
