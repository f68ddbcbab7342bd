"""A tree that is sealed into a store while nobody serves it: a client reads it as it was, or gets errors, never zeros."""

import errno
import hashlib
import os
import random

from harness.client import Lab, drop_caches, equal, expect, read_file, refused, step, write_file

RUNS = ("ext4", "xfs", "ext4,4.2", "btrfs,4.2")
TAKES_S = 15

lab = Lab()
mnt = lab.ready(size_mib=512)

step("a tree: small and large files, equal ones, holes")
source = random.Random(1)
contents = {"large": source.randbytes(9_000_001), "block": source.randbytes(4096), "small": b"x" * 3000, "empty": b""}
contents["copy"] = contents["large"]
contents["longer"] = b"in front of it" + contents["large"]
contents["text"] = b"".join(b"%d\n" % i for i in range(300_000))
for number in range(40):
    contents[f"file{number}"] = source.randbytes(source.randrange(3000, 60_000))
os.mkdir(f"{mnt}/dir")
for name, data in contents.items():
    write_file(f"{mnt}/dir/{name}", data)
with open(f"{mnt}/dir/sparse", "wb") as file:
    file.seek(30_000_000)
    file.write(contents["large"])
    file.truncate(60_000_000)
contents["sparse"] = read_file(f"{mnt}/dir/sparse")
times = {name: os.stat(f"{mnt}/dir/{name}").st_mtime_ns for name in contents}
lab.unmount()

step("sealed")
braid = lab.host(f"readlink /proc/{lab.server_pid()}/exe").strip()
store = lab.path + "-store"
lab.stop()
lab.host(f"{braid} store seal {lab.path}/dir --store {store}")
lab.host(f"{braid} check {store} --deep")
lab.host(f"printf plain > {lab.path}/dir/plain")
expect(int(lab.host(f"sync -f {lab.path}; du -sk {lab.path}/dir").split()[0]) < 4000, "its bytes are still in the tree")
expect(hashlib.sha256(contents["large"]).hexdigest() not in lab.host(f"sha256sum {lab.path}/dir/large"), "it is no stub")

step("read through the server")
with_store = (f'[[store]]\nname = "s"\ndirectory = "{store}"\nguard = true\n[[export]]\npath = "/"\ndirectory = "{lab.path}"\n'
              'squash = "none"\nread_only = true\nstore = "s"\n')
lab.serve(config=with_store)
mnt = lab.mount()


def is_as_it_was():
    for name, data in contents.items():
        expect(read_file(f"{mnt}/dir/{name}") == data, f"{name} differs")
        equal(os.stat(f"{mnt}/dir/{name}").st_mtime_ns, times[name], f"mtime of {name}")


is_as_it_was()
drop_caches()
with open(f"{mnt}/dir/large", "rb") as file:
    for _ in range(100):
        at, count = source.randrange(9_000_001), source.randrange(1, 100_000)
        file.seek(at)
        expect(file.read(count) == contents["large"][at:at + count], f"{count} bytes at {at} differ")
with open(f"{mnt}/dir/sparse", "rb") as file:
    if lab.version == "4.2":
        found = os.lseek(file.fileno(), 0, os.SEEK_DATA)
        expect(29_900_000 < found <= 30_000_000, f"the first data of the sparse file is at {found}")
expect(os.stat(f"{mnt}/dir/large").st_blocks * 512 >= 9_000_000, "its space is not told")
with refused(errno.EROFS, errno.EACCES):
    write_file(f"{mnt}/dir/large", b"y")
refusal = lab.host(f"{braid} check {store} 2>&1; echo $?")
expect("in use by braid serve" in refusal and refusal.endswith("8\n"), f"another process had the store: {refusal}")

step("another program beside the server is refused what it would read as zeros")
said = lab.host(f"cat {lab.path}/dir/large 2>&1 | wc -c; cat {lab.path}/dir/plain")
expect(int(said.splitlines()[0]) < 1000 and said.endswith("plain"), f"it has read {said!r}")

step("after a restart")
lab.stop()
lab.start()
drop_caches()
is_as_it_was()

step("without its store, from above: errors, no zeros")
lab.unmount()
lab.stop()
lab.host(f"mkdir {lab.path}/above && mv {lab.path}/dir {lab.path}/above/dir")
lab.serve(config=f'[[export]]\npath = "/"\ndirectory = "{lab.path}/above"\nsquash = "none"\n')
mnt = lab.mount()
with refused(errno.EIO):
    read_file(f"{mnt}/dir/large")
with refused(errno.EIO):
    read_file(f"{mnt}/dir/small")
equal(read_file(f"{mnt}/dir/plain"), b"plain", "what was not sealed")
equal(os.stat(f"{mnt}/dir/large").st_size, 9_000_001, "its size")
expect("sealed_file_refused" in lab.log(), "the log does not say why")
lab.unmount()
lab.stop()

step("unsealed")
lab.host(f"{braid} store unseal {lab.path}/above --store {store}")
lab.start()
mnt = lab.mount()
is_as_it_was()
lab.unmount()
