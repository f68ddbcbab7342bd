"""Mount, create, write, read back from the server, attributes of the mount, remount, unmount."""

import errno
import hashlib
import os

from harness.client import Lab, drop_caches, equal, expect, read_file, refused, write_file

RUNS = ("tmpfs", "ext4", "xfs", "btrfs")

lab = Lab()
mnt = lab.ready()

data = os.urandom(3 * 1024 * 1024 + 17)
write_file(f"{mnt}/file", data)
equal(lab.host(f"stat -c '%s %a %u %g' {lab.path}/file; sha256sum <{lab.path}/file").split()[:5],
      [str(len(data)), "644", "0", "0", hashlib.sha256(data).hexdigest()], "the file on the server")
drop_caches()
expect(read_file(f"{mnt}/file") == data, "what was read back differs from what was written")

os.mkdir(f"{mnt}/dir", 0o750)
equal(os.stat(f"{mnt}/dir").st_mode & 0o7777, 0o750, "mode of the directory")
os.rename(f"{mnt}/file", f"{mnt}/dir/renamed")
equal(os.listdir(mnt + "/dir"), ["renamed"], "listing")
with refused(errno.ENOTEMPTY):
    os.rmdir(f"{mnt}/dir")

here, there = os.statvfs(mnt), lab.host(f"stat -f -c '%S %b %c' {lab.path}").split()
# The client rounds up to its own block size.
in_all = int(there[0]) * int(there[1])
expect(0 <= here.f_blocks * here.f_frsize - in_all < here.f_frsize, f"statfs: {here}, on the server {there}")
equal(here.f_namemax, 255, "longest name")
with open("/proc/self/mounts", encoding="utf-8") as mounts:
    options = next(line for line in mounts if f" {mnt} nfs" in line)
expect(f"vers={lab.version}," in options and "hard" in options, f"mounted otherwise than asked: {options}")

lab.unmount()
lab.mount()
expect(read_file(f"{mnt}/dir/renamed") == data, "the file differs after a new mount")
os.unlink(f"{mnt}/dir/renamed")
os.rmdir(f"{mnt}/dir")
equal([name for name in os.listdir(mnt) if name != "lost+found"], [], "what is left")
lab.unmount()
