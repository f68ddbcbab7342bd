"""RDMA: our own calling side writes and reads files of every size through a real device, beside a Linux client."""

import os
import subprocess

from harness.client import Lab, equal, expect, metric, read_file, step, write_file
from harness.constants import ADDRESS, RDMA_PORT

MACHINE = "rdma"
RUNS = ("tmpfs",)
VERSIONS = ("4.2",)
TAKES_S = 60
TIMEOUT_S = 240

CLIENT = os.path.join(os.environ["INTEROP_PROGRAMS"], "braid-rdma-file")
# Within the inline size, just beyond it, beyond one call.
SIZES = (0, 1, 1000, 4096, 5000, 65_536, 1_000_003, (3 << 20) + 17)


def call(*words, **options):
    return subprocess.run([CLIENT, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, **options)


lab = Lab()
lab.export()
lab.serve(config=lab.config())
mnt = lab.mount(version="4.2", proto="rdma")

for size in SIZES:
    step(f"{size} bytes")
    data = os.urandom(size)
    write_file(f"{mnt}/ours{size}", b"")
    done = call("write", ADDRESS, str(RDMA_PORT), f"ours{size}", input=data)
    equal((done.returncode, done.stderr), (0, b""), "the exit status of the writer")
    equal(read_file(f"{lab.path}/ours{size}"), data, "what the server has of it")
    write_file(f"{mnt}/theirs{size}", data)
    done = call("read", ADDRESS, str(RDMA_PORT), f"theirs{size}", str(size))
    equal((done.returncode, done.stderr), (0, b""), "the exit status of the reader")
    equal(done.stdout, data, "what it has read")

step("what is not there")
done = call("read", ADDRESS, str(RDMA_PORT), "none", "10")
equal((done.returncode, done.stderr), (1, b"braid-rdma-file: COMPOUND: NFS4ERR_NOENT\n"), "the error")
done = call("read", ADDRESS, "20050", "none", "10")
equal(done.returncode, 1, "the exit status without a server")
expect(done.stderr.startswith(b"braid-rdma-file: connecting: "), f"it says {done.stderr}")
equal(metric("braid_rdma_accepted_total"), 2 + 2 * len(SIZES), "connections: of the mount, and one for each call")
