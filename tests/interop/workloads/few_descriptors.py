"""A server that may open 256 descriptors serves 2,000 files in use at once; over NFSv4 it says when there are too many."""

import errno
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


def open_until_refused():
    held = []
    try:
        for number in range(FILES):
            held.append(os.open(f"{mnt}/{number}", os.O_RDWR))
    except OSError as error:
        equal(error.errno, errno.EREMOTEIO, "the error")
    return held


# NFSv4 clients tell the server what they have open, and it keeps that open.
def open_at_once():
    step("write them one after the other")
    for number in range(FILES):
        write_file(f"{mnt}/{number}", content(number))
    step("hold open as many as possible")
    held = open_until_refused()
    print(f"  {len(held)} files are open")
    expect(LIMIT // 8 < len(held) < LIMIT, f"{len(held)} files could be opened")
    check_descriptors()
    step("what is open works on")
    drop_caches()
    for number, descriptor in enumerate(held):
        equal(os.pread(descriptor, 100, 0), content(number), f"file {number}")
        os.pwrite(descriptor, content(number), 0)
        os.fsync(descriptor)
    equal(os.stat(f"{mnt}/{FILES - 1}").st_size, len(content(FILES - 1)), "the size of a file that is not open")
    step("what is closed makes room")
    for descriptor in held[len(held) // 2:]:
        os.close(descriptor)
    equal(read_file(f"{mnt}/{FILES - 1}"), content(FILES - 1), "another file")
    for descriptor in held[:len(held) // 2]:
        os.close(descriptor)


resource.setrlimit(resource.RLIMIT_NOFILE, (FILES + 100, FILES + 100))
if lab.version == "3":
    in_use_at_once()
else:
    open_at_once()
equal(len(os.listdir(mnt)) - 1, FILES, "files")
