"""RDMA and TCP clients of one file: what one closed, the other opens; delegations are recalled over RDMA."""

import os

from harness.client import Lab, equal, expect, metric, read_file, step, write_file

MACHINE = "rdma"
RUNS = ("tmpfs",)
VERSIONS = ("4.2", "4.1", "3")
TAKES_S = 70
TIMEOUT_S = 240

lab = Lab()
lab.export()
lab.serve(config=lab.config(server='delegations = "write"'))


def recalled():
    return metric("braid_nfs4_delegations_recalled_total")


step("what one closed, the other opens")
for version in ("3", "4.1"):
    one = lab.mount(version=version, proto="rdma", at="/run/one")
    two = lab.mount(version="4.2", at="/run/two")
    for round_ in range(12):
        data = os.urandom(1 + round_ * 9973)
        writer, reader = (one, two) if round_ % 2 else (two, one)
        write_file(f"{writer}/file", data)
        expect(read_file(f"{reader}/file") == data, f"NFSv{version}, round {round_}: stale data of {len(data)} bytes")
    for round_ in range(10):
        with open(f"{one if round_ % 2 else two}/log{version}", "ab") as file:
            file.write(f"{round_}\n".encode())
    equal(read_file(f"{one}/log{version}").split(), [str(n).encode() for n in range(10)], "lines")
    lab.unmount(one)
    lab.unmount(two)

step("delegations of an RDMA client are recalled over its connection")
one = lab.mount(version="4.1", proto="rdma", at="/run/one")
two = lab.mount(version="4.2", at="/run/two")
lab.host(f"echo first > {lab.path}/delegated")
with open(f"{one}/delegated", "rb") as file:
    equal(file.read(), b"first\n", "the file")
    expect(metric('braid_nfs4_delegations{type="read"}') >= 1, "no read delegation was given")
    before = recalled()
    write_file(f"{two}/delegated", b"second")
    expect(recalled() > before, "nothing was recalled")
equal(read_file(f"{one}/delegated"), b"second", "the file at the RDMA client")
with open(f"{one}/written", "w+b", buffering=0) as file:
    expect(metric('braid_nfs4_delegations{type="write"}') >= 1, "no write delegation was given")
    file.write(b"x" * 100_000)
    equal(os.stat(f"{two}/written").st_size, 100_000, "the size that the TCP client sees")
equal(len(read_file(f"{two}/written")), 100_000, "the file at the TCP client")
equal(metric("braid_nfs4_delegations_revoked_total"), 0, "delegations that did not come back")
lab.unmount(one)
lab.unmount(two)
