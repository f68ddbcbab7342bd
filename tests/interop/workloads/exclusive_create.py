"""O_EXCL: of many that create one name exactly one wins; the new file's times and mode are not those of a verifier."""

import errno
import os
import time

from harness.client import Lab, as_user, equal, expect, join, refused, start, step, write_file

RUNS = ("tmpfs", "ext4", "xfs", "btrfs", "tmpfs,4.0", "tmpfs,4.1", "tmpfs,4.2")

RACERS = 4
NAMES = 100


def race(number, root):
    wins = 0
    for name in range(NAMES):
        try:
            os.close(os.open(f"{root}/race/{name}", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        except FileExistsError:
            continue
        wins += 1
        # The winner alone writes; a second winner would truncate nothing but append its number.
        with open(f"{root}/race/{name}", "a", encoding="ascii") as file:
            file.write(str(number))
    write_file(f"/run/tmp/wins-{number}", str(wins).encode())


lab = Lab()
mnt = lab.ready()
# A second mount with its own caches: it cannot know what the first one created.
other = lab.mount(at="/run/other", options="nosharecache")

step("race")
os.mkdir(f"{mnt}/race")
children = [start(race, number, mnt if number % 2 else other) for number in range(RACERS)]
for child in children:
    join(child)
sizes = lab.host(f"cd {lab.path}/race && stat -c %s *").split()
equal((len(sizes), set(sizes)), (NAMES, {"1"}), "files, and winners of each")
equal(sum(int(open(f"/run/tmp/wins-{n}", encoding="ascii").read()) for n in range(RACERS)), NAMES, "wins")

step("attributes")
old = os.umask(0o027)
before = time.time()
descriptor = os.open(f"{mnt}/new", os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
os.umask(old)
found = os.fstat(descriptor)
equal((found.st_mode & 0o7777, found.st_size, found.st_nlink, found.st_uid), (0o640, 0, 1, 0), "a new file")
there = lab.host(f"stat -c '%X %Y %a %i' {lab.path}/new").split()
equal(there[2:], ["640", str(found.st_ino)], "mode and inode on the server")
for value in there[:2]:
    expect(abs(int(value) - before) < 3600, f"a time of the new file is {value}, now is {before:.0f}")
os.close(descriptor)

step("existing names")
with refused(errno.EEXIST):
    os.open(f"{mnt}/new", os.O_WRONLY | os.O_CREAT | os.O_EXCL)
os.symlink("nowhere", f"{mnt}/link")
with refused(errno.EEXIST):
    os.open(f"{mnt}/link", os.O_WRONLY | os.O_CREAT | os.O_EXCL)
with refused(errno.EEXIST):
    os.open(f"{mnt}/race", os.O_WRONLY | os.O_CREAT | os.O_EXCL)
lab.host(f"echo data >{lab.path}/by-server")
with refused(errno.EEXIST):
    os.open(f"{other}/by-server", os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_TRUNC)
equal(lab.host(f"cat {lab.path}/by-server"), "data\n", "the existing file")

step("a user in a directory of others")
os.chmod(mnt, 0o1777)
user = (1001, 1001, ())
path = f"{mnt}/users"
as_user(user, lambda: os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o400)))
equal((os.stat(path).st_uid, os.stat(path).st_mode & 0o777), (1001, 0o400), "a user's new file")
os.chmod(mnt, 0o755)
with refused(errno.EACCES):
    as_user(user, os.open, f"{mnt}/refused", os.O_WRONLY | os.O_CREAT | os.O_EXCL)
expect(not os.path.exists(f"{mnt}/refused"), "a refused create left a file")
