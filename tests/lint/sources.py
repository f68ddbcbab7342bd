"""The C++ files of the project, as (path relative to the root, lines)."""

import os

FOLDERS = ("base", "io", "xdr", "hashing", "rpc", "rdma", "store", "vfs", "nfs3", "nfs4", "pnfs_mds", "pnfs_ds",
           "server", "tests", "bench")


def paths(root):
    for folder in FOLDERS:
        for directory, _, names in os.walk(os.path.join(root, folder)):
            for name in sorted(names):
                if name.endswith((".cc", ".h")):
                    yield os.path.relpath(os.path.join(directory, name), root)


def files(root):
    for path in paths(root):
        with open(os.path.join(root, path), encoding="utf-8") as file:
            yield path, file.read().split("\n")
