"""The part of bench/recall --layouts that runs in the client."""

import contextlib
import os
import statistics
import time

from harness import pnfs
from harness.client import Lab, expect, metric, write_file

FILES = int(os.environ["RECALL_FILES"])
BYTES = 2 * pnfs.UNIT  # on two of the data servers

lab = Lab()
lab.export()
pnfs.serve(lab)
# Linux is one client for each minor version.
holder = lab.mount(version="4.2" if os.environ["RECALL_NFS"] != "4.2" else "4.1", at="/run/holder")
mnt = lab.mount(version=os.environ["RECALL_NFS"])


def truncation(path):
    """Milliseconds that it takes to cut the file to half of it."""
    begin = time.monotonic()
    os.truncate(path, BYTES // 2)
    return (time.monotonic() - begin) * 1000


def line(title, taken):
    taken.sort()
    print(f"{title:<52} {statistics.mean(taken):8.2f} {statistics.median(taken):8.2f} "
          f"{taken[int(len(taken) * 0.99)]:8.2f} {taken[-1]:8.2f}", flush=True)
    return statistics.median(taken)


def held(name, stack):
    """A new file that the other client has open, and a layout of, and does nothing with."""
    file = stack.enter_context(open(f"{holder}/{name}", "wb"))
    file.write(b"x" * BYTES)
    file.flush()
    os.fsync(file.fileno())


print(f"{f'{FILES} files, milliseconds':<52} {'mean':>8} {'median':>8} {'99 %':>8} {'most':>8}")
for number in range(FILES):
    write_file(f"{holder}/free{number}", b"x" * BYTES)
free = line("truncation: nobody has a layout of the file", [truncation(f"{mnt}/free{n}") for n in range(FILES)])
with contextlib.ExitStack() as stack:
    for number in range(FILES):
        held(f"held{number}", stack)
    before = metric("braid_pnfs_layouts_recalled_total")
    recalled = line("truncation: another client has a layout of it",
                    [truncation(f"{mnt}/held{n}") for n in range(FILES)])
    count = int(metric("braid_pnfs_layouts_recalled_total") - before)
expect(count > FILES * 0.9, f"only {count} layouts were recalled")
print(f"{'the recall: the difference of the medians':<52} {'':>8} {recalled - free:8.2f}", flush=True)
