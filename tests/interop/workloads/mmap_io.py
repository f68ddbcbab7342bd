"""Shared and private mappings: written pages reach the server, a second mapping and read() see them."""

import mmap
import os

from harness.client import Lab, drop_caches, equal, expect, join, read_file, start, step, write_file

RUNS = ("tmpfs", "ext4,4.2")

PAGE = mmap.PAGESIZE
PAGES = 512


def page(number):
    return bytes((number * 7 + offset) % 251 for offset in range(16)) * (PAGE // 16)


lab = Lab()
mnt = lab.ready()
path = f"{mnt}/mapped"

step("write through a shared mapping")
write_file(path, b"")
descriptor = os.open(path, os.O_RDWR)
os.ftruncate(descriptor, PAGES * PAGE)
with mmap.mmap(descriptor, PAGES * PAGE) as mapping:
    for number in range(0, PAGES, 2):
        mapping[number * PAGE:(number + 1) * PAGE] = page(number)
    mapping.flush()
    on_server = lab.host(f"od -An -v -tx1 -j {6 * PAGE} -N 16 {lab.path}/mapped").split()
    equal(bytes.fromhex("".join(on_server)), page(6)[:16], "a flushed page on the server")
    equal(os.pread(descriptor, 16, 10 * PAGE), page(10)[:16], "read() beside the mapping")
    os.pwrite(descriptor, page(3), 3 * PAGE)
    equal(mapping[3 * PAGE:3 * PAGE + 16], page(3)[:16], "the mapping beside write()")
os.close(descriptor)

step("read back through a mapping")
drop_caches()
with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapping:
    equal(len(mapping), PAGES * PAGE, "length")
    for number in range(PAGES):
        wanted = page(number) if number % 2 == 0 or number == 3 else bytes(PAGE)
        expect(mapping[number * PAGE:(number + 1) * PAGE] == wanted, f"page {number} differs")

step("a private mapping changes nothing")
before = read_file(path)
with open(path, "r+b") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY) as mapping:
    mapping[:PAGE] = b"p" * PAGE
drop_caches()
expect(read_file(path) == before, "a private mapping changed the file")

step("two processes share a mapping")
with open(path, "r+b") as file, mmap.mmap(file.fileno(), 0) as mapping:
    def other():
        with open(path, "r+b") as again, mmap.mmap(again.fileno(), 0) as second:
            second[PAGE:PAGE + 5] = b"other"

    join(start(other))
    equal(mapping[PAGE:PAGE + 5], b"other", "what the other process wrote")

step("truncate under a mapping, extend again: zeros")
with open(path, "r+b") as file, mmap.mmap(file.fileno(), 0) as mapping:
    os.ftruncate(file.fileno(), PAGE + 100)
    os.ftruncate(file.fileno(), 2 * PAGE)
    expect(mapping[PAGE + 100:2 * PAGE] == bytes(PAGE - 100), "bytes behind a truncation are not zero")
    mapping[2 * PAGE - 1:2 * PAGE] = b"!"
drop_caches()
data = read_file(path)
equal((len(data), data[PAGE:PAGE + 5], data[-1:]), (2 * PAGE, b"other", b"!"), "the file at the end")
expect(data[PAGE + 100:-1] == bytes(PAGE - 101), "bytes behind a truncation came back")

step("run a program from the mount")
os.system(f"cp /bin/true {mnt}/program")
drop_caches()
equal(os.system(f"{mnt}/program"), 0, "status of a program on the mount")
