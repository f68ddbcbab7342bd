"""The part of bench/recall that runs in the client."""

import os
import statistics
import time

from harness.client import Lab, expect, metric, read_file, write_file

FILES = int(os.environ["RECALL_FILES"])

lab = Lab()
lab.export()
lab.serve(config=lab.config(server='delegations = "read"'))
# Linux is one client for each minor version.
holder = lab.mount(version="4.2" if os.environ["RECALL_NFS"] != "4.2" else "4.1", at="/run/holder")
mnt = lab.mount(version=os.environ["RECALL_NFS"])


def files(kind):
    lab.host(f"for i in $(seq {FILES}); do echo x > {lab.path}/{kind}$i; done")
    return [f"{kind}{i}" for i in range(1, FILES + 1)]


def milliseconds(act, names):
    """Of each call of act()."""
    taken = []
    for name in names:
        begin = time.monotonic()
        act(f"{mnt}/{name}")
        taken.append((time.monotonic() - begin) * 1000)
    return taken


def line(title, taken):
    taken.sort()
    print(f"{title:<44} {statistics.mean(taken):8.2f} {statistics.median(taken):8.2f} "
          f"{taken[int(len(taken) * 0.99)]:8.2f} {taken[-1]:8.2f}", flush=True)


print(f"{f'{FILES} files, milliseconds':<44} {'mean':>8} {'median':>8} {'99 %':>8} {'most':>8}")
for title, kind, act in (("REMOVE", "r", os.unlink),
                         ("OPEN, WRITE, CLOSE", "w", lambda path: write_file(path, b"y"))):
    line(f"{title}: nobody has used the file", milliseconds(act, files(f"{kind}-free")))
    names = files(f"{kind}-held")
    for name in names:
        read_file(f"{holder}/{name}")
    before = metric("braid_nfs4_delegations_recalled_total")
    line(f"{title}: delegated to another client", milliseconds(act, names))
    recalled = int(metric("braid_nfs4_delegations_recalled_total") - before)
    # What was recalled in the last 30 seconds is remembered by a hash: some others get no delegation, either.
    expect(recalled > FILES * 0.8, f"only {recalled} files were delegated")
