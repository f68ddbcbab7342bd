"""Runs a command in a fresh NFS mount: in_mount.py COMMAND... ; its directory is the mount, $MNT too."""

import os
import subprocess
import sys

from harness.client import Lab, step
from harness.pnfs import configuration, events, in_band, serve_together, start_servers


def serve_striped(lab, count, apart, stripe):
    """Serves the export with that many data servers; new files are striped as `stripe` says (user.braid.stripe)."""
    if stripe:
        lab.host(f"/usr/bin/python3 -c 'import os; os.setxattr(\"{lab.path}\", \"user.braid.stripe\", b\"{stripe}\")'")
    if apart:
        lab.serve(config=configuration(lab))
        start_servers(lab, count)
    else:
        serve_together(lab, count)


def main():
    lab = Lab()
    servers = int(os.environ["INTEROP_DATA_SERVERS"])
    lab.export(size_mib=int(os.environ["INTEROP_SIZE_MIB"]))
    if servers:
        serve_striped(lab, servers, bool(os.environ["INTEROP_APART"]), os.environ["INTEROP_STRIPE"])
    else:
        lab.serve()
    mnt = lab.mount()
    os.chmod(mnt, 0o777)
    status = subprocess.run(sys.argv[1:], cwd=mnt, env={**os.environ, "MNT": mnt}, check=False).returncode & 0xFF
    if servers and lab.version != "3":
        reads, writes = events(mnt)
        step(f"by layouts {reads} reads and {writes} writes; at the metadata server READ {in_band('READ'):.0f}, "
             f"WRITE {in_band('WRITE'):.0f}")
    return status


if __name__ == "__main__":
    sys.exit(main())
