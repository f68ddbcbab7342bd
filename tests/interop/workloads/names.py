"""Names: every byte but slash and NUL, invalid UTF-8, 255 bytes long, many dots; 256 bytes are refused."""

import errno
import os

from harness.client import Lab, drop_caches, equal, refused, step

RUNS = ("ext4", "btrfs,4.2")


def every_byte():
    yield from (bytes([byte]) for byte in range(1, 256) if byte not in b"/.")
    yield from (b"x" + bytes([byte]) + b"y" for byte in range(1, 256) if byte not in b"/")


NAMES = sorted({*every_byte(), b"...", b".hidden", b"..two", b"trailing.", b"trailing ", b" leading", b"-rf", b"a\nb", b"*",
                b"\xff\xfe", b"\xc3\x28", b"\xed\xa0\x80", "über-ñ-日本語-🎉".encode(), "u\u0308ber".encode(), b"CASE", b"case",
                b"a" * 255, b"\xff" * 255, ("é" * 127).encode(), b"con", b"name:stream", b"back\\slash", b"%2f", b".nfs"})

lab = Lab()
mnt = lab.ready(size_mib=256).encode()
directory = mnt + b"/names"
os.mkdir(directory)

step(f"create {len(NAMES)} names")
for name in NAMES:
    with open(directory + b"/" + name, "xb") as file:
        file.write(name)
drop_caches()
equal(sorted(os.listdir(directory)), NAMES, "listing")
on_server = lab.host(f"cd {lab.path}/names && find . -mindepth 1 -printf '%f\\0'")
equal(sorted(on_server.encode("utf-8", "surrogateescape").split(b"\0")[:-1]), NAMES, "listing on the server")
for name in NAMES:
    with open(directory + b"/" + name, "rb") as file:
        equal(file.read(), name, "content of a file named so")

step("rename and remove them")
for name in NAMES:
    os.rename(directory + b"/" + name, mnt + b"/moved")
    os.rename(mnt + b"/moved", directory + b"/" + name)
    os.unlink(directory + b"/" + name)
    with refused(errno.ENOENT):
        os.lstat(directory + b"/" + name)
equal(os.listdir(directory), [], "what is left")

step("too long")
for make in (lambda path: open(path, "xb"), os.mkdir, lambda path: os.symlink(b"x", path), os.lstat, os.mkfifo,
             lambda path: os.rename(directory, path), lambda path: os.link(mnt + b"/names", path)):
    with refused(errno.ENAMETOOLONG):
        make(directory + b"/" + b"n" * 256)

step("deep")
path = mnt
for depth in range(60):
    path += b"/" + bytes([ord("a") + depth % 26]) * 60
    os.mkdir(path)
with open(path + b"/leaf", "wb") as file:
    file.write(b"deep")
drop_caches()
with open(path + b"/leaf", "rb") as file:
    equal(file.read(), b"deep", "a file 60 directories deep")
with refused(errno.ENOTDIR):
    os.stat(path + b"/leaf/below")
with refused(errno.ENOENT):
    os.stat(path + b"/nothing/below")
