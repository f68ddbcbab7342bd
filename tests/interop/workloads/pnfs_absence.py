"""Data servers that are away: what does not need them goes on, what does waits, and fails when they are lost; back again, they
are led to at once."""

import errno
import json
import os
import threading
import time

from harness.client import Lab, drop_caches, equal, expect, read_file, step, until, write_file
from harness.pnfs import SERVERS, await_contact, braid, configuration, in_band, pattern, start_servers

RUNS = ("ext4,4.2",)
TAKES_S = 40
TIMEOUT_S = 110  # Linux keeps a device that has failed out of use for 120 seconds

LOST_S = 10
SIZE = 300_000

lab = Lab()
lab.export()
lab.serve(config=configuration(lab, cluster=f"lost_seconds = {LOST_S}\n"))
start_servers(lab)
mnt = lab.mount()
other = lab.mount(at="/run/v3", version="3", options="noac")


def server_of(name):
    """The number of the only data server that has the file."""
    where = braid(lab, f"location --json {lab.path}/narrow/{name}")
    return int(json.loads(where)["servers"][0]["name"].removeprefix("ds"))


def by_layout(name):
    """Writes a new file and syncs it; whether none of it went through the metadata server."""
    before = in_band("WRITE")
    with open(f"{mnt}/{name}", "wb") as file:
        file.write(pattern(SIZE, name))
        file.flush()
        os.fsync(file.fileno())
    return in_band("WRITE") == before


step("files of one server each")
os.mkdir(f"{mnt}/narrow")
os.setxattr(f"{mnt}/narrow", "user.braid.stripe", b"width=1")
names = [str(number) for number in range(2 * SERVERS)]
for name in names:
    write_file(f"{mnt}/narrow/{name}", pattern(SIZE, name))
os.sync()
places = {name: server_of(name) for name in names}
away = places[names[0]]
there = next(name for name in names if places[name] != away)

step("a silent server holds up nobody who does not need it")
growing = open(f"{mnt}/narrow/{names[0]}", "ab", buffering=0)
growing.write(b"more")
os.fsync(growing.fileno())
lab.data_server(away, "SIGSTOP")
drop_caches()
for name in names[1:]:
    equal(os.stat(f"{other}/narrow/{name}").st_size, SIZE, f"the size of {name}")
equal(read_file(f"{mnt}/narrow/{there}"), pattern(SIZE, there), "a file of another server")
with open(f"{other}/narrow/{there}", "r+b") as file:
    file.write(b"new")

step("who needs it waits, and has an error when it is lost")
outcomes = []


def read_lost():
    try:
        outcomes.append(read_file(f"{other}/narrow/{names[0]}"))
    except OSError as error:
        outcomes.append(error.errno)


reader = threading.Thread(target=read_lost)
reader.start()
reader.join()
equal(outcomes, [errno.EIO], "what a read brings")
try:
    os.stat(f"{other}/narrow/{names[0]}")
    outcomes.append("a size")
except OSError as error:
    outcomes.append(error.errno)
equal(outcomes, [errno.EIO] * 2, "what is told of a file that was being written")

step("when it is back, it has what it had")
lab.data_server(away, "SIGCONT")
await_contact(lab)
drop_caches()
equal(read_file(f"{other}/narrow/{names[0]}"), pattern(SIZE, names[0]) + b"more", "the file")
growing.close()

step("one that starts anew is led to, though clients have found it gone")
expect(by_layout("before"), "a file was written through the metadata server")
lab.data_server(away, "SIGKILL")
writer = threading.Thread(target=by_layout, args=("without",))
writer.start()
time.sleep(1)
lab.data_server(away)
writer.join()
step("what was written meanwhile is there")
files = iter(range(1000))
until(lambda: by_layout(f"after-{next(files)}"), "a new file to go straight to the servers", 0.5)
drop_caches()
for name in ("before", "without"):
    equal(read_file(f"{other}/{name}"), pattern(SIZE, name), name)
