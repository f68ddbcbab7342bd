"""NFSv4: a client that is cut off for longer than a lease keeps what nobody else wants, and loses it to whoever does.

One that is cut off for less, and misses a call of the server, is told so and trusted again.
"""

import errno
import fcntl
import json
import os

from harness.client import Lab, equal, expect, metric, read_file, refused, step, until, write_file
from harness.constants import ADDRESS

RUNS = ("ext4",)
VERSIONS = ("4.2", "4.1", "4.0")
TAKES_S = 80
TIMEOUT_S = 240

LEASE_S = 10
OTHER = "10.99.13.3"


def address(action):
    """The first client comes by an address of its own, so that it alone can be cut off."""
    device = lab.host(f"ip -o addr show to {ADDRESS} | cut -d' ' -f2").strip()
    lab.host(f"ip addr {action} {OTHER}/24 dev {device}")


def locked(file):
    fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def held():
    return metric('braid_nfs4_delegations{type="read"}')


def bindings():
    return metric('braid_nfs4_operations_total{operation="BIND_CONN_TO_SESSION"}')


def locks_at_last(file):
    """Whether the server gives the lock away by now."""
    try:
        locked(file)
    except OSError as error:
        if error.errno not in (errno.EAGAIN, errno.EACCES):
            raise
        return False
    return True


def clients(version):
    """What the server knows of its clients of that version."""
    listed = json.loads(lab.host(f"/proc/{lab.server_pid()}/exe clients --json"))["clients"]
    return [client for client in listed if client["minor_version"] == int(version[2:])]


def cut_off_for_a_lease(version):
    """Returns when the server, too, finds that the lease of the client with open files is over."""
    address("del")
    until(lambda: any(client["opens"] and client["state"] == "courteous" for client in clients(version)),
          "the end of the lease", pause_s=0.2)


lab = Lab()
lab.export()
lab.serve(config=lab.config(limits=f"lease_seconds = {LEASE_S}"), listen="0.0.0.0")
address("add")
for version, other in (("4.2", "4.0"), ("4.1", "4.2"), ("4.0", "4.1")):
    step(f"NFSv{version}, nobody wants it")
    mnt = lab.mount(version=version, server=OTHER)
    peer = lab.mount(version=other, at="/run/peer")
    write_file(f"{mnt}/kept", b"0123456789")
    with open(f"{mnt}/kept", "r+b", buffering=0) as file, open(f"{peer}/kept", "r+b", buffering=0) as theirs:
        locked(file)
        cut_off_for_a_lease(version)
        address("add")
        os.pwrite(file.fileno(), b"abc", 3)
        os.fsync(file.fileno())
        with refused(errno.EAGAIN, errno.EACCES):
            locked(theirs)

        step(f"NFSv{version}, somebody does")
        cut_off_for_a_lease(version)
        until(lambda: locks_at_last(theirs), "the lock of the client that is cut off")
        equal(os.pread(theirs.fileno(), 10, 0), b"012abc6789", "the file")
        os.pwrite(theirs.fileno(), b"XYZ", 0)
        os.fsync(theirs.fileno())
        address("add")
        with refused(errno.EIO):
            os.pwrite(file.fileno(), b"lost", 0)
            os.fsync(file.fileno())
        equal(os.pread(theirs.fileno(), 10, 0), b"XYZabc6789", "the file of the new owner")
    step(f"NFSv{version}, it goes on")
    with open(f"{mnt}/kept", "r+b", buffering=0) as file:
        expect(file.read() == b"XYZabc6789", "the file, opened again")
        locked(file)
    os.unlink(f"{mnt}/kept")
    lab.unmount("/run/peer")
    lab.unmount()

for version in ("4.2", "4.1"):
    step(f"NFSv{version}, a client that misses a call")
    mnt = lab.mount(version=version, server=OTHER)
    called, another = f"called {version}", f"another {version}"
    for name in (called, another):
        lab.host(f"echo old > '{lab.path}/{name}'")
    equal(read_file(f"{mnt}/{called}"), b"old\n", "the file")
    expect(held() > 0, "no delegation was given")
    bound = bindings()
    address("del")
    lab.host(f"(echo new > '{lab.path}/{called}') > /dev/null 2>&1 &")
    # A call has a quarter of the lease to be answered.
    until(lambda: not any(client["callbacks"] for client in clients(version)), "the server's doubts about the client",
          pause_s=0.2)
    address("add")
    until(lambda: read_file(f"{mnt}/{called}") == b"new\n", "what the local program has written")

    step(f"NFSv{version}, it binds its connection again, and gets delegations again")
    until(lambda: os.stat(mnt) and bindings() > bound, "that the client binds its connection again")
    until(lambda: read_file(f"{mnt}/{another}") == b"old\n" and held(), "a delegation of another file")
    lab.unmount()
    equal(metric("braid_nfs4_delegations_revoked_total"), 0, "delegations that did not come back")
