"""Symbolic links, hard links and special files."""

import errno
import os
import socket
import stat

from harness.client import Lab, as_user, drop_caches, equal, expect, join, read_file, refused, start, step, write_file

RUNS = ("ext4", "xfs", "tmpfs,4.2")

USER = (1001, 1001, ())


def symbolic_links():
    step("symbolic links")
    os.mkdir(f"{mnt}/s")
    write_file(f"{mnt}/s/target", b"data")
    targets = {"relative": "target", "up": "../s/target", "absolute": "/etc/hostname", "dangling": "nothing/here",
               "dots": "././../s/./target", "long": "l" * 1000, "bytes": os.fsdecode(b"\xff\x01\n "), "one": "x",
               "escape": "/../../../../../etc/passwd"}
    for name, target in targets.items():
        os.symlink(target, f"{mnt}/s/{name}")
    drop_caches()
    for name, target in targets.items():
        equal(os.readlink(f"{mnt}/s/{name}"), target, f"target of {name}")
        found = os.lstat(f"{mnt}/s/{name}")
        wanted = (True, len(os.fsencode(target)))
        equal((stat.S_ISLNK(found.st_mode), found.st_size), wanted, f"type and size of {name}")
    equal(lab.host(f"readlink -n {lab.path}/s/up"), "../s/target", "a target on the server")
    for name in ("relative", "up", "dots"):
        equal(read_file(f"{mnt}/s/{name}"), b"data", f"data through {name}")
    with refused(errno.ENOENT):
        os.stat(f"{mnt}/s/dangling")
    os.symlink("loop-b", f"{mnt}/s/loop-a")
    os.symlink("loop-a", f"{mnt}/s/loop-b")
    with refused(errno.ELOOP):
        os.stat(f"{mnt}/s/loop-a")
    with refused(errno.EINVAL):
        os.readlink(f"{mnt}/s/target")
    with refused(errno.EEXIST):
        os.symlink("y", f"{mnt}/s/one")
    os.lchown(f"{mnt}/s/dangling", 1001, 1002)
    found = os.lstat(f"{mnt}/s/dangling")
    equal((found.st_uid, found.st_gid), (1001, 1002), "owner of a link that points nowhere")
    os.utime(f"{mnt}/s/dangling", ns=(10**18, 2 * 10**18), follow_symlinks=False)
    equal(os.lstat(f"{mnt}/s/dangling").st_mtime_ns, 2 * 10**18, "mtime of a link")
    os.rename(f"{mnt}/s/dangling", f"{mnt}/s/moved")
    os.unlink(f"{mnt}/s/relative")
    equal(read_file(f"{mnt}/s/target"), b"data", "the target after its link was removed")


def hard_links():
    step("hard links")
    os.mkdir(f"{mnt}/h")
    os.mkdir(f"{mnt}/h/dir")
    write_file(f"{mnt}/h/a", b"shared")
    os.link(f"{mnt}/h/a", f"{mnt}/h/b")
    os.link(f"{mnt}/h/a", f"{mnt}/h/dir/c")
    found = [os.stat(f"{mnt}/h/{name}") for name in ("a", "b", "dir/c")]
    equal({(f.st_ino, f.st_nlink) for f in found}, {(found[0].st_ino, 3)}, "inode and link count")
    with open(f"{mnt}/h/b", "ab") as file:
        file.write(b" more")
    equal(read_file(f"{mnt}/h/dir/c"), b"shared more", "data through another name")
    # Two names of one file: nothing happens.
    os.rename(f"{mnt}/h/a", f"{mnt}/h/b")
    equal(sorted(os.listdir(f"{mnt}/h")), ["a", "b", "dir"], "rename onto another name of the same file")
    os.unlink(f"{mnt}/h/a")
    equal(os.stat(f"{mnt}/h/b").st_nlink, 2, "link count after a removal")
    with refused(errno.EPERM):
        os.link(f"{mnt}/h/dir", f"{mnt}/h/dir2")
    with refused(errno.EEXIST):
        os.link(f"{mnt}/h/b", f"{mnt}/h/dir/c")
    with refused(errno.ENOENT):
        os.link(f"{mnt}/h/none", f"{mnt}/h/new")
    os.symlink("b", f"{mnt}/h/link")
    os.link(f"{mnt}/h/link", f"{mnt}/h/link2", follow_symlinks=False)
    equal((os.readlink(f"{mnt}/h/link2"), os.lstat(f"{mnt}/h/link").st_nlink), ("b", 2), "hard link to a symbolic link")
    for number in range(200):
        os.link(f"{mnt}/h/b", f"{mnt}/h/many-{number}")
    equal(os.stat(f"{mnt}/h/b").st_nlink, 202, "link count of many")


def special_files():
    step("special files")
    os.mkdir(f"{mnt}/n")
    os.mknod(f"{mnt}/n/null", stat.S_IFCHR | 0o666, os.makedev(1, 3))
    os.mknod(f"{mnt}/n/block", stat.S_IFBLK | 0o600, os.makedev(259, 70_000))
    os.mkfifo(f"{mnt}/n/fifo", 0o640)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"{mnt}/n/socket")
    drop_caches()
    for name, kind, device in (("null", stat.S_IFCHR, (1, 3)), ("block", stat.S_IFBLK, (259, 70_000)),
                               ("fifo", stat.S_IFIFO, None), ("socket", stat.S_IFSOCK, None)):
        found = os.lstat(f"{mnt}/n/{name}")
        equal(stat.S_IFMT(found.st_mode), kind, f"type of {name}")
        if device:
            equal((os.major(found.st_rdev), os.minor(found.st_rdev)), device, f"numbers of {name}")
    equal(lab.host(f"stat -c '%F %t %T' {lab.path}/n/null"), "character special file 1 3\n", "a device on the server")
    write_file(f"{mnt}/n/null", b"swallowed")
    equal(read_file(f"{mnt}/n/null"), b"", "the null device through the mount")

    def speak():
        write_file(f"{mnt}/n/fifo", b"through the pipe")

    child = start(speak)
    equal(read_file(f"{mnt}/n/fifo"), b"through the pipe", "a named pipe")
    join(child)
    os.chmod(f"{mnt}/n", 0o777)
    with refused(errno.EPERM):
        as_user(USER, os.mknod, f"{mnt}/n/refused", stat.S_IFCHR | 0o666, os.makedev(1, 3))
    as_user(USER, os.mkfifo, f"{mnt}/n/users", 0o600)
    equal(os.stat(f"{mnt}/n/users").st_uid, USER[0], "owner of a user's pipe")
    for name in os.listdir(f"{mnt}/n"):
        os.unlink(f"{mnt}/n/{name}")
    os.rmdir(f"{mnt}/n")
    expect(not os.path.exists(f"{mnt}/n"), "the directory is still there")


lab = Lab()
mnt = lab.ready()
symbolic_links()
hard_links()
special_files()
