"""NFSv4: a client that crashes frees its locks when it is back; while it is away they go to others after its lease."""

import fcntl
import json
import os
import signal
import sys

from harness.client import SHORT_LEASE_S, Lab, equal, expect, metric, read_file, start, step, write_file

RUNS = ("ext4",)
VERSIONS = ("4.2", "4.1", "4.0")
TAKES_S = 40
TIMEOUT_S = 240

MACHINES = {"4.0": "first", "4.1": "second", "4.2": "third"}


def names(version):
    return f"locked-{version}", f"delegated-{version}"


def hold(mnt, version, found, written, ready):
    """Has one file locked and another one open for reading, which gets it delegated, until the machine ends."""
    locked, delegated = names(version)
    with open(f"{mnt}/{locked}", "r+b", buffering=0) as file:
        fcntl.lockf(file, fcntl.LOCK_EX)
        equal(os.pread(file.fileno(), 10, 0), found.encode(), "the file that is locked")
        os.pwrite(file.fileno(), written.encode(), 0)
        os.fsync(file.fileno())
        write_file(f"{mnt}/{delegated}", written.encode())
        with open(f"{mnt}/{delegated}", "rb") as other:
            equal(other.read(), written.encode(), "the file that is delegated")
            os.write(ready, b"x")
            signal.pause()


def in_other_machine(*arguments):
    """One life of a machine that crashes."""
    version = arguments[0]
    ready, done = os.pipe()
    start(hold, Lab().mount(version=version), *arguments, done)
    os.close(done)
    equal(os.read(ready, 1), b"x", "the word of the process that holds the lock")


if len(sys.argv) > 1:
    in_other_machine(*sys.argv[1:])
    sys.exit()

lab = Lab()


def listed(what):
    return json.loads(lab.host(f"/proc/{lab.server_pid()}/exe {what} --json"))[what]


def holders():
    """The clients that have locks, by version."""
    return {version: line["client"] for line in listed("locks") for version in MACHINES
            if line["file"].endswith(names(version)[0]) and line["ranges"]}


def live(found, written):
    """A life of all machines; returns the clients that they are."""
    for version, name in MACHINES.items():
        lab.boot(name, version, found, written)
    for name in MACHINES.values():
        lab.await_machine(name)
    before = holders()
    equal(sorted(before), sorted(MACHINES), "the versions of the clients that have locks")
    for name in MACHINES.values():
        lab.crash(name)
    equal(holders(), before, "the clients that have locks when they are gone")
    return before


def gone(reason):
    return metric(f'braid_nfs4_clients_gone_total{{reason="{reason}"}}')


def known():
    return {client["id"] for client in listed("clients")}


lab.export()
lab.serve(config=lab.config(limits=f"lease_seconds = {SHORT_LEASE_S}"))
mounts = {version: lab.mount(version=version, at=f"/run/{version}") for version in MACHINES}
for version, mnt in mounts.items():
    write_file(f"{mnt}/{names(version)[0]}", b"0123456789")

step("they crash")
first = live("0123456789", "held")
step("they come back, and crash again")
second = live("held456789", "again")
equal(gone("replaced"), len(MACHINES), "clients that a new life of theirs has replaced")
expect(not set(first.values()) & known(), f"of {first} some are still known")

step("they stay away")
for version, mnt in mounts.items():
    locked, delegated = names(version)
    with open(f"{mnt}/{locked}", "r+b", buffering=0) as file:
        fcntl.lockf(file, fcntl.LOCK_EX)
        equal(os.pread(file.fileno(), 10, 0), b"again56789", "the file that was locked")
        expect(holders()[version] != second[version], f"the lock of NFSv{version} has two owners")
    equal(read_file(f"{mnt}/{delegated}"), b"again", "the file that was delegated")
    write_file(f"{mnt}/{delegated}", b"ours")
    lab.unmount(mnt)
expect(not set(second.values()) & known(), f"of {second} some are still known")
