"""A client has a layout of a file that others cut, or that it cuts itself: it is asked for it in the first case, keeps it in
the second, and goes on by a layout in both. One that ignores the recall is shut out after a lease."""

import errno
import os
import time

from harness.client import Lab, drop_caches, equal, expect, metric, read_file, refused, step, until
from harness.constants import PORT
from harness.layout_client import LayoutClient
from harness.pnfs import configuration, events, in_band, pattern, serve

RUNS = ("ext4,4.2",)
TAKES_S = 25

SIZE = 3_000_000
NO_LAYOUT = 10080  # NFS4ERR_PNFS_NO_LAYOUT

lab = Lab()
lab.export()
serve(lab)
mnt = lab.mount()
# Another minor version is another client, by its name.
others = {version: lab.mount(at=f"/run/v{version}", version=version) for version in ("3", "4.1")}


def counts():
    """(recalled, returned)"""
    return metric("braid_pnfs_layouts_recalled_total"), metric('braid_pnfs_layouts_ended_total{how="returned"}')


def granted():
    return sum(metric(f'braid_pnfs_layouts_granted_total{{iomode="{iomode}"}}') for iomode in ("read", "read-write"))


def written(file, data, offset):
    """Writes by the layout, to the disks; says how many writes went to data servers."""
    before = events(mnt)[1]
    os.pwrite(file, data, offset)
    os.fsync(file)
    return events(mnt)[1] - before


for version, other in others.items():
    step(f"a file that is open for writing is cut by NFS {version}")
    path = f"file-{version}"
    data = pattern(SIZE, path)
    file = os.open(f"{mnt}/{path}", os.O_RDWR | os.O_CREAT, 0o644)
    expect(written(file, data, 0) > 0, "nothing was written by a layout")
    recalled, returned = counts()
    times = []
    for size in (2_000_003, 1_500_001, 1_000_003):
        expect(written(file, data[:4096], 0) > 0, f"nothing was written by a layout before the cut to {size}")
        begin = time.monotonic()
        os.truncate(f"{other}/{path}", size)
        times.append(time.monotonic() - begin)
    equal(counts(), (recalled + 3, returned + 3), "layouts that were recalled and returned")
    step(f"  which took {', '.join(f'{1000 * seconds:.1f}' for seconds in sorted(times))} ms")
    expected = data[:1_000_003]
    drop_caches()
    equal(read_file(f"{mnt}/{path}"), expected, "what is left, for who had the layout")
    more = pattern(200_000, "more")
    expect(written(file, more, 1_500_000) > 0, "after the recall nothing was written by a layout")
    expected += bytes(1_500_000 - len(expected)) + more
    os.close(file)
    drop_caches()
    for where in (mnt, *others.values()):
        equal(read_file(f"{where}/{path}"), expected, f"the file at {where}")

step("the holder cuts its own file, again and again")
file = os.open(f"{mnt}/own", os.O_RDWR | os.O_CREAT, 0o644)
expected = pattern(SIZE, "own")
expect(written(file, expected, 0) > 0, "nothing was written by a layout")
before = counts(), granted(), in_band("WRITE")
for size in (2_000_000, 2_500_000, 700_001):
    os.ftruncate(file, size)
    expected = expected[:size] + bytes(max(0, size - len(expected)))
    more = pattern(100_000, str(size))
    expect(written(file, more, size) > 0, f"after the cut to {size} nothing was written by a layout")
    expected += more
equal((counts(), granted(), in_band("WRITE")), before,
      "recalls and returns, layouts, writes at the metadata server")
os.close(file)
drop_caches()
for where in (mnt, *others.values()):
    equal(read_file(f"{where}/own"), expected, f"the file at {where}")

step("a client ignores the recall and writes on")
client = LayoutClient("deaf")
client.open("deaf")
client.layoutget()
equal(client.write(0, b"by its layout"), 0, "status of a write by its layout")
begin = time.monotonic()
waiting = os.fork()
if waiting == 0:
    os.truncate("/run/v3/deaf", 5)
    os._exit(0)
until(lambda: metric("braid_pnfs_layouts_recalled_total") > before[0][0], "the recall")
equal(client.write(0, b"BY"), 0, "status of a write before its lease is over")
client.renew_until(lambda: metric('braid_pnfs_layouts_ended_total{how="revoked"}') > 0)
until(lambda: os.waitpid(waiting, os.WNOHANG) != (0, 0), "the truncation")
expect(time.monotonic() - begin > 4, "the layout was taken back before a lease was over")
equal(client.write(0, b"late"), NO_LAYOUT, "status of a write after that")
equal(read_file("/run/v3/deaf"), b"BY it", "the bytes of the file")
step("and gets another layout")
client.layoutget()
equal(client.write(0, b"next"), 0, "status of a write by the next layout")
drop_caches()
equal(read_file(f"{mnt}/deaf"), b"nextt", "the bytes of the file")
step("which it does not use, and that is told")
past = 'braid_pnfs_in_band_callers_total{operation="write",version="4.1",layout="yes"}'
before_it = metric(past)
equal(client.write_in_band(0, b"other"), 0, "status of a write through the metadata server")
equal(metric(past) - before_it, 1, "writes of clients that have a layout")
until(lambda: "layouts_unused" in lab.log(), "the log line")
drop_caches()
equal(read_file(f"{mnt}/deaf"), b"other", "the bytes of the file")
client.close()

step("the export becomes read-only: who may write by a layout gives it back")
file = os.open(f"{mnt}/last", os.O_RDWR | os.O_CREAT, 0o644)
expect(written(file, pattern(SIZE, "last"), 0) > 0, "nothing was written by a layout")
recalled, returned = counts()
lab.reload(configuration(lab, "read_only = true"))
until(lambda: counts() == (recalled + 1, returned + 1), "the layout to be recalled and returned")
grants = granted()
with refused(errno.EROFS):
    os.pwrite(file, b"more", 0)
    os.fsync(file)
equal(granted(), grants, "layouts granted after that")
lab.reload(configuration(lab))
os.close(file)

step("the export is suspended: who has a layout gives it back before, and gets another one afterwards")
file = os.open(f"{mnt}/suspended", os.O_RDWR | os.O_CREAT, 0o644)
expect(written(file, pattern(SIZE, "suspended"), 0) > 0, "nothing was written by a layout")
recalled, returned = counts()
lab.host(f"/proc/{lab.server_pid()}/exe export suspend / --port {PORT}")
equal(counts(), (recalled + 1, returned + 1), "layouts that were recalled and returned")
lab.host(f"/proc/{lab.server_pid()}/exe export resume / --port {PORT}")
expect(written(file, pattern(SIZE, "resumed"), 0) > 0, "after that nothing was written by a layout")
os.close(file)
drop_caches()
equal(read_file(f"{mnt}/suspended"), pattern(SIZE, "resumed"), "the bytes of the file")
