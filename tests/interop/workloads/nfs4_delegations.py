"""NFSv4: delegations are given, and recalled by a second client, by local programs and by NFSv3.

Over the back channel of a session, and with 4.0 over a connection that the server makes to the client.
"""

import os

from harness.client import Lab, equal, expect, metric, read_file, step, until, write_file
from harness.mountstats import operations_sent

RUNS = ("ext4", "tmpfs,4.0")
VERSIONS = ("4.2", "4.1", "3")
TAKES_S = 30
TIMEOUT_S = 300

lab = Lab()
lab.export()
lab.serve(config=lab.config(server='delegations = "write"'))
mnt = lab.mount(version="4.0" if lab.version == "4.0" else "4.1")
other = lab.mount(version="4.2", at="/run/other")


def held(kind):
    return metric(f'braid_nfs4_delegations{{type="{kind}"}}')


def recalled():
    return metric("braid_nfs4_delegations_recalled_total")


def local(program, *arguments):
    return lab.host(f'/usr/bin/python3 -c "{program}" {" ".join(arguments)}').strip()


if lab.version == "4.0":
    step("the server finds out, in the background, that it can call the client")
    lab.host(f"echo text > {lab.path}/probed")
    until(lambda: read_file(f"{mnt}/probed") and held("read"), "a delegation of the file that is read")
    os.unlink(f"{other}/probed")
    until(lambda: not held("read"), "the end of that delegation")

step("a file that is only read is delegated, and read again without the server")
lab.host(f"echo first > {lab.path}/file")
with open(f"{mnt}/file", "rb") as file:
    equal(file.read(), b"first\n", "the file")
    expect(held("read") >= 1, "no read delegation was given")
    before = operations_sent(mnt, "OPEN")
    for _ in range(20):
        equal(read_file(f"{mnt}/file"), b"first\n", "the file")
    equal(operations_sent(mnt, "OPEN"), before, "OPENs under a delegation")

step("another client reads beside it")
equal(read_file(f"{other}/file"), b"first\n", "the file")
before = recalled()

step("another client's writing has it recalled, and is seen")
write_file(f"{other}/file", b"second")
expect(recalled() > before, "nothing was recalled")
equal(read_file(f"{mnt}/file"), b"second", "the file at the first client")

step("a local program's writing has it recalled, and is seen")
lab.host(f"echo third > {lab.path}/third")
equal(read_file(f"{mnt}/third"), b"third\n", "the file")
expect(held("read") >= 1, "no read delegation was given")
before = recalled()
local("import sys; open(sys.argv[1], 'w').write('fourth')", f"{lab.path}/third")
expect(recalled() > before, "nothing was recalled")
equal(read_file(f"{mnt}/third"), b"fourth", "the file after the local program")

step("what is written under a write delegation is seen by another client and by local programs")
for number, reader in enumerate((lambda name: read_file(f"{other}/{name}"),
                                 lambda name: lab.host(f"cat {lab.path}/{name}").encode())):
    name = f"written{number}"
    with open(f"{mnt}/{name}", "w+b", buffering=0) as file:
        expect(held("write") >= 1, "no write delegation was given")
        before = recalled()
        file.write(b"x" * 100_000)
        equal(os.stat(f"{other}/{name}").st_size, 100_000, "the size that the other client sees")
        os.fsync(file.fileno())
        file.write(b"y")
    expect(reader(name) == b"x" * 100_000 + b"y", f"{name} is another elsewhere")
    expect(recalled() > before, "nothing was recalled")

step("what was closed is there, although the delegation is not back")
old = lab.mount(version="3", at="/run/old")
for round_ in range(20):
    size = 4_000_000 + round_
    write_file(f"{mnt}/closed{round_}", b"x" * size)
    equal(os.stat(f"{old}/closed{round_}").st_size, size, "the size that an NFSv3 client sees")
expect(held("write") >= 1, "no write delegation was given")

step("removing, renaming and changing the mode elsewhere works")
for name in ("removed", "renamed", "changed"):
    lab.host(f"echo text > {lab.path}/{name}")
    equal(read_file(f"{mnt}/{name}"), b"text\n", name)
before = recalled()
os.unlink(f"{other}/removed")
os.rename(f"{other}/renamed", f"{other}/new name")
os.chmod(f"{other}/changed", 0o600)
equal(recalled(), before + 3, "recalls")
equal(lab.host(f"ls {lab.path} | grep -E 'removed|name|changed'").split("\n"), ["changed", "new name", ""], "the names")
with open(f"{mnt}/changed", "rb") as file:
    equal(os.fstat(file.fileno()).st_mode & 0o777, 0o600, "the mode")

step("an NFSv3 client is no exception")
lab.host(f"echo text > {lab.path}/v3")
equal(read_file(f"{mnt}/v3"), b"text\n", "the file")
before, sent = recalled(), operations_sent(old, "SETATTR")
os.chmod(f"{old}/v3", 0o640)
expect(recalled() > before, "nothing was recalled")
equal(operations_sent(old, "SETATTR"), sent + 1, "SETATTRs (NFS3ERR_JUKEBOX has Linux come back after five seconds)")
write_file(f"{old}/v3", b"from NFSv3")
equal(read_file(f"{mnt}/v3"), b"from NFSv3", "the file at the first client")

step("it appends to what the holder has closed")
for round_ in range(10):
    write_file(f"{mnt}/log{round_}", b"first\n")
    with open(f"{old}/log{round_}", "ab") as file:
        file.write(b"second\n")
    equal(lab.host(f"cat {lab.path}/log{round_}"), "first\nsecond\n", "the file")
lab.unmount("/run/old")

equal(metric("braid_nfs4_delegations_revoked_total"), 0, "delegations that did not come back")
lab.unmount("/run/other")
lab.unmount()
