"""What has been left alone is sealed while clients use it: they notice nothing, and what they wrote last is what they read."""

import fcntl
import os
import random

from harness.client import Lab, drop_caches, equal, expect, read_file, run, step, until, write_file
from harness.mountstats import operations_sent
from harness.store import Store

RUNS = ("ext4", "xfs,4.2", "btrfs,4.2")
TAKES_S = 40
TIMEOUT_S = 300

FIO = ("fio", "--name=over", "--size=4m", "--bs=4k", "--rw=randwrite", "--ioengine=psync", "--fsync=64", "--randseed=9",
       "--verify=crc32c", "--verify_fatal=1", "--output=/run/tmp/fio")

lab = Lab()
lab.ready(size_mib=512)
store = Store(lab)
mnt = lab.mount()
source = random.Random(3)


def sealed():
    return store.figure("files_sealed_total")


def waiting():
    return store.figure("files_waiting")


def space(name):
    """KiB of it that are in the tree."""
    return int(lab.host(f"sync -f {lab.path}; du -sk {lab.path}/{name}").split()[0])


def copy_range(name, begin, to_name, at, count):
    """By COPY; how much of it one call has copied."""
    with open(f"{mnt}/{name}", "rb") as from_file, open(f"{mnt}/{to_name}", "wb") as to_file:
        return os.copy_file_range(from_file.fileno(), to_file.fileno(), count, begin, at)


def look(name):
    now = os.stat(f"{mnt}/{name}")
    return now.st_size, now.st_mtime_ns, now.st_ctime_ns, now.st_mode


step("a client has read a file, and has it open, while it is sealed")
large = source.randbytes(3_000_001)
write_file(f"{mnt}/large", large)
write_file(f"{mnt}/copy", large)
os.sync()
with open(f"{mnt}/large", "rb") as held:
    equal(held.read(), large, "before it is sealed")
    before, reads = look("large"), operations_sent(mnt, "READ")
    until(lambda: space("large") < 100 and space("copy") < 100, "both to be sealed", pause_s=0.5)
    equal(look("large"), before, "size, times and mode")
    held.seek(0)
    equal(held.read(), large, "what is open")
    expect(read_file(f"{mnt}/large") == large, "opened again it differs")
    run("sh", "-c", f"sleep 4; stat {mnt}/large >/dev/null")
    expect(read_file(f"{mnt}/large") == large, "later it differs")
    equal(operations_sent(mnt, "READ"), reads, "READs on the wire since it was sealed")
drop_caches()
equal(look("large"), before, "the server still says the same")
expect(read_file(f"{mnt}/large") == large and read_file(f"{mnt}/copy") == large, "what the server has differs")
expect(operations_sent(mnt, "READ") > reads, "the caches were dropped")
stored = store.stored_kib()
expect(stored < 4500, f"equal files are kept once: {stored} KiB")

if lab.version == "4.2":
    # btrfs has no call that takes its disk away.
    cut = lab.kill if lab.variant.startswith("btrfs") else lab.power_cut
    step("a clone and a copy of it share the chunks, and are there after the server was killed or lost its power")
    equal(copy_range("large", 0, "shared", 0, len(large)), len(large), "bytes copied")
    equal(copy_range("large", 5000, "part", 70_000, 1_000_000), 1_000_000, "bytes of a part copied")
    # Each is the last that is done before the power goes: a CLONE is on the medium when it is answered, and what
    # is copied when the COMMIT is that the client sends behind COPY.
    run("cp", "--reflink=always", f"{mnt}/large", f"{mnt}/clone")
    cut()
    lab.start()
    equal(copy_range("large", 0, "last", 0, len(large)), len(large), "bytes copied last")
    cut()
    lab.start()
    drop_caches()
    for name in ("clone", "shared", "last"):
        expect(read_file(f"{mnt}/{name}") == large, f"{name} differs")
        expect(space(name) < 100, f"{name} has {space(name)} KiB of its own")
    expect(read_file(f"{mnt}/part") == bytes(70_000) + large[5000:1_005_000], "a part differs")
    expect(store.stored_kib() < stored + 200, f"{store.stored_kib()} KiB are stored, {stored} before")
    for name in ("clone", "shared", "part", "last"):
        os.unlink(f"{mnt}/{name}")

