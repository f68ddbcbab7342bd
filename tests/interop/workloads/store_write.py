"""Clients write over sealed files, cut them, punch and fill them; in between they are sealed again, and the server is killed."""

import ctypes
import os
import random

from harness.client import Lab, drop_caches, equal, expect, read_file, run, step, write_file

RUNS = ("ext4", "xfs", "ext4,4.2", "btrfs,4.2")
TAKES_S = 60
TIMEOUT_S = 400

SIZE = 4_000_000
FIO = ("fio", "--name=over", "--size=4m", "--bs=4k", "--rw=randwrite", "--ioengine=psync", "--fsync=128", "--randseed=7",
       "--verify=crc32c", "--verify_fatal=1", "--output=/run/tmp/fio")
libc = ctypes.CDLL(None, use_errno=True)

lab = Lab()
mnt = lab.ready(size_mib=512)
source = random.Random(2)
wanted = {"small": bytearray(source.randbytes(20_000)), "large": bytearray(source.randbytes(SIZE)),
          "text": bytearray(b"".join(b"%d\n" % i for i in range(400_000)))}
for name, data in wanted.items():
    write_file(f"{mnt}/{name}", bytes(data))
run(*FIO, f"--directory={mnt}", "--do_verify=1")
lab.unmount()
braid = lab.host(f"readlink /proc/{lab.server_pid()}/exe").strip()
store = lab.path + "-store"
with_store = (f'[[store]]\nname = "s"\ndirectory = "{store}"\n[[export]]\npath = "/"\ndirectory = "{lab.path}"\n'
              'squash = "none"\nstore = "s"\n')


def sealed():
    lab.stop()
    lab.host(f"{braid} store seal {lab.path} --store {store}")
    lab.serve(config=with_store)
    return lab.mount()


def fallocate(fd, mode, offset, length):
    done = libc.fallocate(fd, mode, ctypes.c_long(offset), ctypes.c_long(length))
    expect(done == 0, f"fallocate: {os.strerror(ctypes.get_errno())}")


def change(fd, data):
    """One of what programs do to files."""
    at, count = source.randrange(len(data) + 5000), source.randrange(1, source.choice((300, 9000, 200_000)))
    kind = source.randrange(9)
    if kind == 0:
        os.ftruncate(fd, at)
        del data[at:]
        data.extend(bytes(at - len(data)))
    elif kind == 1 and lab.version == "4.2":
        fallocate(fd, 3, at, count)
        end = min(at + count, len(data))
        data[at:end] = bytes(max(0, end - at))
    elif kind == 2 and lab.version == "4.2":
        fallocate(fd, 0, at, count)
        data.extend(bytes(max(0, at + count - len(data))))
    else:
        fresh = source.randbytes(count)
        equal(os.pwrite(fd, fresh, at), count, "bytes written")
        data.extend(bytes(max(0, at - len(data))))
        data[at:at + count] = fresh
    if source.randrange(4) == 0:
        os.fsync(fd)


def is_as_it_should_be():
    drop_caches()
    for name, data in wanted.items():
        expect(read_file(f"{mnt}/{name}") == bytes(data), f"{name} differs")


for round_number in range(3):
    step(f"round {round_number}: sealed, and written over")
    mnt = sealed()
    is_as_it_should_be()
    for name, data in wanted.items():
        fd = os.open(f"{mnt}/{name}", os.O_RDWR)
        for _ in range(30):
            change(fd, data)
        os.fsync(fd)
        os.close(fd)
    is_as_it_should_be()
    run(*FIO, f"--directory={mnt}", "--do_verify=1")
    lab.kill()
    lab.start()
    is_as_it_should_be()
    run(*FIO, f"--directory={mnt}", "--verify_only=1")
    lab.unmount()

step("most of a file that was written over is still in the store")
mnt = sealed()
with open(f"{mnt}/text", "r+b") as file:
    file.write(b"first")
wanted["text"][0:5] = b"first"
os.sync()
is_as_it_should_be()
lab.unmount()
stub = int(lab.host(f"sync -f {lab.path}; du -sk {lab.path}/text").split()[0])
expect(stub < 200, f"{stub} KiB of it are in the tree")

step("unsealed")
lab.stop()
lab.host(f"{braid} store unseal {lab.path} --store {store}")
lab.host(f"{braid} check {store} --deep")
lab.start()
mnt = lab.mount()
is_as_it_should_be()
lab.unmount()
