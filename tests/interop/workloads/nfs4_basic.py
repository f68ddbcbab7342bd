"""NFSv4.2, 4.1 and 4.0: mount, list, create, write, read back, rename, link, remove, remount, unmount."""

import errno
import hashlib
import os

from harness.client import Lab, drop_caches, equal, expect, read_file, refused, step, write_file

RUNS = ("tmpfs", "ext4", "xfs", "btrfs")
VERSIONS = ("4.2", "4.1", "4.0")

lab = Lab()
lab.export()
lab.serve()


def check(version):
    mnt = lab.mount(version=version)
    with open("/proc/self/mounts", encoding="utf-8") as mounts:
        options = next(line for line in mounts if f" {mnt} nfs4 " in line)
    expect(f"vers={version}," in options and "hard" in options, f"mounted otherwise than asked: {options}")

    data = os.urandom(3 * 1024 * 1024 + 17)
    write_file(f"{mnt}/file", data)
    equal(lab.host(f"stat -c '%s %a %u %g' {lab.path}/file; sha256sum <{lab.path}/file").split()[:5],
          [str(len(data)), "644", "0", "0", hashlib.sha256(data).hexdigest()], "the file on the server")
    drop_caches()
    expect(read_file(f"{mnt}/file") == data, "what was read back differs from what was written")

    os.mkdir(f"{mnt}/dir", 0o750)
    equal(os.stat(f"{mnt}/dir").st_mode & 0o7777, 0o750, "mode of the directory")
    os.rename(f"{mnt}/file", f"{mnt}/dir/renamed")
    os.link(f"{mnt}/dir/renamed", f"{mnt}/dir/second")
    os.symlink("renamed", f"{mnt}/dir/link")
    equal(os.readlink(f"{mnt}/dir/link"), "renamed", "the link")
    equal(sorted(os.listdir(mnt + "/dir")), ["link", "renamed", "second"], "listing")
    equal(os.stat(f"{mnt}/dir/second").st_nlink, 2, "links of the file")
    with refused(errno.ENOTEMPTY):
        os.rmdir(f"{mnt}/dir")
    with refused(errno.EEXIST):
        os.mkdir(f"{mnt}/dir")

    with open(f"{mnt}/dir/second", "r+b") as file:
        file.seek(1 << 20)
        file.write(b"in the middle")
        file.truncate((2 << 20) + 5)
    wanted = data[:1 << 20] + b"in the middle" + data[(1 << 20) + 13:(2 << 20) + 5]
    drop_caches()
    expect(read_file(f"{mnt}/dir/renamed") == wanted, "the file differs after a change in its middle")

    with open(f"{mnt}/open", "wb+") as file:
        file.write(b"still here")
        file.flush()
        os.unlink(f"{mnt}/open")
        file.seek(0)
        equal(file.read(), b"still here", "an open file without a name")

    here, there = os.statvfs(mnt), lab.host(f"stat -f -c '%S %b' {lab.path}").split()
    in_all = int(there[0]) * int(there[1])
    expect(0 <= here.f_blocks * here.f_frsize - in_all < here.f_frsize, f"statfs: {here}, on the server {there}")
    equal(here.f_namemax, 255, "longest name")

    lab.unmount()
    lab.mount(version=version)
    expect(read_file(f"{mnt}/dir/second") == wanted, "the file differs after a new mount")
    for name in ("link", "renamed", "second"):
        os.unlink(f"{mnt}/dir/{name}")
    os.rmdir(f"{mnt}/dir")
    equal([name for name in os.listdir(mnt) if name != "lost+found"], [], "what is left")
    lab.unmount()


for minor in ("4.2", "4.1", "4.0"):
    step(f"NFSv{minor}")
    check(minor)
