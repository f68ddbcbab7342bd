"""cp, mv and copy_file_range between exports of one file system and of two, and between mounts."""

import os

from harness.client import Lab, drop_caches, equal, expect, read_file, run, sha256, step, write_file

RUNS = ("ext4", "xfs")
VERSIONS = ("4.2",)

lab = Lab()
lab.export()
lab.host(f"mkdir {lab.path}/a {lab.path}/b {lab.path}/c && mount -t tmpfs none {lab.path}/c")
lab.serve(config="".join(f'[[export]]\npath = "/{name}"\ndirectory = "{lab.path}/{name}"\nsquash = "none"\n'
                         for name in "abc"))
a, b, c = (lab.mount(f"/{name}", at=f"/run/{name}", version="4.2") for name in "abc")

SIZES = (0, 1, 4097, (1 << 20) + 3, 20 << 20)
for size in SIZES:
    write_file(f"{a}/{size}", os.urandom(size))
os.sync()

for onto, what in ((b, "an export of the same file system"), (c, "an export of another one")):
    for size in SIZES:
        step(f"{size} bytes to {what}")
        source = f"{a}/{size}"
        wanted = sha256(source)
        run("cp", source, f"{onto}/cp")
        run("cp", source, f"{a}/moving")
        run("mv", f"{a}/moving", f"{onto}/mv")
        with open(source, "rb") as reader, open(f"{onto}/range", "wb") as writer:
            copied = 0
            while (got := os.copy_file_range(reader.fileno(), writer.fileno(), size + 1)) > 0:
                copied += got
        equal(copied, size, "bytes that copy_file_range has copied")
        drop_caches()
        for name in ("cp", "mv", "range"):
            equal(sha256(f"{onto}/{name}"), wanted, f"what {name} left")
        expect(not os.path.exists(f"{a}/moving"), "mv left its source")

step("into the middle of a file")
write_file(f"{b}/middle", b"x" * 10000)
with open(f"{a}/4097", "rb") as reader, open(f"{b}/middle", "r+b") as writer:
    equal(os.copy_file_range(reader.fileno(), writer.fileno(), 100, 7, 5000), 100, "bytes copied")
drop_caches()
equal(read_file(f"{b}/middle"), b"x" * 5000 + read_file(f"{a}/4097")[7:107] + b"x" * 4900, "what it is now")

step("COPY was used")
with open("/proc/self/mountstats", encoding="ascii") as stats:
    text = stats.read()
counts = [int(line.split()[1]) for line in text.splitlines() if line.strip().startswith("COPY:")]
errors = [int(line.split()[-1]) for line in text.splitlines() if line.strip().startswith("COPY:")]
expect(sum(counts) >= 2 * 3, f"COPY was called {counts} times")
equal(sum(errors), 0, "errors of COPY")
