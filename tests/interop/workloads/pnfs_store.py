"""Data servers keep what is equal in their objects once: a client with layouts reads, writes and cuts what they have sealed."""

import os
import random

from harness.client import Lab, drop_caches, equal, expect, read_file, step, until, write_file
from harness.pnfs import (LONG_LEASE_S, SERVERS, UNIT, configuration, data_server_report, data_server_says, events, in_band,
                          pattern, start_servers, stored)

RUNS = ("ext4,4.2", "xfs,4.1")
TAKES_S = 60
TIMEOUT_S = 400

SIZE = 40 * UNIT * SERVERS
COPIES = 4
source = random.Random(3)

lab = Lab()
lab.export(size_mib=512)
lab.serve(config=configuration(lab, lease_s=LONG_LEASE_S))
start_servers(lab, how="start with a store")
mnt = lab.mount()


def in_store(number):
    return int(lab.host(f"du -sk {lab.store_of(number)}/containers").split()[0]) << 10


def seal(number):
    """Whether all of its objects are sealed now."""
    said = data_server_says(lab, number, f"store seal {lab.objects(number)}", "2>&1 || :")
    return "in use" not in said and stored(lab, number) < SIZE / SERVERS / 10


def seal_all():
    for number in range(1, SERVERS + 1):
        until(lambda number=number: seal(number), f"data server {number} to seal its objects", pause_s=0.5)


def as_written():
    drop_caches()
    for name, data in wanted.items():
        expect(read_file(f"{mnt}/{name}") == data, f"{name} differs")


step("copies of a file are written by layouts, and sealed at the data servers")
data = pattern(SIZE, "shared")
wanted = {f"copy{number}": bytearray(data) for number in range(COPIES)}
for name, content in wanted.items():
    write_file(f"{mnt}/{name}", bytes(content))
spaces = {name: os.stat(f"{mnt}/{name}").st_blocks for name in wanted}
seal_all()
taken = sum(in_store(number) for number in range(1, SERVERS + 1))
expect(taken < 1.3 * SERVERS * SIZE, f"{taken} bytes in stores; the stripes of copies begin at different servers")
for number in range(1, SERVERS + 1):
    report = data_server_report(lab, number)["stores"][0]
    expect(report["files_sealed"] >= COPIES, f"data server {number} has sealed {report['files_sealed']} objects")

step("they are read by layouts, and are as large as before")
reads = events(mnt)[0]
as_written()
expect(events(mnt)[0] > reads, "the client reads by layouts")
equal(in_band("READ"), 0, "READ at the metadata server")
for name, blocks in spaces.items():
    equal(os.stat(f"{mnt}/{name}").st_blocks, blocks, f"space of {name}")

step("a client without layouts sees the same")
other = lab.mount(at="/run/other", version="3")
drop_caches()
for name, content in wanted.items():
    expect(read_file(f"{other}/{name}") == content, f"{name} differs in NFSv3")

step("what is written to them is newer, they are cut and grow, and are sealed again")
for _ in range(3):
    for name, content in wanted.items():
        with open(f"{mnt}/{name}", "r+b") as file:
            for _ in range(10):
                at, count = source.randrange(len(content)), source.randrange(1, 3 * UNIT)
                new = source.randbytes(count)
                os.pwrite(file.fileno(), new, at)
                content.extend(bytes(max(0, at + count - len(content))))
                content[at:at + count] = new
            size = source.randrange(SIZE // 2, SIZE)
            os.ftruncate(file.fileno(), size)
            os.ftruncate(file.fileno(), SIZE)
            content[size:] = bytes(SIZE - size)
    as_written()
    seal_all()
    as_written()

step("data servers are killed, and have it all when they are back")
for number in range(1, SERVERS + 1):
    lab.data_server(number, "SIGKILL")
start_servers(lab, how="start with a store")
as_written()

step("objects go with their files")
for name in wanted:
    os.unlink(f"{mnt}/{name}")
until(lambda: all(lab.host(f"find {lab.objects(number)} -type f | wc -l").strip() == "0" for number in range(1, SERVERS + 1)),
      "the objects to go")
