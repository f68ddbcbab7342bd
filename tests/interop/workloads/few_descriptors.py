"""A server that may open 256 descriptors serves 2,000 files in use at once, also when clients of NFSv4 hold them open."""

import os
import resource

from harness.client import Lab, drop_caches, equal, expect, read_file, step, write_file

RUNS = ("ext4", "ext4,4.0", "ext4,4.2")
TAKES_S = 20

FILES = 2000
LIMIT = 256

lab = Lab()
lab.export()
lab.serve(open_files_max=LIMIT)
mnt = lab.mount()


def content(number):
    return str(number).encode() * 10


def check_descriptors():
    count = int(lab.host(f"ls /proc/{lab.server_pid()}/fd | wc -l"))
    expect(count <= LIMIT, f"{count} descriptors")
    print(f"  the server has {count} descriptors open")


def in_use_at_once():
    step("open, write and read them in turn")
    descriptors = [os.open(f"{mnt}/{number}", os.O_RDWR | os.O_CREAT) for number in range(FILES)]
    for number, descriptor in enumerate(descriptors):
        os.write(descriptor, content(number))
    os.sync()
    for _ in range(2):
        drop_caches()
        for number, descriptor in enumerate(descriptors):
            equal(os.pread(descriptor, 100, 0), content(number), f"file {number}")
        check_descriptors()
    for descriptor in descriptors:
        os.close(descriptor)


# NFSv4 clients tell the server what they have open: those that are not used give their descriptors back.
def open_at_once():
    step("write them one after the other")
    for number in range(FILES):
        write_file(f"{mnt}/{number}", content(number))
    step("hold all of them open")
    held = [os.open(f"{mnt}/{number}", os.O_RDWR) for number in range(FILES)]
    check_descriptors()
    step("each can be used")
    drop_caches()
    for number, descriptor in enumerate(held):
        equal(os.pread(descriptor, 100, 0), content(number), f"file {number}")
        os.pwrite(descriptor, content(number), 0)
        os.fsync(descriptor)
    check_descriptors()
    for descriptor in held:
        os.close(descriptor)
    equal(read_file(f"{mnt}/{FILES - 1}"), content(FILES - 1), "a file afterwards")


resource.setrlimit(resource.RLIMIT_NOFILE, (FILES + 100, FILES + 100))
if lab.version == "3":
    in_use_at_once()
else:
    open_at_once()
equal(len(os.listdir(mnt)) - 1, FILES, "files")
