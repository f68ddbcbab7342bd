"""Runs a command in a fresh NFS mount: in_mount.py COMMAND... ; its directory is the mount, $MNT too."""

import os
import subprocess
import sys

from harness.client import Lab

lab = Lab()
mnt = lab.ready(size_mib=int(os.environ["INTEROP_SIZE_MIB"]))
os.chmod(mnt, 0o777)
sys.exit(subprocess.run(sys.argv[1:], cwd=mnt, env={**os.environ, "MNT": mnt}, check=False).returncode & 0xFF)
