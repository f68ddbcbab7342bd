"""Who may do what: owners, groups, supplementary groups, others, root, sticky, setgid and setuid bits, open files."""

import errno
import os
import stat

from harness.client import ROOT, Lab, as_user, drop_caches, equal, expect, read_file, refused, step, write_file

RUNS = ("ext4", "tmpfs,4.1", "xfs,4.2")
TAKES_S = 20

ALICE = (1001, 1001, ())
BOB = (1002, 1002, ())
TEAM = 3000
CAROL = (1003, 1003, (2999, TEAM))
# The most supplementary groups that AUTH_SYS carries, the one that matters last.
DAVE = (1004, 1004, tuple(range(4000, 4015)) + (TEAM,))


def allowed(user, function, *arguments):
    try:
        as_user(user, function, *arguments)
        return True
    except PermissionError:
        return False


def change(path):
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND)
    os.write(descriptor, b"x")
    os.close(descriptor)


def matrix_of_files():
    """Every mode of one digit, for owner, group, supplementary group and others: the client's cache must not answer."""
    step("read and write by class of user")
    for bits in range(8):
        for user, shift in ((ALICE, 6), (BOB, 3), (CAROL, 3), (DAVE, 3), (BOB, 0), (CAROL, 0)):
            path = f"{mnt}/file"
            write_file(path, b"data")
            group = TEAM if user in (CAROL, DAVE) else BOB[1]
            os.chown(path, ALICE[0], group if shift == 3 else 0)
            os.chmod(path, bits << shift)
            what = f"user {user} mode {bits << shift:03o}"
            equal(allowed(user, read_file, path), bool(bits & 4), f"{what}: read")
            equal(allowed(user, change, path), bool(bits & 2), f"{what}: write")
            os.unlink(path)


def matrix_of_directories():
    step("search, list and change directories by class of user")
    for bits in range(8):
        for user, shift in ((ALICE, 6), (CAROL, 3), (BOB, 0)):
            path = f"{mnt}/dir"
            os.mkdir(path)
            write_file(f"{path}/in", b"data")
            os.chown(path, ALICE[0], TEAM)
            os.chmod(path, bits << shift)
            what = f"user {user} directory mode {bits << shift:03o}"
            equal(allowed(user, os.listdir, path), bool(bits & 4), f"{what}: list")
            equal(allowed(user, os.stat, f"{path}/in"), bool(bits & 1), f"{what}: search")
            equal(allowed(user, write_file, f"{path}/new", b""), bits & 3 == 3, f"{what}: create")
            equal(allowed(user, os.unlink, f"{path}/in"), bits & 3 == 3, f"{what}: remove")
            os.chmod(path, 0o700)
            for name in os.listdir(path):
                os.unlink(f"{path}/{name}")
            os.rmdir(path)


def new_objects_belong_to_their_maker():
    step("owner and group of new objects")
    os.mkdir(f"{mnt}/public")
    os.chmod(f"{mnt}/public", 0o777)
    for name, make in (("f", lambda p: write_file(p, b"")), ("d", os.mkdir), ("s", lambda p: os.symlink("x", p)),
                       ("p", os.mkfifo), ("l", lambda p: os.link(f"{mnt}/public/f", p))):
        as_user(ALICE, make, f"{mnt}/public/{name}")
        found = os.lstat(f"{mnt}/public/{name}")
        equal((found.st_uid, found.st_gid), ALICE[:2], f"owner of new {name}")

    step("setgid directory")
    os.mkdir(f"{mnt}/shared")
    os.chown(f"{mnt}/shared", 0, TEAM)
    os.chmod(f"{mnt}/shared", 0o2775)
    as_user(CAROL, write_file, f"{mnt}/shared/file", b"")
    as_user(CAROL, os.mkdir, f"{mnt}/shared/dir")
    equal(os.stat(f"{mnt}/shared/file").st_gid, TEAM, "group of a file in a setgid directory")
    found = os.stat(f"{mnt}/shared/dir")
    equal((found.st_gid, bool(found.st_mode & stat.S_ISGID)), (TEAM, True), "a directory in a setgid directory")

    step("sticky directory")
    os.chmod(f"{mnt}/public", 0o1777)
    with refused(errno.EPERM, errno.EACCES):
        as_user(BOB, os.unlink, f"{mnt}/public/f")
    with refused(errno.EPERM, errno.EACCES):
        as_user(BOB, os.rename, f"{mnt}/public/f", f"{mnt}/public/g")
    as_user(ALICE, os.unlink, f"{mnt}/public/f")


