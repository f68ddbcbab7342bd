"""File systems to export: made in the private mount namespace of one run, so that they vanish with it."""

import os
import shutil
import subprocess

# mkfs command and mount options per kind. The images lie on a tmpfs, so a flush costs nothing.
KINDS = {
    "tmpfs": (None, ""),
    "ext4": (["mkfs.ext4", "-q", "-F"], ""),
    "xfs": (["mkfs.xfs", "-q", "-f"], ""),
    "btrfs": (["mkfs.btrfs", "-q", "-f"], ""),
}

# Smaller images are refused by the mkfs of that kind.
SIZE_MIB_MIN = {"xfs": 320, "btrfs": 128}


class Unavailable(Exception):
    """This machine cannot make such a file system: the test that wants it is skipped, not failed."""


def run(argv):
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        raise Unavailable(f"{' '.join(argv)}: {done.stdout.strip()}")


class Export:
    """One mounted file system. `path` is its root, `image` the file behind its loop device (None for tmpfs)."""

    def __init__(self, base, name, kind, size_mib, mkfs_options=(), mount_options=""):
        if kind not in KINDS:
            raise ValueError(f"unknown kind of file system: {kind}")
        mkfs, default_options = KINDS[kind]
        self.kind = kind
        self.path = os.path.join(base, "export", name)
        self.image = None
        self.options = ",".join(o for o in (default_options, mount_options) if o)
        os.makedirs(self.path)
        if mkfs is None:
            options = ",".join(o for o in (f"size={size_mib}m", "mode=755", self.options) if o)
            run(["mount", "-t", "tmpfs", "-o", options, "interop", self.path])
            return
        if not shutil.which(mkfs[0]):
            raise Unavailable(f"{mkfs[0]} is not installed")
        self.image = os.path.join(base, "export", name + ".img")
        with open(self.image, "wb") as image:
            image.truncate(max(size_mib, SIZE_MIB_MIN.get(kind, 0)) << 20)
        run([*mkfs, *mkfs_options, self.image])
        self.mount()

    def mount(self):
        options = ",".join(o for o in ("loop", self.options) if o)
        run(["mount", "-t", self.kind, "-o", options, self.image, self.path])

    def unmount(self):
        run(["umount", self.path])
