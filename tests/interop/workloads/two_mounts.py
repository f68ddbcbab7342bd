"""Close-to-open consistency between two mounts with caches of their own."""

import os
import time

from harness.client import Lab, equal, expect, read_file, step, write_file

RUNS = ("ext4", "tmpfs", "ext4,4.2")

lab = Lab()
lab.export()
# Both mounts are one NFSv4 client: what one of them changes does not keep the other from using its delegation.
lab.serve(config=lab.config(server='delegations = "none"'))
one = lab.mount()
two = lab.mount(at="/run/two", options="nosharecache")
equal(os.stat(one).st_ino, os.stat(two).st_ino, "inode of the root")
expect(os.stat(one).st_dev != os.stat(two).st_dev, "the mounts share their cache")

# Linux 6.1 does not set the verifier of a name whose directory it sees changed by the LOOKUP itself. What the memory
# held is taken for one, and may say "delegated": then the next open asks nothing. So both know the names beforehand.
for name in ("file", "small", "log"):
    write_file(f"{one}/{name}", b"")
for mnt in (one, two):
    os.listdir(mnt)

step("what one closed, the other opens")
for round_ in range(100):
    data = os.urandom(1 + round_ * 997)
    writer, reader = (one, two) if round_ % 2 else (two, one)
    write_file(f"{writer}/file", data)
    expect(read_file(f"{reader}/file") == data, f"round {round_}: stale data of {len(data)} bytes")

step("same size, other data")
for round_ in range(50):
    data = f"{round_:08}".encode()
    # Longer than the tick of the file system's clock: with v3 a change is seen by its times alone.
    time.sleep(0.02)
    write_file(f"{one}/small", data)
    equal(read_file(f"{two}/small"), data, f"round {round_}")

step("appends in turn")
for round_ in range(50):
    with open(f"{one if round_ % 2 else two}/log", "ab") as file:
        file.write(f"{round_}\n".encode())
equal(read_file(f"{one}/log").split(), [str(n).encode() for n in range(50)], "lines")
