"""Several exports with options of their own from one configuration file; clients that may not; a reload."""

import errno
import os

from harness.client import Failure, Lab, as_user, equal, expect, read_file, refused, step, until, write_file

RUNS = ("ext4", "ext4,4.2")

USER = (1001, 1001, ())


def export(path, directory, *options):
    return "\n".join(["[[export]]", f'path = "{path}"', f'directory = "{lab.path}/{directory}"', *options, ""])


def rule(*options):
    return "\n".join(["[[export.rule]]", *options, ""])


def mountable(path, at):
    try:
        lab.mount(path, at=at)
    except Failure:
        return False
    return True


lab = Lab()
lab.export()
lab.host(f"cd {lab.path} && mkdir a b b/c d closed ruled && chmod 777 a b b/c d closed ruled && for f in a b b/c d closed ruled; do "
         "echo $f >$f/file; done; echo secret >secret")
config = (export("/a", "a", 'squash = "none"') +
          export("/b", "b", 'squash = "all"', "anon_uid = 777", "anon_gid = 778") +
          export("/read/only", "d", "read_only = true") +
          export("/closed", "closed", 'clients = ["10.99.13.77", "192.0.2.0/24"]') +
          export("/open", "closed", 'clients = ["10.99.13.0/24"]'))
ruled = export("/ruled", "ruled", "read_only = true", 'squash = "all"', 'clients = ["192.0.2.0/24"]')
lab.serve(config=config + ruled + rule('clients = ["10.99.13.77"]') +
          rule('clients = ["10.99.13.0/24"]', "read_only = false", 'squash = "none"'))

step("each has its own options")
a, b, d = (lab.mount(path, at=f"/run/{name}") for path, name in (("/a", "a"), ("/b", "b"), ("/read/only", "d")))
for mnt, name in ((a, "a"), (b, "b"), (d, "d")):
    equal(read_file(f"{mnt}/file"), name.encode() + b"\n", f"the file of {name}")
write_file(f"{a}/new", b"")
equal(os.stat(f"{a}/new").st_uid, 0, "owner where root stays root")
as_user(USER, write_file, f"{b}/new", b"")
found = os.stat(f"{b}/new")
equal((found.st_uid, found.st_gid), (777, 778), "owner where all are squashed")
with refused(errno.EROFS, errno.EACCES):
    write_file(f"{d}/new", b"")
equal(len({os.stat(mnt).st_dev for mnt in (a, b, d)}), 3, "three file systems for the client")

step("who may not")
expect(not mountable("/closed", "/run/closed"), "an export for others could be mounted")
expect(mountable("/open", "/run/open"), "an export for this network cannot be mounted")
equal(os.listdir("/run/open"), ["file"], "its listing")
for path in ("/secret", "/a/../secret", "/nothing", "/A", "/ab"):
    expect(not mountable(path, "/run/refused"), f"{path} could be mounted")
# An NFSv4 client walks the path itself, and knows a parent without asking.
equal(mountable("/b/../a", "/run/refused"), lab.version != "3", "whether a path with .. can be mounted")

step("rules: the first that names this client is its own")
r = lab.mount("/ruled", at="/run/ruled")
write_file(f"{r}/new", b"")
equal(os.stat(f"{r}/new").st_uid, 0, "owner where the rule lets root be root")
by_rule = os.open(f"{r}/new", os.O_RDWR)

step("reload: one goes, one comes, one becomes read-only")
held = os.open(f"{a}/held", os.O_RDWR | os.O_CREAT)
lab.reload(export("/a", "a", 'squash = "none"', "read_only = true") +
           export("/b", "b", 'squash = "all"', "anon_uid = 777", "anon_gid = 778") + export("/new", "b/c") + ruled +
           rule('clients = ["10.99.13.77"]', "read_only = false") + rule('clients = ["10.99.13.0/24"]'))
until(lambda: " reloaded " in lab.log(), "the server's word that it has read the new file")
expect(mountable("/new", "/run/new"), "the new export cannot be mounted")
equal(read_file("/run/new/file"), b"b/c\n", "the file of the new export")
with refused(errno.EROFS, errno.EACCES):
    os.close(os.open(f"{a}/held", os.O_RDWR))
with refused(errno.EROFS, errno.EACCES):
    os.write(held, b"x")
    os.fsync(held)
os.close(held)
equal(read_file(f"{r}/file"), b"ruled\n", "a file of an export that a rule has made read-only for this client")
with refused(errno.EROFS, errno.EACCES):
    write_file(f"{r}/later", b"")
with refused(errno.EROFS, errno.EACCES):
    os.write(by_rule, b"x")
    os.fsync(by_rule)
os.close(by_rule)
as_user(USER, write_file, f"{b}/after", b"data")
equal(as_user(USER, read_file, f"{b}/after"), b"data", "an export that stayed")
expect(not mountable("/open", "/run/refused"), "an export that is gone could be mounted")
with refused(errno.ESTALE, errno.EACCES):
    os.listdir("/run/open")

step("a wrong file changes nothing")
lab.reload("[[export]]\npath = 7\n")
until(lambda: " reload_failed " in lab.log(), "the server's word that the file is wrong")
equal(as_user(USER, read_file, f"{b}/after"), b"data", "an export after a wrong reload")
lab.unmount(b)
equal(mountable("/b", "/run/b"), True, "mounting after a wrong reload")
