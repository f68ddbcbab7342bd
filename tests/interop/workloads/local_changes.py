"""What is changed on the server itself is seen by the next lookup; no data goes to a file that is no longer there."""

import errno
import os

from harness.client import Lab, equal, read_file, refused, step, write_file

VARIANTS = ("ext4", "xfs", "tmpfs")
VERSIONS = ("4.0", "4.1", "4.2")

lab = Lab()
# The client caches neither names nor attributes: every answer is the server's.
mnt = lab.ready(options="noac,lookupcache=none")
there = lab.path

step("names come and go")
for round_ in range(10):
    with refused(errno.ENOENT):
        os.stat(f"{mnt}/name")
    lab.host(f"echo {round_} >{there}/name")
    equal(read_file(f"{mnt}/name"), f"{round_}\n".encode(), "a new file")
    lab.host(f"mv {there}/name {there}/renamed")
    with refused(errno.ENOENT):
        os.stat(f"{mnt}/name")
    equal(read_file(f"{mnt}/renamed"), f"{round_}\n".encode(), "the renamed file")
    lab.host(f"rm {there}/renamed")

step("attributes and data")
lab.host(f"echo one >{there}/file")
equal(read_file(f"{mnt}/file"), b"one\n", "data")
lab.host(f"echo longer >{there}/file; chmod 600 {there}/file; chown 7:8 {there}/file")
found = os.stat(f"{mnt}/file")
equal((found.st_size, found.st_mode & 0o777, found.st_uid, found.st_gid), (7, 0o600, 7, 8), "attributes")
equal(read_file(f"{mnt}/file"), b"longer\n", "changed data")
with open(f"{mnt}/file", "rb") as file:
    lab.host(f"echo more >>{there}/file")
    equal(file.read(), b"longer\nmore\n", "data appended while the file is open")

step("a file replaced on the server")
for round_ in range(10):
    lab.host(f"echo new {round_} >{there}/.tmp && mv {there}/.tmp {there}/file")
    equal(read_file(f"{mnt}/file"), f"new {round_}\n".encode(), "the replacing file")
    with open(f"{mnt}/file", "ab") as file:
        file.write(b"written\n")
    equal(lab.host(f"cat {there}/file"), f"new {round_}\nwritten\n", "what was written after the replacement")

step("a file becomes a directory, and back")
for _ in range(3):
    lab.host(f"rm {there}/file && mkdir {there}/file && touch {there}/file/in")
    equal(os.listdir(f"{mnt}/file"), ["in"], "listing")
    lab.host(f"rm -r {there}/file && echo file >{there}/file")
    equal(read_file(f"{mnt}/file"), b"file\n", "data")

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
