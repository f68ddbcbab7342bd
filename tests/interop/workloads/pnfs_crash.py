"""A client that writes by layouts crashes, alone or with the metadata server and a data server: what was synced has its size.

Linux says nothing to the metadata server after a write that was stable at once (no LAYOUTCOMMIT): only data servers can.
"""

import os
import signal
import sys

from harness.client import Lab, equal, expect, read_file, start, step, until, write_file
from harness.pnfs import UNIT, await_contact, events, in_band, pattern, serve

RUNS = ("ext4,4.2",)
TAKES_S = 60
TIMEOUT_S = 300

# Which files are written, and how far: small pieces that are stable at once, behind each other and over a hole, one
# that takes several writes and a COMMIT, and one that is open with O_SYNC.
PIECES = {"small": ((0, 700),), "appended": ((0, 500), (500, 800)), "hole": ((3 * UNIT + 17, 100),),
          "large": ((0, 5 * UNIT + 3),), "o_sync": ((0, 2 * UNIT + 5),)}


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
    files = {file: os.open(f"{mnt}/{name(round_, file)}", os.O_RDWR | os.O_CREAT | (os.O_SYNC if file == "o_sync" else 0))
             for file in PIECES}
    data = {file: content(round_, file) for file in PIECES}

    def put(file, offset, count):
        equal(os.pwrite(files[file], data[file][offset:offset + count], offset), count, "bytes written")
        if file != "o_sync":
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

def crash_of_servers(end):
    end()
    lab.data_server(1, "SIGKILL")
    lab.start()
    lab.data_server(1)
    # What the next client writes before that goes through the metadata server.
    await_contact(lab)


def rounds():
    """(name, what happens when the client has crashed)"""
    for number in range(lab.rounds or 1):
        yield f"alone{number}", lambda: None
        yield f"kill{number}", lambda: crash_of_servers(lab.kill)
        yield f"cut{number}", lambda: crash_of_servers(lab.power_cut)


for round_, then in rounds():
    step(f"a client writes and syncs, and crashes ({round_})")
    lab.boot(round_, round_)
    until(lambda: os.path.exists(f"{mnt}/{name(round_, 'written')}"), "the files to be written")
    for file, pieces in PIECES.items():
        equal(os.stat(f"{mnt}/{name(round_, file)}").st_size, sum(pieces[0]), f"the size of {file} so far")
    write_file(f"{mnt}/{name(round_, 'looked')}", b"")
    lab.await_machine(round_)
    equal(in_band("WRITE"), 0, "WRITE at the metadata server")
    lab.crash(round_)
    then()
    for file in PIECES:
        data = content(round_, file)
        equal(os.stat(f"{mnt}/{name(round_, file)}").st_size, len(data), f"the size of {file}")
        equal(read_file(f"{mnt}/{name(round_, file)}"), data, f"the bytes of {file}")

step("a truncation while a server is away is there when it is back, and it reads as zeros what it had")
path = f"{mnt}/{name('kill0', 'large')}"
data = content("kill0", "large")
lab.data_server(2, "SIGKILL")
os.truncate(path, 1000)
os.truncate(path, len(data))
lab.kill()
lab.start()
lab.data_server(2)
equal(read_file(path), data[:1000] + bytes(len(data) - 1000), "what was cut and has grown again")
