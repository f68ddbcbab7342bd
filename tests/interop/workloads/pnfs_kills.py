"""Files are written by layouts while data servers and the metadata server are killed: nothing that was written is lost."""

import hashlib
import os
import shutil
import subprocess
import threading
import time

from harness.client import Lab, drop_caches, equal, expect, sha256, step, write_file
from harness.pnfs import SERVERS, await_removal, events, in_band, pattern, serve

RUNS = ("ext4,4.2",)
TAKES_S = 25
TIMEOUT_S = 300

SIZE = 3_000_000
FIO = shutil.which("fio")
# What fio writes and reads again and compares, each in a file of its own: through the client's cache with an fsync now and
# then, and past it.
CHECKED = {"buffered": ["--fsync=16", "--invalidate=1"], "direct": ["--direct=1"]}

lab = Lab()
# Each of them is killed as often as --rounds says; without it, each data server once and the metadata server once.
data_kills = [number % SERVERS + 1 for number in range(lab.rounds or SERVERS)]
metadata_kills = lab.rounds or 1

lab.export(size_mib=512)
serve(lab)
mnt = lab.mount()
written = {}
checks = dict.fromkeys(CHECKED, 0)
failures = []
stop = threading.Event()


def writer(name):
    count = 0
    while not stop.is_set():
        path = f"{mnt}/{name}-{count % 40}"
        data = pattern(SIZE, f"{path} {count}")
        written.pop(path, None)
        write_file(path, data)
        descriptor = os.open(path, os.O_RDONLY)
        os.fsync(descriptor)
        os.close(descriptor)
        written[path] = hashlib.sha256(data).hexdigest()
        count += 1


def checker(name):
    """Random writes of a file, all of it read again and compared, over and over."""
    while not stop.is_set():
        done = subprocess.run(
            [FIO, "--thread", f"--name={name}", f"--filename={mnt}/{name}", "--rw=randwrite", "--bsrange=4k-128k", "--size=8m",
             "--verify=crc32c", "--verify_fatal=1", f"--randseed={checks[name] + 1}", *CHECKED[name]],
            cwd="/run", stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode != 0:
            failures.append(f"{name}: status {done.returncode}: {done.stdout[-2000:]}")
            return
        checks[name] += 1


def kill_data_server(number):
    lab.data_server(number, "SIGKILL")
    time.sleep(0.3)
    lab.data_server(number)
    time.sleep(1)


def kill_metadata_server():
    lab.kill()
    lab.start()
    time.sleep(1)


step(f"kill -9 of data servers ({len(data_kills)}), and of the metadata server ({metadata_kills}), during writes")
threads = [threading.Thread(target=writer, args=(name,)) for name in ("one", "two")]
if FIO:
    threads += [threading.Thread(target=checker, args=(name,)) for name in CHECKED]
for thread in threads:
    thread.start()
time.sleep(1)
past = 0
for turn in range(max(len(data_kills), metadata_kills)):
    if turn < len(data_kills):
        kill_data_server(data_kills[turn])
    if turn >= len(data_kills) - metadata_kills:
        past += in_band("WRITE")
        kill_metadata_server()
stop.set()
for thread in threads:
    thread.join()
equal(failures, [], "what fio found")
writes = events(mnt)[1]
expect(writes > 0, "nothing was written by a layout")
step(f"{len(written)} files; fio compared {sum(checks.values())} times; {writes} writes by layouts, "
     f"{past + in_band('WRITE'):.0f} through the metadata server")

step("each file is what was written, by its layout and through the metadata server")
other = lab.mount(at="/run/v3", version="3")
for where in (mnt, other):
    drop_caches()
    for path, digest in written.items():
        equal(sha256(path.replace(mnt, where)), digest, f"{path} at {where}")

step("and nothing is left when they are removed")
for path in os.listdir(mnt):
    if path != "lost+found":
        os.unlink(f"{mnt}/{path}")
await_removal(lab)
