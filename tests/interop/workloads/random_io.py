"""Random reads, writes, truncations, appends and mappings of one file, against a model in memory."""

import mmap
import os
import random

from harness.client import Lab, drop_caches, equal, expect, step

RUNS = ("ext4", "tmpfs", "xfs,4.2")
TAKES_S = 30
TIMEOUT_S = 240

OPERATIONS = 2500
SIZE_MAX = 1 << 20
LENGTH_MAX = 100_000


class Model:
    """The file as it must be. Every operation is done to the file and to the bytes here, and compared."""

    def __init__(self, path, seed, flags=0):
        self.chance = random.Random(seed)
        self.descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | flags, 0o644)
        self.path = path
        self.data = bytearray()

    def place(self):
        return self.chance.randrange(SIZE_MAX), self.chance.choice((1, 100, 4096, self.chance.randrange(1, LENGTH_MAX)))

    def put(self, offset, data):
        if offset > len(self.data):
            self.data.extend(bytes(offset - len(self.data)))
        self.data[offset:offset + len(data)] = data

    def write(self):
        offset, length = self.place()
        data = self.chance.randbytes(length)
        equal(os.pwrite(self.descriptor, data, offset), length, "bytes written")
        self.put(offset, data)

    def append(self):
        if len(self.data) < SIZE_MAX:
            data = self.chance.randbytes(self.chance.randrange(1, 5000))
            with open(self.path, "ab", buffering=0) as file:
                file.write(data)
            self.data.extend(data)

    def read(self):
        offset, length = self.place()
        expect(os.pread(self.descriptor, length, offset) == self.data[offset:offset + length],
               f"read of {length} bytes at {offset} differs")

    def truncate(self):
        size = self.chance.choice((0, self.chance.randrange(SIZE_MAX), self.chance.randrange(SIZE_MAX)))
        os.ftruncate(self.descriptor, size)
        if size < len(self.data):
            del self.data[size:]
        else:
            self.data.extend(bytes(size - len(self.data)))

    def map(self):
        if not self.data:
            return
        with mmap.mmap(self.descriptor, len(self.data)) as mapping:
            offset = self.chance.randrange(len(self.data))
            length = min(self.chance.randrange(1, 20_000), len(self.data) - offset)
            expect(mapping[offset:offset + length] == self.data[offset:offset + length], f"mapping at {offset} differs")
            data = self.chance.randbytes(length)
            mapping[offset:offset + length] = data
            self.put(offset, data)

    def flush(self):
        os.fsync(self.descriptor)

    def forget(self):
        drop_caches()

    def check(self):
        equal(os.fstat(self.descriptor).st_size, len(self.data), "size")

    def run(self, operations):
        work = [self.write] * 8 + [self.read] * 8 + [self.map] * 3 + [self.append, self.truncate, self.flush]
        for number in range(operations):
            operation = self.chance.choice(work) if number % 100 else self.forget
            try:
                operation()
                self.check()
            except Exception as error:
                raise RuntimeError(f"operation {number}, {operation.__name__}") from error
        os.close(self.descriptor)


lab = Lab()
seed = int.from_bytes(os.urandom(4), "little")
for options in ("", "rsize=4096,wsize=4096", "sync,noac"):
    step(f"seed {seed}, mount options {options or 'default'}")
    if options:
        lab.unmount()
        mnt = lab.mount(options=options)
    else:
        mnt = lab.ready(size_mib=64)
    model = Model(f"{mnt}/file", seed)
    model.run(OPERATIONS if not options else OPERATIONS // 5)
    equal(lab.host(f"stat -c %s {lab.path}/file").strip(), str(len(model.data)), "size on the server")
    drop_caches()
    with open(f"{mnt}/file", "rb") as file:
        expect(file.read() == model.data, "the file at the end differs")

step("O_DIRECT")
descriptor = os.open(f"{mnt}/direct", os.O_RDWR | os.O_CREAT | os.O_DIRECT)
with mmap.mmap(-1, 1 << 20) as buffer:
    data = random.Random(seed).randbytes(1 << 20)
    buffer[:] = data
    equal(os.pwritev(descriptor, [buffer], 3 << 20), 1 << 20, "bytes written directly")
    buffer[:] = bytes(1 << 20)
    equal(os.preadv(descriptor, [buffer], 3 << 20), 1 << 20, "bytes read directly")
    expect(buffer[:] == data, "data read directly differs")
    equal(os.preadv(descriptor, [buffer], 0), 1 << 20, "bytes read of the hole")
    expect(buffer[:] == bytes(1 << 20), "the hole is not zero")
os.close(descriptor)
