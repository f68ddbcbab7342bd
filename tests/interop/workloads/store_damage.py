"""A byte of a store changes: clients get errors for what is in that chunk and for nothing else, never other bytes; the check names the files, and who writes the bytes once more heals them."""

import errno
import mmap
import os
import random

from harness.client import Lab, drop_caches, equal, expect, read_file, step, until, write_file
from harness.store import Store

RUNS = ("xfs", "ext4,4.2")
TAKES_S = 20

BLOCK = 4096
# Of chunks that are cut by "general".
CHUNK_MAX = 256 << 10

lab = Lab()
lab.ready(size_mib=512)
store = Store(lab)
mnt = lab.mount()
source = random.Random(6)
wanted = {"one": source.randbytes(3_000_000), "other": source.randbytes(3_000_000)}
# An equal file has the same chunk, and one that has it elsewhere does.
wanted["equal"] = wanted["one"]
wanted["longer"] = source.randbytes(700_000) + wanted["one"]
AT = 1_500_000  # in "one"


def await_seals(count):
    """Of that many files since the server was started."""
    os.sync()
    until(lambda: store.figure("files_waiting") == 0 and store.figure("files_sealed_total") >= count,
          f"{count} files to be sealed", pause_s=0.2)


def flip(text):
    """Changes the byte in the containers at which these begin."""
    lab.host("/usr/bin/python3 -c '"
             "import glob, sys\n"
             f"for path in glob.glob(\"{store.directory}/containers/*\"):\n"
             "  data = open(path, \"rb\").read()\n"
             f"  at = data.find(bytes.fromhex(\"{text.hex()}\"))\n"
             "  if at >= 0:\n"
             "    with open(path, \"r+b\") as file: file.seek(at); file.write(bytes([data[at] ^ 1]))\n"
             "    sys.exit(0)\n"
             "sys.exit(1)'")


def blocks_lost(name):
    """Which blocks of a file cannot be read; the others are as they were. Past the client's cache, block by block."""
    lost, data = set(), wanted[name]
    room = mmap.mmap(-1, BLOCK)
    descriptor = os.open(f"{mnt}/{name}", os.O_RDONLY | os.O_DIRECT)
    try:
        for at in range(0, len(data), BLOCK):
            try:
                count = os.preadv(descriptor, [room], at)
            except OSError as error:
                equal(error.errno, errno.EIO, f"error of {name} at {at}")
                lost.add(at // BLOCK)
                continue
            equal(count, min(BLOCK, len(data) - at), f"bytes of {name} at {at}")
            expect(room[:count] == data[at:at + count], f"{name} has other bytes at {at}")
    finally:
        os.close(descriptor)
    return lost


step("files that share a chunk")
for file, bytes_of_it in wanted.items():
    write_file(f"{mnt}/{file}", bytes_of_it)
await_seals(len(wanted))
lab.unmount()
lab.stop()

step("a byte of it changes on the medium")
flip(wanted["one"][AT:AT + 64])
said = lab.host(f"{store.braid} check {store.directory} --deep; echo status $?")
expect("status 4" in said, f"the check ended otherwise: {said}")
for file in wanted:
    equal(f"{lab.path}/{file}" in said, file != "other", f"whether the check names {file}: {said}")

step("clients get errors there, and nowhere else")
lab.start()
mnt = lab.mount()
lost = {file: blocks_lost(file) for file in wanted}
equal(lost["other"], set(), "blocks of another file")
equal(lost["equal"], lost["one"], "blocks of an equal file")
for file, at in (("one", AT), ("longer", 700_000 + AT)):
    first, last = min(lost[file]), max(lost[file])
    expect(first <= at // BLOCK <= last, f"{file} can be read where it changed")
    equal(len(lost[file]), last - first + 1, f"blocks of {file} from {first} to {last}")
    expect(len(lost[file]) <= CHUNK_MAX // BLOCK + 1, f"{len(lost[file])} blocks of {file} cannot be read")

step("a client writes the bytes once more: all files are whole")
write_file(f"{mnt}/one", wanted["one"])
await_seals(1)
drop_caches()
for file, bytes_of_it in wanted.items():
    expect(read_file(f"{mnt}/{file}") == bytes_of_it, f"{file} differs")
lab.unmount()
lab.stop()
# The chunk as it was is in its container until that is garbage.
said = lab.host(f"{store.braid} check {store.directory} --deep; echo status $?")
expect("status 4" in said and "1 places" in said, f"the check ended otherwise: {said}")
expect(lab.path + "/" not in said, f"the check names a file: {said}")