def changing_attributes():
    step("chmod, chown, utimes")
    path = f"{mnt}/public/mine"
    as_user(ALICE, write_file, path, b"mine")
    with refused(errno.EPERM):
        as_user(BOB, os.chmod, path, 0o777)
    with refused(errno.EPERM):
        as_user(ALICE, os.chown, path, BOB[0], -1)
    with refused(errno.EPERM):
        as_user(ALICE, os.chown, path, -1, TEAM)
    with refused(errno.EPERM):
        as_user(BOB, os.utime, path, (1, 1))
    with refused(errno.EACCES):
        as_user(BOB, os.utime, path)
    with refused(errno.EACCES):
        as_user(BOB, os.truncate, path, 0)
    as_user(ALICE, os.utime, path, (1, 2))
    equal(os.stat(path).st_mtime, 2, "mtime set by the owner")
    os.chmod(path, 0o666)
    as_user(BOB, os.utime, path)
    expect(os.stat(path).st_mtime > 2, "a writer may set the time to now")
    os.chown(path, CAROL[0], CAROL[1])
    as_user(CAROL, os.chown, path, -1, TEAM)
    equal(os.stat(path).st_gid, TEAM, "the owner gives the file to one of his groups")


def setuid_is_cleared():
    step("setuid and setgid are cleared by write and chown of a user")
    path = f"{mnt}/public/suid"
    for what, action in (("write", lambda: change(path)), ("chown", lambda: os.chown(path, -1, ALICE[1]))):
        write_file(path, b"program")
        os.chown(path, ALICE[0], ALICE[1])
        os.chmod(path, 0o6777)
        equal(os.stat(path).st_mode & 0o7777, 0o6777, "mode before")
        as_user(ALICE if what == "chown" else BOB, action)
        drop_caches()
        mode = lab.host(f"stat -c %a {lab.path}/public/suid").strip()
        equal(mode, "777", f"mode on the server after {what}")
        equal(os.stat(path).st_mode & 0o7777, 0o777, f"mode after {what}")
        os.unlink(path)
    as_user(ALICE, write_file, path, b"")
    os.chown(path, ALICE[0], TEAM)
    as_user(ALICE, os.chmod, path, 0o2755)
    equal(os.stat(path).st_mode & 0o7777, 0o755, "setgid by one who is not in the group")
    os.unlink(path)


def an_open_file_stays_usable():
    """The server must let the owner read and write a file opened before its mode forbade it (RFC 1813 4.4)."""
    step("owner override after chmod 000")
    path = f"{mnt}/public/override"

    def body():
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        os.write(descriptor, b"a" * 10_000)
        os.fchmod(descriptor, 0)
        os.write(descriptor, b"b" * 10_000)
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        equal(os.pread(descriptor, 4, 9_998), b"aabb", "data read through the open file")
        os.ftruncate(descriptor, 15_000)
        os.close(descriptor)
        with refused(errno.EACCES):
            os.open(path, os.O_RDONLY)

    as_user(ALICE, body)
    with refused(errno.EACCES):
        as_user(BOB, read_file, path)
    equal(os.stat(path).st_size, 15_000, "size")

    def created_without_permission():
        """cp -p of a read-only file: created with mode 0444, then written."""
        descriptor = os.open(f"{mnt}/public/readonly", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o444)
        os.write(descriptor, b"content")
        os.close(descriptor)

    as_user(BOB, created_without_permission)
    equal(read_file(f"{mnt}/public/readonly"), b"content", "a file created read-only")


def root_may_do_all():
    step("root without squash")
    as_user(ALICE, os.mkdir, f"{mnt}/public/private", 0o700)
    as_user(ALICE, write_file, f"{mnt}/public/private/file", b"secret", 0o600)
    equal(as_user(ROOT, read_file, f"{mnt}/public/private/file"), b"secret", "root reads a private file")
    as_user(ROOT, os.chown, f"{mnt}/public/private/file", BOB[0], BOB[1])
    with refused(errno.EACCES):
        as_user(BOB, read_file, f"{mnt}/public/private/file")


def executing():
    """A program that may be executed but not read: the server must let its pages be read (RFC 1813 4.4)."""
    step("execute")
    path = f"{mnt}/public/program"
    with open("/bin/true", "rb") as program:
        write_file(path, program.read())
    drop_caches()

    def execute():
        return os.waitstatus_to_exitcode(os.waitpid(os.posix_spawn(path, ["true"], {}), 0)[1])

    for mode in (0o755, 0o711):
        os.chmod(path, mode)
        drop_caches()
        equal(as_user(BOB, execute), 0, f"status of a program with mode {mode:o}")
    with refused(errno.EACCES):
        as_user(BOB, read_file, path)
    os.chmod(path, 0o644)
    with refused(errno.EACCES):
        as_user(BOB, execute)


lab = Lab()
# Attributes are not cached by the client, so that the answer is the server's.
mnt = lab.ready(options="noac")
os.chmod(mnt, 0o755)
matrix_of_files()
matrix_of_directories()
new_objects_belong_to_their_maker()
changing_attributes()
setuid_is_cleared()
an_open_file_stays_usable()
root_may_do_all()
executing()
