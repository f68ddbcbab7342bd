"""A client that writes by layouts crashes, and so do the metadata server and a data server: what was synced has its size.

Linux says nothing to the metadata server after a write that was stable at once (no LAYOUTCOMMIT): only data servers can.
"""

import os
import signal
import sys

from harness.client import Lab, equal, expect, read_file, start, step, until, write_file
from harness.pnfs import UNIT, events, in_band, pattern, serve

RUNS = ("ext4,4.2",)
TAKES_S = 60
TIMEOUT_S = 300

# Which files are written, and how far: small pieces that are stable at once, behind each other and over a hole, and one
# that takes several writes and a COMMIT.
PIECES = {"small": ((0, 700),), "appended": ((0, 500), (500, 800)), "hole": ((3 * UNIT + 17, 100),),
          "large": ((0, 5 * UNIT + 3),)}


def name(round_, file):
    return f"{round_}-{file}"


def content(round_, file):
    size = max(offset + count for offset, count in PIECES[file])
    data = bytearray(size)
    whole = pattern(size, name(round_, file))
    for offset, count in PIECES[file]:
        data[offset:offset + count] = whole[offset:offset + count]
    return bytes(data)


def hold(mnt, round_, ready):
    """Writes the files and keeps them open; what is appended comes after somebody has looked at them."""
    files = {file: os.open(f"{mnt}/{name(round_, file)}", os.O_RDWR | os.O_CREAT) for file in PIECES}
    data = {file: content(round_, file) for file in PIECES}

    def put(file, offset, count):
        equal(os.pwrite(files[file], data[file][offset:offset + count], offset), count, "bytes written")
        os.fsync(files[file])

    for file, pieces in PIECES.items():
        put(file, *pieces[0])
    write_file(f"{mnt}/{name(round_, 'written')}", b"")
    until(lambda: os.path.exists(f"{mnt}/{name(round_, 'looked')}"), "somebody to look")
    for piece in PIECES["appended"][1:]:
        put("appended", *piece)
    expect(events(mnt)[1] >= len(PIECES) + 1, f"only {events(mnt)[1]} writes were sent by a layout")
    os.write(ready, b"x")
    signal.pause()


def in_other_machine(round_):
    ready, done = os.pipe()
    start(hold, Lab().mount(version="4.2", options="actimeo=1"), round_, done)
    os.close(done)
    equal(os.read(ready, 1), b"x", "the word of the process that writes")


if len(sys.argv) > 1:
    in_other_machine(*sys.argv[1:])
    sys.exit()

lab = Lab()
lab.export()
serve(lab)
# This client may have no older attributes than the server: all of this can be over within a second.
mnt = lab.mount(at="/run/v3", version="3", options="noac")

for round_, end in (("kill", lab.kill), ("cut", lab.power_cut)):
    step(f"a client writes and syncs, and crashes, and so do two servers ({round_})")
    lab.boot(round_, round_)
    until(lambda: os.path.exists(f"{mnt}/{name(round_, 'written')}"), "the files to be written")
    for file, pieces in PIECES.items():
        equal(os.stat(f"{mnt}/{name(round_, file)}").st_size, sum(pieces[0]), f"the size of {file} so far")
    write_file(f"{mnt}/{name(round_, 'looked')}", b"")
    lab.await_machine(round_)
    equal(in_band("WRITE"), 0, "WRITE at the metadata server")
    lab.crash(round_)
    end()
    lab.data_server(1, "SIGKILL")
    lab.start()
    lab.data_server(1)
    for file in PIECES:
        data = content(round_, file)
        equal(os.stat(f"{mnt}/{name(round_, file)}").st_size, len(data), f"the size of {file}")
        equal(read_file(f"{mnt}/{name(round_, file)}"), data, f"the bytes of {file}")

step("a truncation while a server is away is there when it is back, and it reads as zeros what it had")
path = f"{mnt}/{name('kill', 'large')}"
data = content("kill", "large")
lab.data_server(2, "SIGKILL")
os.truncate(path, 1000)
os.truncate(path, len(data))
lab.kill()
lab.start()
lab.data_server(2)
equal(read_file(path), data[:1000] + bytes(len(data) - 1000), "what was cut and has grown again")
