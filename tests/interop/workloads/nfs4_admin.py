"""What an administrator sees of a Linux client, and takes from it: its processes go on with files that can be opened
again, and learn of locks that were lost.
"""

import fcntl
import json
import os

from harness.client import Lab, drop_caches, equal, expect, read_file, step, write_file

RUNS = ("tmpfs",)
VERSIONS = ("4.2", "4.1", "4.0")
TIMEOUT_S = 240

lab = Lab()
lab.export()
lab.serve()


def braid(*command):
    """Runs the server's own binary on its host."""
    return lab.host(" ".join((f"/proc/{lab.server_pid()}/exe", *command)))


def listed(what):
    return json.loads(braid(what, "--json"))[what]


def opens_of(name):
    return [line for line in listed("opens") if line["file"].endswith(f"/{name}")]


for version in ("4.2", "4.1", "4.0"):
    step(f"NFSv{version}")
    mnt = lab.mount(version=version)
    for name in ("locked", "open"):
        write_file(f"{mnt}/{name}", b"0123456789")
    with open(f"{mnt}/locked", "r+b", buffering=0) as locked, open(f"{mnt}/open", "r+b", buffering=0) as file:
        fcntl.lockf(locked, fcntl.LOCK_EX | fcntl.LOCK_NB, 5, 2)
        client = next(c for c in listed("clients") if c["opens"] > 0)
        equal(client["minor_version"], int(version[2:]), "the minor version")
        equal(client["state"], "active", "the state")
        expect(client["name"].startswith("Linux NFS"), f"a Linux client, not {client['name']}")
        lock = next(line for line in listed("locks") if line["client"] == client["id"])
        equal(lock["ranges"], [{"first": 2, "last": 6, "type": "write"}], "the lock")
        expect(lock["file"].endswith("/locked"), f"the lock of {lock['file']}")
        equal([line["access"] for line in opens_of("open")], ["both"], "the open")
        if version != "4.0":
            expect(any(s["client"] == client["id"] and s["back_connections"] > 0 for s in listed("sessions")),
                   "a session with a back channel")

            braid("client", "revoke", client["id"])
            equal(opens_of("open"), [], "the opens after they were revoked")
            os.pwrite(file.fileno(), b"abc", 3)
            os.fsync(file.fileno())
            equal([line["client"] for line in opens_of("open")], [client["id"]], "the open that was made again")
            step("the file is written after its open was revoked")

        braid("client", "evict", client["id"])
        expect(client["id"] not in [c["id"] for c in listed("clients")], "the client is forgotten")
        os.pwrite(file.fileno(), b"def", 6)
        os.fsync(file.fileno())
        expect(opens_of("open")[0]["client"] != client["id"], "the open is that of a new client")
        step("the file is written after its client was evicted")
    drop_caches()
    equal(read_file(f"{mnt}/open"), b"012345def9" if version == "4.0" else b"012abcdef9", "the file")
    for name in ("locked", "open"):
        os.unlink(f"{mnt}/{name}")
    lab.unmount()
