"""What is changed on the server itself is seen by the next lookup; no data goes to a file that is no longer there."""

import errno
import os
import time

from harness.client import Failure, Lab, equal, read_file, refused, step, write_file

RUNS = ("ext4", "tmpfs", "xfs,4.2")

lab = Lab()
# The client caches neither names nor attributes: every answer is the server's.
mnt = lab.ready(options="noac,lookupcache=none")
there = lab.path


def seen(check, *arguments):
    """What a look shows. NFSv4: as soon as a delegation that the change had recalled is back: local programs do not
    wait for that when they change names."""
    while True:
        try:
            return check(*arguments)
        except (Failure, OSError):
            if lab.version == "3":
                raise
            time.sleep(0.005)


def gone(name):
    with refused(errno.ENOENT):
        os.stat(f"{mnt}/{name}")


def holds(name, content):
    equal(read_file(f"{mnt}/{name}"), content, name)


def attributes_are(name, *wanted):
    found = os.stat(f"{mnt}/{name}")
    equal((found.st_size, found.st_mode & 0o777, found.st_uid, found.st_gid), wanted, "attributes")


def lists(name, names):
    equal(sorted(os.listdir(f"{mnt}/{name}")), names, f"the listing of {name}")


step("names come and go")
for round_ in range(10):
    seen(gone, "name")
    lab.host(f"echo {round_} >{there}/name")
    seen(holds, "name", f"{round_}\n".encode())
    lab.host(f"mv {there}/name {there}/renamed")
    seen(gone, "name")
    seen(holds, "renamed", f"{round_}\n".encode())
    lab.host(f"rm {there}/renamed")

step("attributes and data")
lab.host(f"echo one >{there}/file")
equal(read_file(f"{mnt}/file"), b"one\n", "data")
lab.host(f"echo longer >{there}/file; chmod 600 {there}/file; chown 7:8 {there}/file")
seen(attributes_are, "file", 7, 0o600, 7, 8)
lab.host(f"echo two >{there}/kept")
holds("kept", b"two\n")
lab.host(f"chmod 640 {there}/kept")
seen(attributes_are, "kept", 4, 0o640, 0, 0)
equal(read_file(f"{mnt}/file"), b"longer\n", "changed data")
with open(f"{mnt}/file", "rb") as file:
    lab.host(f"echo more >>{there}/file")
    equal(file.read(), b"longer\nmore\n", "data appended while the file is open")

step("a file replaced on the server")
for round_ in range(10):
    lab.host(f"echo new {round_} >{there}/.tmp && mv {there}/.tmp {there}/file")
    seen(holds, "file", f"new {round_}\n".encode())
    with open(f"{mnt}/file", "ab") as file:
        file.write(b"written\n")
    equal(lab.host(f"cat {there}/file"), f"new {round_}\nwritten\n", "what was written after the replacement")

step("a file becomes a directory, and back")
for _ in range(3):
    lab.host(f"rm {there}/file && mkdir {there}/file && touch {there}/file/in")
    seen(lists, "file", ["in"])
    lab.host(f"rm -r {there}/file && echo file >{there}/file")
    seen(holds, "file", b"file\n")

step("directories moved")
os.makedirs(f"{mnt}/a/b/c")
write_file(f"{mnt}/a/b/c/leaf", b"leaf")
descriptor = os.open(f"{mnt}/a/b/c", os.O_RDONLY)
lab.host(f"mkdir {there}/z && mv {there}/a/b {there}/z/moved")
equal(read_file(f"{mnt}/z/moved/c/leaf"), b"leaf", "a file below a moved directory")
equal(os.listdir(descriptor), ["leaf"], "listing of an open directory that was moved")
with refused(errno.ENOENT):
    os.stat(f"{mnt}/a/b")
lab.host(f"mkdir -p {there}/a/b/c && echo other >{there}/a/b/c/leaf")
equal(read_file(f"{mnt}/a/b/c/leaf"), b"other\n", "the file that has the old path now")
os.close(descriptor)

step("a listing sees what the server's side changed")
os.mkdir(f"{mnt}/list")
for round_ in range(5):
    lab.host(f"cd {there}/list && rm -f * && seq -f 'entry-{round_}-%g' 100 | xargs touch")
    equal(sorted(os.listdir(f"{mnt}/list")), sorted(f"entry-{round_}-{n}" for n in range(1, 101)), "listing")
