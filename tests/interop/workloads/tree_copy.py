"""A tree of 900 files, links and directories is copied in and out; checksums and attributes must be equal."""

import hashlib
import os
import random

from harness.client import Lab, drop_caches, equal, run, step, write_file

RUNS = ("ext4", "xfs,4.2")
TAKES_S = 30
TIMEOUT_S = 240

FILES = 700
DIRECTORIES = 40
SOURCE = "/run/tmp/source"


def make_tree():
    """Sizes from 0 to 2 MiB, modes, times with nanoseconds, symbolic and hard links, deep directories."""
    chance = random.Random(20)
    directories = [SOURCE]
    os.mkdir(SOURCE)
    for number in range(DIRECTORIES):
        path = f"{chance.choice(directories[-12:])}/directory {number}"
        os.mkdir(path)
        directories.append(path)
    for number in range(FILES):
        path = f"{chance.choice(directories)}/file-{number}"
        size = chance.choice((0, 1, 511, 4096, 4097, 20_000, 65_536, chance.randrange(2 << 20) if number % 50 == 0 else 9))
        write_file(path, chance.randbytes(size), chance.choice((0o600, 0o644, 0o755, 0o444)))
        os.utime(path, ns=(chance.randrange(2**60), chance.randrange(2**60)))
        if number % 10 == 0:
            os.symlink(chance.choice(("file-1", "../nowhere", "/etc/passwd")), path + ".symlink")
        if number % 20 == 0:
            os.link(path, path + ".hard")
    return directories


def summary(root):
    """What makes two trees equal: path, type, mode, owner, size, mtime, link count, content."""
    lines = []
    for parent, directories, files in os.walk(root):
        for name in sorted(directories + files):
            path = os.path.join(parent, name)
            stat = os.lstat(path)
            content = ""
            if os.path.islink(path):
                content = os.readlink(path)
            elif os.path.isfile(path):
                with open(path, "rb") as file:
                    content = hashlib.file_digest(file, "sha256").hexdigest()
            size = 0 if os.path.isdir(path) else stat.st_size
            links = 0 if os.path.isdir(path) else stat.st_nlink
            lines.append((os.path.relpath(path, root), oct(stat.st_mode), stat.st_uid, stat.st_gid, size, links,
                          stat.st_mtime_ns, content))
    return sorted(lines)


lab = Lab()
mnt = lab.ready(size_mib=512)
make_tree()
wanted = summary(SOURCE)

step("copy in")
run("cp", "-a", SOURCE, f"{mnt}/copy")
drop_caches()
for got, want in zip(summary(f"{mnt}/copy"), wanted, strict=True):
    equal(got, want, "the copy on the mount")

step("compare on the server")
lines = lab.host(f"cd {lab.path}/copy && find . -type f -exec sha256sum {{}} +").splitlines()
equal(sorted((line[66:].removeprefix("./"), line[:64]) for line in lines),
      sorted((entry[0], entry[7]) for entry in wanted if entry[1].startswith("0o100")), "the copy on the server")

step("copy out")
run("cp", "-a", f"{mnt}/copy", "/run/tmp/back")
equal(summary("/run/tmp/back"), wanted, "the copy out")
run("rm", "-r", f"{mnt}/copy")
equal(lab.host(f"ls {lab.path}").split(), ["lost+found"] if lab.variant == "ext4" else [], "what is left")
