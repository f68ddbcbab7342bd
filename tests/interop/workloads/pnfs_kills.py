"""Files are written by layouts while data servers and the metadata server are killed: nothing that was written is lost."""

import hashlib
import os
import threading
import time

from harness.client import Lab, drop_caches, equal, expect, sha256, step, write_file
from harness.pnfs import SERVERS, await_removal, events, pattern, serve

RUNS = ("ext4,4.2",)
TAKES_S = 25
TIMEOUT_S = 300

SIZE = 3_000_000

lab = Lab()
lab.export()
serve(lab)
mnt = lab.mount()
written = {}
stop = threading.Event()


def writer(name):
    count = 0
    while not stop.is_set():
        path = f"{mnt}/{name}-{count}"
        data = pattern(SIZE, path)
        write_file(path, data)
        descriptor = os.open(path, os.O_RDONLY)
        os.fsync(descriptor)
        os.close(descriptor)
        written[path] = hashlib.sha256(data).hexdigest()
        count += 1


step("kill -9 of each data server, and of the metadata server, while two processes write")
threads = [threading.Thread(target=writer, args=(name,)) for name in ("one", "two")]
for thread in threads:
    thread.start()
for number in range(1, SERVERS + 1):
    time.sleep(1)
    lab.data_server(number, "SIGKILL")
    time.sleep(0.3)
    lab.data_server(number)
lab.kill()
lab.start()
time.sleep(1)
stop.set()
for thread in threads:
    thread.join()
expect(events(mnt)[1] > 0, "nothing was written by a layout")

step("each file is what was written, by its layout and through the metadata server")
other = lab.mount(at="/run/v3", version="3")
for where in (mnt, other):
    drop_caches()
    for path, digest in written.items():
        equal(sha256(path.replace(mnt, where)), digest, f"{path} at {where}")

step("and nothing is left when they are removed")
for path in written:
    os.unlink(path)
await_removal(lab)
