"""Identities replaced by the server: root_squash, all_squash with an anonymous id, and a read-only export."""

import errno
import os

from harness.client import ROOT, Lab, as_user, equal, read_file, refused, step, write_file

RUNS = ("ext4", "ext4,4.2")

ALICE = (1001, 1001, (3000,))
ANON = 5005


def owner(path):
    found = os.lstat(path)
    return found.st_uid, found.st_gid


def again(**serve):
    lab.unmount()
    lab.stop()
    lab.serve(anon=ANON, **serve)
    lab.mount(options="noac")


lab = Lab()
mnt = lab.ready(options="noac", anon=ANON)
os.mkdir(f"{mnt}/public")
os.chmod(f"{mnt}/public", 0o1777)
write_file(f"{mnt}/roots", b"root only", 0o600)
as_user(ALICE, write_file, f"{mnt}/public/alices", b"alice only", 0o600)
write_file(f"{mnt}/teams", b"team only", 0o640)
os.chown(f"{mnt}/teams", 0, 3000)

step("root_squash")
again(squash="root")
with refused(errno.EACCES):
    as_user(ROOT, read_file, f"{mnt}/roots")
with refused(errno.EACCES):
    as_user(ROOT, read_file, f"{mnt}/public/alices")
with refused(errno.EACCES):
    as_user(ROOT, write_file, f"{mnt}/new", b"")
with refused(errno.EPERM):
    as_user(ROOT, os.chown, f"{mnt}/public/alices", 0, 0)
with refused(errno.EPERM):
    as_user(ROOT, os.chmod, f"{mnt}/public/alices", 0o777)
with refused(errno.EPERM):
    as_user(ROOT, os.mknod, f"{mnt}/public/device", 0o20600, os.makedev(1, 3))
as_user(ROOT, write_file, f"{mnt}/public/by-root", b"data", 0o600)
equal(owner(f"{mnt}/public/by-root"), (ANON, ANON), "owner of what root made")
equal(as_user(ROOT, read_file, f"{mnt}/public/by-root"), b"data", "the squashed root reads its own file")
as_user(ALICE, write_file, f"{mnt}/public/by-alice", b"data")
equal(owner(f"{mnt}/public/by-alice"), ALICE[:2], "owner of what a user made")
equal(as_user(ALICE, read_file, f"{mnt}/public/alices"), b"alice only", "a user reads his own file")
equal(as_user(ALICE, read_file, f"{mnt}/teams"), b"team only", "a supplementary group")
with refused(errno.EACCES):
    as_user((1007, 1007, (0,)), read_file, f"{mnt}/roots")
os.unlink(f"{mnt}/public/by-root")

step("all_squash")
again(squash="all")
as_user(ALICE, write_file, f"{mnt}/public/as-anon", b"data", 0o600)
equal(owner(f"{mnt}/public/as-anon"), (ANON, ANON), "owner of what a user made")
with refused(errno.EACCES):
    as_user(ALICE, read_file, f"{mnt}/public/alices")
with refused(errno.EACCES):
    as_user(ALICE, read_file, f"{mnt}/teams")
equal(as_user((1009, 1009, ()), read_file, f"{mnt}/public/as-anon"), b"data", "all users are one")
with refused(errno.EPERM, errno.EACCES):
    as_user(ALICE, os.unlink, f"{mnt}/public/by-alice")

step("read-only export")
again(read_only=True)
equal(read_file(f"{mnt}/roots"), b"root only", "reading")
equal(sorted(os.listdir(f"{mnt}/public")), ["alices", "as-anon", "by-alice"], "listing")
for name, action in (("create", lambda: write_file(f"{mnt}/new", b"")), ("mkdir", lambda: os.mkdir(f"{mnt}/new")),
                     ("write", lambda: os.open(f"{mnt}/roots", os.O_WRONLY)), ("unlink", lambda: os.unlink(f"{mnt}/roots")),
                     ("rename", lambda: os.rename(f"{mnt}/roots", f"{mnt}/other")),
                     ("link", lambda: os.link(f"{mnt}/roots", f"{mnt}/other")),
                     ("symlink", lambda: os.symlink("x", f"{mnt}/other")), ("mkfifo", lambda: os.mkfifo(f"{mnt}/other")),
                     ("chmod", lambda: os.chmod(f"{mnt}/roots", 0o777)), ("utime", lambda: os.utime(f"{mnt}/roots")),
                     ("truncate", lambda: os.truncate(f"{mnt}/roots", 0)), ("rmdir", lambda: os.rmdir(f"{mnt}/public"))):
    step(f"{name} is refused")
    # The client may ask ACCESS first, which says no; or the operation itself is refused.
    with refused(errno.EROFS, errno.EACCES):
        action()
equal(lab.host(f"cat {lab.path}/roots"), "root only", "the file on the server")
