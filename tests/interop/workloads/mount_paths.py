"""What may be mounted: the root, a directory below it; not a missing path, a file, or anything outside."""

import errno
import os

from harness.client import Failure, Lab, equal, expect, read_file, step, write_file

RUNS = ("ext4", "ext4,4.2")


def mount_fails(path):
    try:
        lab.mount(path, at="/run/refused")
    except Failure:
        return
    names = os.listdir("/run/refused")
    lab.unmount("/run/refused")
    raise Failure(f"{path} could be mounted: {names[:5]}")


lab = Lab()
mnt = lab.ready()
os.makedirs(f"{mnt}/below/this")
write_file(f"{mnt}/below/this/file", b"data")
write_file(f"{mnt}/secret", b"data")
os.symlink("/etc", f"{mnt}/escape")

step("a directory below")
sub = lab.mount("/below/this", at="/run/sub")
equal(read_file(f"{sub}/file"), b"data", "a file in a mounted subdirectory")
equal(os.listdir(sub), ["file"], "listing of a mounted subdirectory")
equal(os.stat(sub).st_ino, os.stat(f"{mnt}/below/this").st_ino, "inode")
lab.unmount(sub)

step("paths that are refused")
for path in ("/missing", "/secret", "/below/../../etc", "/escape", "/etc", "/below/this/file/x",
             "/" + "n" * 300, "/" + "/".join(["d" * 200] * 6)):
    mount_fails(path)
# An NFSv4 client walks the path itself, and knows that nothing is above the root.
for path in ("/..", "/../.."):
    if lab.version == "3":
        mount_fails(path)
    else:
        above = lab.mount(path, at="/run/above")
        equal(sorted(os.listdir(above)), sorted(os.listdir(mnt)), f"what is at {path}")
        lab.unmount(above)
expect(os.path.isdir(f"{mnt}/below"), "the first mount does not work any more")

step("the root has no way up")
equal(os.stat(f"{mnt}/..").st_dev == os.stat(mnt).st_dev, False, "above the mount point")

step("a file system mounted inside of the export")
lab.host(f"mkdir {lab.path}/nested && echo outer >{lab.path}/nested/outer && mount -t tmpfs nested {lab.path}/nested && "
         f"echo inner >{lab.path}/nested/inner")
lab.unmount()
lab.mount()
try:
    names = os.listdir(f"{mnt}/nested")
except OSError as error:
    equal(error.errno in (errno.EXDEV, errno.EACCES), True, f"refusal of a nested mount ({error})")
    names = []
print(f"  a nested mount shows {names}")
expect(names in (["outer"], ["inner"], []), "the nested mount shows what is in neither file system")
if names:
    equal(read_file(f"{mnt}/nested/{names[0]}"), names[0].encode() + b"\n", "a file in the nested directory")
found = sorted(set(os.listdir(mnt)) - {"lost+found"})
equal(found, ["below", "escape", "nested", "secret"], "listing of the root")
lab.host(f"umount -l {lab.path}/nested")

