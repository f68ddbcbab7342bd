"""Files that are open while they are removed, renamed or replaced stay readable and writable, and vanish at close."""

import errno
import glob
import os

from harness.client import Lab, drop_caches, equal, expect, join, read_file, refused, start, step, until, write_file

RUNS = ("tmpfs", "ext4,4.0", "ext4,4.2")
TAKES_S = 20


def silly(directory):
    """Names that the client gave to open files that were removed."""
    return glob.glob(f"{directory}/.nfs*")


def names():
    return sorted(set(os.listdir(mnt)) - {"lost+found"})


def becomes(look, wanted, what):
    """The client removes its placeholders in the background, some time after the last close."""
    until(lambda: look() == wanted, f"{what}: {wanted}")


def unlink_of_an_open_file():
    step("unlink of an open file")
    descriptor = os.open(f"{mnt}/a", os.O_RDWR | os.O_CREAT)
    os.write(descriptor, b"x" * 100_000)
    os.unlink(f"{mnt}/a")
    with refused(errno.ENOENT):
        os.stat(f"{mnt}/a")
    equal(len(silly(mnt)), 1, "placeholders while the file is open")
    os.pwrite(descriptor, b"tail", 200_000)
    os.fsync(descriptor)
    drop_caches()
    equal(os.pread(descriptor, 8, 199_996), b"\0\0\0\0tail", "data of the removed file")
    equal(os.fstat(descriptor).st_size, 200_004, "size of the removed file")
    write_file(f"{mnt}/a", b"another")
    equal(os.pread(descriptor, 4, 0), b"xxxx", "data of the removed file beside a new one")
    os.close(descriptor)
    becomes(lambda: silly(mnt), [], "placeholders after close")
    equal(read_file(f"{mnt}/a"), b"another", "the new file")
    os.unlink(f"{mnt}/a")


def unlink_with_two_openers():
    step("unlink while two processes have the file open")
    write_file(f"{mnt}/two", b"two")
    first = os.open(f"{mnt}/two", os.O_RDONLY)
    reader, writer = os.pipe()

    def second():
        descriptor = os.open(f"{mnt}/two", os.O_RDONLY)
        os.write(writer, b"1")
        os.close(writer)
        while os.path.exists(f"{mnt}/two"):
            pass
        equal(os.read(descriptor, 10), b"two", "data in the second process")

    child = start(second)
    os.read(reader, 1)
    os.unlink(f"{mnt}/two")
    join(child)
    equal(os.read(first, 10), b"two", "data after the second closed")
    os.close(first)
    becomes(names, [], "what is left")


def rename_over_an_open_file():
    step("rename over an open file")
    write_file(f"{mnt}/old", b"old data")
    write_file(f"{mnt}/new", b"new data")
    descriptor = os.open(f"{mnt}/old", os.O_RDWR)
    os.rename(f"{mnt}/new", f"{mnt}/old")
    equal(os.pread(descriptor, 100, 0), b"old data", "the replaced file")
    os.pwrite(descriptor, b"OLD", 0)
    os.fsync(descriptor)
    equal(read_file(f"{mnt}/old"), b"new data", "the replacing file")
    os.close(descriptor)
    # The client removes the replaced file after close() has returned: it does not wait for the answer.
    becomes(names, ["old"], "what is left")
    drop_caches()
    equal((names(), read_file(f"{mnt}/old")), (["old"], b"new data"), "after close")
    os.unlink(f"{mnt}/old")


def rename_of_an_open_file():
    step("rename of an open file")
    os.mkdir(f"{mnt}/dir")
    descriptor = os.open(f"{mnt}/before", os.O_RDWR | os.O_CREAT)
    os.write(descriptor, b"one ")
    os.rename(f"{mnt}/before", f"{mnt}/dir/after")
    os.write(descriptor, b"two")
    os.fsync(descriptor)
    equal(lab.host(f"cat {lab.path}/dir/after"), "one two", "the renamed file on the server")
    os.close(descriptor)
    os.unlink(f"{mnt}/dir/after")
    os.rmdir(f"{mnt}/dir")


def many_open_files():
    step("1,000 open files, all removed")
    os.mkdir(f"{mnt}/many")
    descriptors = []
    for number in range(1000):
        descriptor = os.open(f"{mnt}/many/{number}", os.O_RDWR | os.O_CREAT)
        os.write(descriptor, str(number).encode())
        os.unlink(f"{mnt}/many/{number}")
        descriptors.append(descriptor)
    drop_caches()
    for number, descriptor in enumerate(descriptors):
        equal(os.pread(descriptor, 10, 0), str(number).encode(), f"removed file {number}")
        os.close(descriptor)
    becomes(lambda: os.listdir(f"{mnt}/many"), [], "what is left")
    os.rmdir(f"{mnt}/many")


def removed_working_directory():
    step("removed directory that is open")
    os.mkdir(f"{mnt}/gone")
    descriptor = os.open(f"{mnt}/gone", os.O_RDONLY)
    os.rmdir(f"{mnt}/gone")
    with refused(errno.ENOENT, errno.ESTALE):
        os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=descriptor)
    os.close(descriptor)
    expect(not os.path.exists(f"{mnt}/gone"), "the directory still exists")


lab = Lab()
mnt = lab.ready()
unlink_of_an_open_file()
unlink_with_two_openers()
rename_over_an_open_file()
rename_of_an_open_file()
many_open_files()
removed_working_directory()
