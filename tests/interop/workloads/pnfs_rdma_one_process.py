"""RDMA: each role of one process has a port of its own, and clients are led to the right one."""

from harness.client import Lab, equal, metric, step
from harness.pnfs import SERVERS, pattern, serve_together, write_and_read

MACHINE = "rdma"
RUNS = ("tmpfs,4.2",)
TAKES_S = 30

SIZE = 8 * 1024 * 1024

lab = Lab()
lab.export(size_mib=256)
serve_together(lab)
mnt = lab.mount(proto="rdma")
step("a file is written and read by its layout")
write_and_read(mnt, "file", pattern(SIZE, "one process"))
equal(metric("braid_rdma_accepted_total"), 1 + SERVERS, "connections by RDMA")
