"""A long listing is exact and comes from READDIRPLUS: every attribute as on the server, without a call per entry."""

import os
import stat

from harness.client import Lab, drop_caches, equal, expect, step

RUNS = ("ext4", "btrfs", "tmpfs,4.0", "xfs,4.1", "ext4,4.2")

ENTRIES = 1500
KINDS = {stat.S_IFIFO: "p", stat.S_IFCHR: "c", stat.S_IFDIR: "d", stat.S_IFREG: "f", stat.S_IFLNK: "l"}
# Runs on the server, in the directory that is listed later.
MAKE = """
import os, sys
for n in range(int(sys.argv[1])):
    with open(f"f{n}", "wb") as file:
        file.write(bytes(n % 97))
    os.chmod(f"f{n}", (n % 8) << 9 | (n % 7) << 3 | 4)
    if n % 5 == 1:
        os.chown(f"f{n}", 1001, 2002)
    if n % 5 == 2:
        os.chown(f"f{n}", 4294967294, 70000)
    if n % 5 == 3:
        os.utime(f"f{n}", ns=(1, 946684799123456789))
    if n % 5 == 4:
        os.utime(f"f{n}", ns=(1, 4102444800000000001))
os.mkdir("d1")
os.mkdir("d2", 0o1777)
os.symlink("f1", "l1")
os.mkfifo("p1", 0o640)
os.link("f5", "h5")
os.mknod("c1", 0o20600, os.makedev(1, 5))
"""
FORMAT = "%f %T@ %C@ %m %U %G %s %i %n %y\\n"


def calls():
    """Calls that the mount made so far, by procedure."""
    counts = {}
    with open("/proc/self/mountstats", encoding="utf-8") as stats:
        section = stats.read().split(f" mounted on {mnt} ")[1].split("\ndevice ")[0]
    for line in section.split("per-op statistics")[1].splitlines():
        name, _, numbers = line.strip().partition(": ")
        if numbers:
            counts[name] = int(numbers.split()[0])
    return counts


def stamp(nanoseconds):
    """As find prints it: ten digits of a fraction, the last always 0."""
    return f"{nanoseconds // 10**9}.{nanoseconds % 10**9:09}0"


lab = Lab()
# What the listing brought must last until it is asked for, however slow this machine is.
mnt = lab.ready(size_mib=256, options="actimeo=3600")
lab.host(f"mkdir {lab.path}/dir && cd {lab.path}/dir && /usr/bin/python3 -c '{MAKE}' {ENTRIES}")
wanted = sorted(lab.host(f"cd {lab.path}/dir && find . -mindepth 1 -printf '{FORMAT}'").splitlines())

step("ls -l")
drop_caches()
before = calls()
got = []
with os.scandir(f"{mnt}/dir") as entries:
    for entry in entries:
        found = entry.stat(follow_symlinks=False)
        kind = KINDS[stat.S_IFMT(found.st_mode)]
        got.append(f"{entry.name} {stamp(found.st_mtime_ns)} {stamp(found.st_ctime_ns)} {found.st_mode & 0o7777:o} "
                   f"{found.st_uid} {found.st_gid} {found.st_size} {found.st_ino} {found.st_nlink} {kind}")
        equal(entry.inode(), found.st_ino, f"inode of {entry.name} in the listing and by stat")
after = calls()
for line, want in zip(sorted(got), wanted, strict=True):
    equal(line, want, "attributes")

step("calls")
made = {name: after[name] - before.get(name, 0) for name in after if after[name] > before.get(name, 0)}
print(f"  {made}")
if lab.version == "3":
    expect(made.get("READDIRPLUS", 0) > 0, "READDIRPLUS was not used")
expect(made.get("GETATTR", 0) + made.get("LOOKUP", 0) < ENTRIES // 5, "the listing needed a call for each entry")
