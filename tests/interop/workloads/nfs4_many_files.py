"""NFSv4: a directory of two thousand files is listed whole, with attributes, and two mounts see each other's changes."""

import os

from harness.client import Lab, drop_caches, equal, step, write_file

RUNS = ("ext4",)
VERSIONS = ("4.2", "4.0")
TAKES_S = 20
TIMEOUT_S = 240

lab = Lab()
lab.export()
lab.serve()
COUNT = 2000

for version in ("4.2", "4.0"):
    step(f"NFSv{version}")
    mnt = lab.mount(version=version)
    os.mkdir(f"{mnt}/many")
    for i in range(COUNT):
        write_file(f"{mnt}/many/{i:05}", b"x" * (i % 7))
    drop_caches()
    wanted = {f"{i:05}": i % 7 for i in range(COUNT)}
    equal({entry.name: entry.stat().st_size for entry in os.scandir(f"{mnt}/many")}, wanted, "names and sizes")
    equal(sorted(lab.host(f"ls {lab.path}/many").split()), sorted(wanted), "names on the server")

    other = lab.mount(version="3", at="/run/other")
    os.unlink(f"{other}/many/00000")
    write_file(f"{other}/many/new", b"by NFSv3")
    drop_caches()
    with open(f"{mnt}/many/new", "rb") as file:
        equal(file.read(), b"by NFSv3", "a file made by the other mount")
    equal(os.path.exists(f"{mnt}/many/00000"), False, "a file removed by the other mount")
    lab.unmount("/run/other")
    lab.host(f"rm -r {lab.path}/many")
    lab.unmount()
