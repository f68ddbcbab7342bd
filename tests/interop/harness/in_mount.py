"""Runs a command in a fresh NFS mount: in_mount.py COMMAND... ; its directory is the mount, $MNT too."""

import os
import subprocess
import sys

from harness.client import Lab, equal, step
from harness.pnfs import configuration, events, in_band, serve_together, start_servers
from harness.store import SealingAndCollecting, Store


def serve_striped(lab, count, apart, stripe):
    """Serves the export with that many data servers; new files are striped as `stripe` says (user.braid.stripe)."""
    if stripe:
        lab.host(f"/usr/bin/python3 -c 'import os; os.setxattr(\"{lab.path}\", \"user.braid.stripe\", b\"{stripe}\")'")
    if apart:
        lab.serve(config=configuration(lab))
        start_servers(lab, count)
    else:
        serve_together(lab, count)


def run_with_store(lab, ingest):
    """The same in an export with a store, of which every byte is there at the end."""
    lab.serve()
    lab.mount()
    store = Store(lab, f'gc_keep_seconds = 0\ningest = "{ingest}"\n{os.environ["INTEROP_STORE_KEYS"]}')
    mnt = lab.mount()
    os.chmod(mnt, 0o777)
    with SealingAndCollecting(store):
        status = run(mnt)
    equal(store.figure("gc_alarm"), 0, "no alarm of the garbage collection")
    streams = store.figure("windowed_bytes_total") if ingest == "window" else 0
    step(f"bytes of sealed files: {store.figure('bytes_sealed_total'):.0f}, of streams: {streams:.0f}; "
         f"collections of garbage: {store.figure('gc_total'):.0f}")
    store.end({})
    return status


def run(mnt):
    return subprocess.run(sys.argv[1:], cwd=mnt, env={**os.environ, "MNT": mnt}, check=False).returncode & 0xFF


def main():
    lab = Lab()
    servers = int(os.environ["INTEROP_DATA_SERVERS"])
    lab.export(size_mib=int(os.environ["INTEROP_SIZE_MIB"]))
    if os.environ["INTEROP_STORE"]:
        return run_with_store(lab, os.environ["INTEROP_STORE"])
    if servers:
        serve_striped(lab, servers, bool(os.environ["INTEROP_APART"]), os.environ["INTEROP_STRIPE"])
    else:
        lab.serve()
    mnt = lab.mount()
    os.chmod(mnt, 0o777)
    status = run(mnt)
    if servers and lab.version != "3":
        reads, writes = events(mnt)
        step(f"by layouts {reads} reads and {writes} writes; at the metadata server READ {in_band('READ'):.0f}, "
             f"WRITE {in_band('WRITE'):.0f}")
    return status


if __name__ == "__main__":
    sys.exit(main())
