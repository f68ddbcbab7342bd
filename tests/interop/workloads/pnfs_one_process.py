"""A metadata server and its data servers in one process: bytes go straight to them, also after a kill."""

import hashlib
import os
import subprocess

from harness.client import Lab, drop_caches, equal, sha256, step, until, write_file
from harness.pnfs import SERVERS, await_servers, blocks_below, serve_together, write_and_read

RUNS = ("ext4,4.2",)
TAKES_S = 10

SIZE = 8 * 1024 * 1024
DATA = hashlib.shake_256(b"one process").digest(SIZE)


lab = Lab()
lab.export(size_mib=256)
stores = os.path.join(os.path.dirname(os.path.dirname(lab.path)), "state", "data-servers")
serve_together(lab)
mnt = lab.mount()

step("a file is written and read by its layout")
write_and_read(mnt, "file", DATA)
for number in range(1, SERVERS + 1):
    equal(blocks_below(lab, f"{stores}/ds{number}/objects"), SIZE // SERVERS, f"what data server {number} has of it")

step("after a kill it is all there, on the same servers")
lab.kill()
lab.start()
await_servers()
drop_caches()
equal(sha256(f"{mnt}/file"), hashlib.sha256(DATA).hexdigest(), "a file from before the kill")
write_file(f"{mnt}/after", DATA)
drop_caches()
equal(sha256(f"{mnt}/after"), hashlib.sha256(DATA).hexdigest(), "a file from after it")

step("it ends cleanly in the middle of writes, by layout and by NFS 3, which then go on")
other = lab.mount(at="/run/v3", version="3")
writers = [subprocess.Popen(["dd", "if=/dev/zero", f"of={at}/{name}", "bs=1M", "count=48", "conv=fsync"],
                            stderr=subprocess.DEVNULL) for at, name in ((mnt, "many"), (other, "more"))]
until(lambda: os.path.exists(f"{mnt}/many"), "the writers to begin")
lab.stop()
lab.start()
equal([writer.wait() for writer in writers], [0, 0], "how the writers ended")
for name in ("many", "more"):
    equal(os.stat(f"{mnt}/{name}").st_size, 48 * 1024 * 1024, f"the size of {name}")

step("and it ends cleanly")
lab.unmount(mnt)
lab.unmount(other)
lab.stop()
