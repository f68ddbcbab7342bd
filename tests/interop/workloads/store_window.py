"""Clients write streams to an export that seals them while they are written; the server ends, and is killed, in between."""

import os
import random

from harness.client import Lab, drop_caches, equal, expect, read_file, run, step, until, write_file
from harness.mountstats import operations_sent
from harness.store import Store

RUNS = ("ext4", "xfs,4.2", "btrfs,4.2")
TAKES_S = 40
TIMEOUT_S = 300

MIB = 1 << 20
RELOADED = " info reloaded"
FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FIO = ("fio", "--name=over", "--size=8m", "--bs=256k", "--rw=randwrite", "--ioengine=psync", "--fsync=8", "--randseed=9",
       "--verify=crc32c", "--verify_fatal=1", "--output=/run/tmp/fio")

lab = Lab()
lab.ready(size_mib=1024)
store = Store(lab, 'ingest = "window"\nhashing = "cpu"')
mnt = lab.mount()
source = random.Random(4)
wanted = {}


def write(name, data):
    write_file(f"{mnt}/{name}", bytes(data))
    wanted[name] = bytearray(data)


def same(what):
    drop_caches()
    for name, data in wanted.items():
        expect(read_file(f"{mnt}/{name}") == bytes(data), f"{name} differs {what}")


def begins():
    """Whether new files have windows by now: the server looks once a second which exports may."""
    name = f"probe{len(wanted)}"
    write(name, source.randbytes(3 * MIB))  # one WRITE alone is a stable one
    return store.figure("windowed_bytes_total") > 0


step("two copies of a tree of files: the second one is in the store already")
until(begins, "streams to have windows", pause_s=0.2)
for number in range(6):
    write(f"first{number}", source.randbytes(source.randrange(3 * MIB, 9 * MIB)))
found = store.figure("bytes_found_total")
for number in range(6):
    write(f"second{number}", wanted[f"first{number}"])
expect(store.figure("window_sealed_bytes_total") > 0, "nothing was sealed while it was written")
expect(store.figure("bytes_found_total") > found, "nothing of the second copy was known")
equal(store.figure("window_lost_bytes_total"), 0, "bytes lost")
same("after it was written")

step("a client that has written a file, and committed it, reads it from its own cache")
taken = store.figure("windowed_bytes_total")
OWN = [f"own{number}" for number in range(6)]
for name in OWN:
    write(name, source.randbytes(3 * MIB))
expect(store.figure("windowed_bytes_total") > taken, "they had no windows")
run("sh", "-c", f"sleep 4; stat {mnt}/{OWN[0]} >/dev/null")
from_cache = 0
for name in OWN:
    reads = operations_sent(mnt, "READ")
    expect(read_file(f"{mnt}/{name}") == bytes(wanted[name]), f"{name} differs")
    from_cache += operations_sent(mnt, "READ") == reads
# What another call of the client's does to the file in the same moment shows.
expect(from_cache > 0, "each of them was read anew")
print(f"  {from_cache} of {len(OWN)} are in its cache", flush=True)

step("times that a client sets stay, and what it reads before a COMMIT is what it wrote")
with open(f"{mnt}/open", "wb") as file:
    data = source.randbytes(5 * MIB)
    file.write(data)
    file.flush()
    equal(os.fstat(file.fileno()).st_size, len(data), "the size of what is open")
    expect(read_file(f"{mnt}/open") == data, "what is open differs")
    os.utime(file.fileno(), (1000, 2000))
wanted["open"] = bytearray(data)
drop_caches()
equal(os.stat(f"{mnt}/open").st_mtime, 2000, "the mtime that was set")
run(*FIO, f"--directory={mnt}", "--do_verify=1")

step("files are cut, gone on with, and written over")
for number in range(6):
    name = f"first{number}"
    with open(f"{mnt}/{name}", "r+b") as file:
        for _ in range(4):
            at, fresh = source.randrange(len(wanted[name])), source.randbytes(source.randrange(1, 2 * MIB))
            file.seek(at)
            file.write(fresh)
            wanted[name][at:at + len(fresh)] = fresh
            if source.randrange(2):
                os.fsync(file.fileno())
        size = source.randrange(MIB, 3 * MIB)
        file.truncate(size)
        del wanted[name][size:]
        file.seek(size)
        fresh = source.randbytes(2 * MIB)
        file.write(fresh)
        wanted[name].extend(fresh)
same("after it was cut and gone on with")

# Linux sends a COMMIT when it likes to.
BY_HAND = "from faults import nfs3; from harness.constants import ADDRESS, PORT; client = nfs3.Client(ADDRESS, PORT); "
UNIT = 256 << 10


def by_hand(code):
    return lab.host(f"cd / && PYTHONPATH={FOLDER} python3 -B -c \"{BY_HAND}{code}\"").strip()


def stream_by_hand(name):
    """A new file of 4 MiB that is not committed; the verifiers that its WRITEs were answered with."""
    taken = store.figure("windowed_bytes_total")
    verifiers = by_hand(f"file = client.create(client.root, '{name}')[1]; "
                        f"print(*{{client.write(file, at * {UNIT}, bytes([at]) * {UNIT}, nfs3.UNSTABLE)[3] for at in range(16)}})")
    expect(store.figure("windowed_bytes_total") > taken, "the stream had no window")
    wanted[name] = b"".join(bytes([at]) * UNIT for at in range(16))
    return verifiers


step("an export is added while a stream is in memory, and taken away: a COMMIT has its bytes still")
lab.host(f"mkdir {lab.path}-more")
for number, more in enumerate((f'[[export]]\npath = "/more"\ndirectory = "{lab.path}-more"\n', "")):
    reloads = lab.log().count(RELOADED)
    verifiers = stream_by_hand(f"reloaded{number}")
    lab.reload(store.config + more)
    until(lambda: lab.log().count(RELOADED) > reloads, "the reload")
    committed = by_hand(f"print(client.commit(client.lookup(client.root, 'reloaded{number}')[1])[1])")
    equal(committed, verifiers, "the verifier")
equal(store.figure("window_lost_bytes_total"), 0, "bytes lost")
same("after a reload")

step("an export is suspended while a stream is in memory, and comes back with it")
stream_by_hand("suspended")
lab.host(f"{store.braid} export suspend / --admin {store.admin}")
equal(store.figure("windows"), 0, "windows of an export that is suspended")
lab.host(f"{store.braid} export resume / --admin {store.admin}")
equal(store.figure("window_lost_bytes_total"), 0, "bytes lost")
same("after it was suspended")

step("the server is killed while a stream is written: the client writes once more what was not committed")
for end in (lab.kill, lab.stop, lab.kill):
    name = f"killed{len(wanted)}"
    data = source.randbytes(12 * MIB)
    with open(f"{mnt}/{name}", "wb") as file:
        for at in range(0, len(data), MIB):
            file.write(data[at:at + MIB])
            if at == 6 * MIB:
                file.flush()
                end()
                lab.start()
    wanted[name] = bytearray(data)
    same("after the server has ended")
run(*FIO, f"--directory={mnt}", "--verify_only=1")

step("every byte of the store, and the files without it")
store.end(wanted)
