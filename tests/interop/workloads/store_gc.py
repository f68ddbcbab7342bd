"""Garbage is collected without end while clients overwrite, truncate and remove what is sealed: what they wrote last is what they read, and space comes back."""

import os
import random

from harness.client import Lab, drop_caches, equal, expect, read_file, step, until, write_file
from harness.store import Store

RUNS = ("xfs", "ext4,4.2")
TAKES_S = 90
TIMEOUT_S = 400

MIB = 1 << 20

lab = Lab()
lab.ready(size_mib=512)
# On one file system chunks are compressed, too, and there is something to compress.
compresses = lab.variant == "ext4"
store = Store(lab, "gc_keep_seconds = 0\n" + ('compression = "zstd"' if compresses else ""))
mnt = lab.mount()
source = random.Random(5)


def some_bytes(count):
    return source.randbytes(count // 2 + 1).hex().encode()[:count] if compresses else source.randbytes(count)


def collect():
    return store.command("gc")


def in_tree(names):
    """MiB of files that are not in the store."""
    return int(lab.host(f"sync -f {lab.path}; du -scm {lab.path}/{names} | tail -1").split()[0])


def all_sealed(names="*"):
    os.sync()
    until(lambda: in_tree(names) < 3, "what was written to be sealed", pause_s=0.5)


def expect_all(what):
    drop_caches()
    for name, data in wanted.items():
        expect(read_file(f"{mnt}/{name}") == bytes(data), f"{name} differs {what}")


def change(name, data, how):
    path = f"{mnt}/{name}"
    if how == 0:
        os.truncate(path, len(data) // 2)
        del data[len(data) // 2:]
        return
    with open(path, "r+b") as file:
        for _ in range(10):
            fresh = some_bytes(source.randrange(1, 100_000))
            at = source.randrange(len(data))
            file.seek(at)
            file.write(fresh)
            data[at:at + len(fresh)] = fresh


step("clients change what is sealed, seals and collections come in between")
# So that what the rounds leave does not all lie in the last container, which stays.
files = 24 if compresses else 12
wanted = {f"file{i}": bytearray(some_bytes(6 * MIB)) for i in range(files)}
for name, data in wanted.items():
    write_file(f"{mnt}/{name}", data)
all_sealed()
expect((store.stored_kib() < files * 6 * 1024 * 3 // 4) == compresses, f"{store.stored_kib()} KiB are stored")
for round_number in range(8):
    for name in list(wanted)[1:]:
        how = source.randrange(4)
        if how == 3:
            os.unlink(f"{mnt}/{name}")
            wanted[name] = bytearray(some_bytes(2 * MIB))
            write_file(f"{mnt}/{name}", wanted[name])
        elif len(wanted[name]) > MIB:
            change(name, wanted[name], how)
    if round_number % 2 == 0:
        all_sealed()
    else:
        collect()
    expect_all(f"in round {round_number}")
collected = store.figure("gc_total")
until(lambda: store.figure("gc_total") > collected, "garbage to be collected by the server itself", pause_s=0.2)

step("of a container that is in use in part the rest moves")
for name in list(wanted)[1:]:
    os.unlink(f"{mnt}/{name}")
    del wanted[name]
os.sync()
collect()
expect(store.figure("containers_rewritten_total") > 0, "file0 lies in a container whose other chunks are garbage")
expect_all("after it has moved")
for number in range(1, 7):
    wanted[f"file{number}"] = bytearray(some_bytes(2 * MIB))
    write_file(f"{mnt}/file{number}", wanted[f"file{number}"])

step("a file that has no name any more, and is open")
held_bytes = some_bytes(3 * MIB)
write_file(f"{mnt}/held", held_bytes)
all_sealed()
drop_caches()
with open(f"{mnt}/held", "rb") as held:
    os.unlink(f"{mnt}/held")
    collect()
    equal(held.read(), held_bytes, "what is open")

step("space comes back")


def given_back():
    """Containers that are gone: removed, or rewritten where they had chunks of other files. Which, depends on what was
    sealed, or moved, in between."""
    return store.figure("containers_removed_total") + store.figure("containers_rewritten_total")


before = given_back()
for number in range(4):
    write_file(f"{mnt}/large{number}", source.randbytes(48 * MIB))
all_sealed("large*")
full = store.stored_kib()
for number in range(4):
    os.unlink(f"{mnt}/large{number}")
until(lambda: given_back() >= before + 2, "containers to be given back", pause_s=0.2)
until(lambda: store.stored_kib() < full - 2 * 65536, f"less than {full - 2 * 65536} KiB to be stored", pause_s=0.2)
expect_all("after large files were removed")

step("the server is killed while garbage is collected")
for end in (lab.kill, lab.power_cut):
    for name in list(wanted)[::3]:
        os.unlink(f"{mnt}/{name}")
        wanted[name] = bytearray(source.randbytes(2 * MIB))
        write_file(f"{mnt}/{name}", wanted[name])
    all_sealed()
    until(lambda: store.figure("gc_total") > 0, "a collection", pause_s=0.2)
    end()
    lab.start()
    expect_all("after it was killed")

step("damage is found when all chunks are read")
said = store.command("scrub")
expect("chunks were read" in said, said)
equal(store.figure("bad_places"), 0, "places that are damaged")
# The last one, which no collection takes away.
container = lab.host(f"ls {store.directory}/containers/???????? | tail -1").strip()
middle = int(lab.host(f"stat -c %s {container}")) // 2
flip = (f"python3 -c 'f = open(\"{container}\", \"r+b\"); f.seek({middle}); b = f.read(1)[0] ^ 1; f.seek({middle}); "
        "f.write(bytes([b]))'")
lab.host(flip)
said = store.command("scrub", "|| echo it failed")
expect("it failed" in said and "1 PLACES ARE DAMAGED" in said, said)
equal(store.figure("bad_places"), 1, "places that are damaged")
expect("1 PLACES ARE DAMAGED" in store.command(""), "the status says so")
lab.host(flip)
store.command("scrub")
equal(store.figure("bad_places"), 0, "places that are damaged")

step("where something cannot be looked at nothing is removed, and the command says so")
collect()
equal(store.figure("gc_alarm"), 0, "no alarm")
lab.host(f"mv {store.directory}/trees {store.directory}/trees.gone")
said = store.command("gc s", "2>&1 || echo it failed")
expect("it failed" in said and "trees" in said, said)
equal(store.figure("gc_alarm"), 1, "the alarm")
lab.host(f"mv {store.directory}/trees.gone {store.directory}/trees")
collect()
equal(store.figure("gc_alarm"), 0, "no alarm any more")

store.end(wanted)
