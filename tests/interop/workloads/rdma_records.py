"""RDMA: records of 1 KiB to 1 MiB at any offset and of any length, past the client's cache."""

import os
import random

from harness.client import Lab, equal, expect, read_file, step

MACHINE = "rdma"
RUNS = ("tmpfs",)
VERSIONS = ("4.2", "3")
TAKES_S = 80
TIMEOUT_S = 240

MIB = 1 << 20
SIZE = 3 * MIB
chance = random.Random(5)

lab = Lab()
lab.export()
lab.serve()


def records():
    """(offset, length): each size by itself, a little more and less, where pages and segments begin and where not."""
    size = 1024
    while size <= MIB:
        for length in (size, size - 1, size + 3):
            yield chance.randrange(0, SIZE - MIB, 4096), min(length, MIB)
            yield chance.randrange(SIZE - MIB), min(length, MIB)
        size *= 2
    yield 0, 1
    yield 4095, 2


for version in ("3", "4.2"):
    step(f"NFSv{version}")
    mnt = lab.mount(version=version, proto="rdma")
    wanted = bytearray(SIZE)
    descriptor = os.open(f"{mnt}/file", os.O_RDWR | os.O_CREAT | os.O_DIRECT)
    os.ftruncate(descriptor, SIZE)
    for offset, length in records():
        data = chance.randbytes(length)
        equal(os.pwrite(descriptor, data, offset), length, f"bytes written at {offset}")
        wanted[offset:offset + length] = data
        with open(f"{lab.path}/file", "rb") as local:
            local.seek(offset)
            expect(local.read(length) == data, f"{length} bytes written at {offset} differ on the server")
        begin = chance.randrange(SIZE - length)
        expect(os.pread(descriptor, length, begin) == wanted[begin:begin + length],
               f"{length} bytes read at {begin} differ")
    expect(read_file(f"{lab.path}/file") == wanted, "the file on the server differs")
    equal(os.pread(descriptor, MIB, SIZE - 1001), bytes(wanted[-1001:]), "a read across the end")
    equal(os.pread(descriptor, 70_000, SIZE + 5), b"", "a read behind the end")
    os.close(descriptor)
    os.unlink(f"{mnt}/file")
    lab.unmount()
