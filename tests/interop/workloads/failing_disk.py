"""A file system that turns read-only, and one whose disk fails: EROFS and EIO reach the program, the server lives."""

import errno
import os

from harness.client import Lab, drop_caches, equal, expect, read_file, refused, step, write_file

RUNS = ("ext4", "xfs", "ext4,4.2")

BLOCK = os.urandom(1 << 16)

lab = Lab()
mnt = lab.ready()
write_file(f"{mnt}/before", BLOCK)
os.mkdir(f"{mnt}/dir")
os.sync()
held = os.open(f"{mnt}/held", os.O_RDWR | os.O_CREAT)

step("read-only")
lab.stop()
lab.host(f"mount -o remount,ro {lab.path}")
lab.start()
for change in (lambda: write_file(f"{mnt}/new", b""), lambda: os.mkdir(f"{mnt}/new"), lambda: os.unlink(f"{mnt}/before"),
               lambda: os.rename(f"{mnt}/before", f"{mnt}/after"), lambda: os.chmod(f"{mnt}/before", 0),
               lambda: os.symlink("x", f"{mnt}/new"), lambda: os.link(f"{mnt}/before", f"{mnt}/new"),
               lambda: os.rmdir(f"{mnt}/dir"), lambda: os.truncate(f"{mnt}/before", 0)):
    with refused(errno.EROFS, errno.EACCES):
        change()
# With NFSv4 the new server refuses to let the client have its open again, and Linux gives the descriptor up.
with refused(*(errno.EROFS, errno.EACCES) if lab.version == "3" else (errno.EBADF,)):
    os.pwrite(held, b"x", 0)
    os.fsync(held)
os.close(held)
drop_caches()
expect(read_file(f"{mnt}/before") == BLOCK, "a file differs on a read-only file system")
lab.stop()
lab.host(f"mount -o remount,rw {lab.path}")
lab.start()
write_file(f"{mnt}/writable", BLOCK)
held = os.open(f"{mnt}/held", os.O_RDWR)

step("a failing disk")
pid = lab.server_pid()
lab.host(f"sync -f {lab.path}")
lab.fail_disk()
for change in (lambda: write_file(f"{mnt}/new", b""), lambda: os.mkdir(f"{mnt}/new"), lambda: os.rmdir(f"{mnt}/dir"),
               lambda: os.rename(f"{mnt}/before", f"{mnt}/after")):
    with refused(errno.EIO):
        change()
with refused(errno.EIO):
    os.pwrite(held, BLOCK, 0)
    os.fsync(held)
try:
    os.close(held)
except OSError as error:
    equal(error.errno, errno.EIO, "error of close")
equal(lab.server_pid(), pid, "pid of the server")
lab.host(f"kill -0 {pid}")

step("the disk is back")
lab.stop()
lab.mount_again()
lab.start()
drop_caches()
for name in ("before", "writable"):
    expect(read_file(f"{mnt}/{name}") == BLOCK, f"{name} differs")
write_file(f"{mnt}/new", BLOCK)
drop_caches()
expect(read_file(f"{mnt}/new") == BLOCK, "a file written afterwards differs")
