"""A server that may open 256 descriptors serves 2,000 files in use at once."""

import os
import resource

from harness.client import Lab, drop_caches, equal, expect, step

VARIANTS = ("ext4",)

FILES = 2000
LIMIT = 256

lab = Lab()
lab.export()
lab.serve(open_files_max=LIMIT)
mnt = lab.mount()

resource.setrlimit(resource.RLIMIT_NOFILE, (FILES + 100, FILES + 100))
step("open, write and read them in turn")
descriptors = [os.open(f"{mnt}/{number}", os.O_RDWR | os.O_CREAT) for number in range(FILES)]
for number, descriptor in enumerate(descriptors):
    os.write(descriptor, str(number).encode() * 10)
os.sync()
for round_ in range(2):
    drop_caches()
    for number, descriptor in enumerate(descriptors):
        equal(os.pread(descriptor, 100, 0), str(number).encode() * 10, f"file {number}")
    count = int(lab.host(f"ls /proc/{lab.server_pid()}/fd | wc -l"))
    expect(count <= LIMIT, f"{count} descriptors")
    print(f"  the server has {count} descriptors open")
for descriptor in descriptors:
    os.close(descriptor)
equal(len(os.listdir(mnt)) - 1, FILES, "files")