step("clients write to what was sealed, and it is sealed again")
run(*FIO, f"--directory={mnt}", "--do_verify=1")
wanted = {"large": bytearray(large), "copy": bytearray(large)}
for round_number in range(6):
    for name, data in wanted.items():
        with open(f"{mnt}/{name}", "r+b") as file:
            for _ in range(20):
                fresh = source.randbytes(source.randrange(1, 20_000))
                at = source.randrange(len(data))
                file.seek(at)
                file.write(fresh)
                data[at:at + len(fresh)] = fresh
            if round_number == 3:
                file.truncate(1_000_000)
                del data[1_000_000:]
            file.flush()
            os.fsync(file.fileno())
    until(lambda: waiting() == 0, "what was written to be sealed", pause_s=0.2)
    drop_caches()
    for name, data in wanted.items():
        expect(read_file(f"{mnt}/{name}") == bytes(data), f"{name} differs in round {round_number}")
expect(sealed() >= 8, f"only {sealed()} files were sealed")
run(*FIO, f"--directory={mnt}", "--verify_only=1")

if lab.version != "3":
    step("a client has a file open and locked, and writes to its beginning all the time: the rest is sealed, and is there after a crash")
    image, stored = bytearray(source.randbytes(16 << 20)), store.stored_kib()
    with open(f"{mnt}/image", "w+b", buffering=0) as held:
        held.write(image)
        fcntl.lockf(held, fcntl.LOCK_EX, 1, 100)

        def written_once_more():
            for _ in range(10):
                fresh = source.randbytes(5000)
                at = source.randrange(400_000)
                os.pwrite(held.fileno(), fresh, at)
                image[at:at + len(fresh)] = fresh
            os.fsync(held.fileno())

        # XFS keeps space behind the end of a file that is open.
        def rest_is_sealed():
            written_once_more()
            return store.stored_kib() > stored + 15_000

        until(rest_is_sealed, "all but the beginning to be sealed", pause_s=0.2)
        drop_caches()
        expect(os.pread(held.fileno(), len(image), 0) == bytes(image), "what is open differs")
        written_once_more()
        lab.kill()
        lab.start()
        written_once_more()
        drop_caches()
        expect(os.pread(held.fileno(), len(image), 0) == bytes(image), "what is open differs after a crash")
    wanted["image"] = image

step("the server is killed while it seals, then its disk loses power")
for end in (lab.kill,) if lab.variant.startswith("btrfs") else (lab.kill, lab.power_cut):
    for number in range(20):
        data = source.randbytes(200_000)
        wanted[f"file{number}"] = bytearray(data)
        with open(f"{mnt}/file{number}", "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    count = sealed()
    until(lambda: sealed() > count or waiting() == 0, "some of them to be sealed", pause_s=0.1)
    end()
    lab.start()
    drop_caches()
    for name, data in wanted.items():
        expect(read_file(f"{mnt}/{name}") == bytes(data), f"{name} differs")
run(*FIO, f"--directory={mnt}", "--verify_only=1")

step("without its index the store has what it had, and finds it again")
# What waited when the server ended waits no more.
store.command(f"seal {lab.path}")
stored = store.stored_kib()
lab.kill()
lab.host(f"rm -r {store.directory}/index")
lab.start()
count = sealed()
for number in range(10):
    wanted[f"again{number}"] = wanted[f"file{number}"]
    write_file(f"{mnt}/again{number}", wanted[f"file{number}"])
os.sync()
until(lambda: sealed() >= count + 10, "them to be sealed", pause_s=0.2)
expect(store.stored_kib() < stored + 500, f"{store.stored_kib()} KiB are stored, {stored} before")

step("by an administrator: all of it is sealed, then unsealed")
store.command(f"seal {lab.path}")
lab.host(f"{store.braid} status --admin {store.admin} | grep '^Store s in '")
drop_caches()
for name, data in wanted.items():
    expect(read_file(f"{mnt}/{name}") == bytes(data), f"{name} differs")
store.end(wanted)
