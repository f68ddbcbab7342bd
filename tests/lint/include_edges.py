#!/usr/bin/python3
"""Fails on an #include against the direction of dependence between folders (docs/architecture.md).

include_edges.py ROOT
include_edges.py --self-test
"""

import os
import re
import sys
import tempfile

import sources

# What each folder may use directly; what those use is included. Tests and benchmarks may use everything. A subfolder
# belongs to its folder unless it is named here, and below `server` each is named; where some are, the folder's own name stands
# for the files that lie in it directly. None of them may use the simulators, fakes and fault injectors of TESTS_ONLY.
USES = {
    "base": (),
    "io": ("base",),
    "xdr": ("io",),
    "hashing": ("io",),
    "rpc": ("xdr", "hashing"),
    "rdma": ("rpc",),
    "vfs": ("io",),
    "store/medium": ("vfs", "hashing"),
    "store/chunks": ("store/medium",),
    "store/recipes": ("store/chunks",),
    "store": ("store/chunks",),
    "store/sealing": ("store", "store/recipes"),
    "store/maintenance": ("store", "store/recipes"),
    "store/content": ("store/sealing",),
    "nfs": ("rpc", "vfs"),
    "nfs3": ("nfs",),
    "nfs4": ("nfs",),
    "pnfs": ("rpc", "vfs"),
    "pnfs_mds": ("pnfs", "nfs3", "nfs4"),
    "pnfs_ds": ("pnfs", "nfs3", "nfs4"),
    "tools": ("store/sealing", "store/maintenance"),
    "server/config": ("store/content", "store/maintenance", "pnfs_mds", "pnfs_ds", "rdma"),
    "server/admin": ("io",),
    "server": ("server/config", "server/admin"),
    "server/metrics": ("server",),
    "server/roles/nfs": ("server/metrics",),
    "server/roles/data_server": ("server/roles/nfs", "server/roles/stores"),
    "server/roles/mds": ("server/roles/nfs",),
    "server/roles/stores": ("server/roles/nfs",),
    "server/run": ("server/roles/nfs", "server/roles/data_server", "server/roles/mds", "server/roles/stores"),
    "server/cli": ("server/run", "tools"),
}
TESTS_ONLY = {
    "base/manual": ("base",),
    "hashing/host": ("hashing",),
    "pnfs_mds/fake": ("pnfs_mds",),
    "rpc/memory": ("rpc",),
    "rdma/sim": ("rdma", "base/manual"),
    "vfs/faulty": ("vfs",),
    "vfs/memory": ("vfs",),
}
USES |= TESTS_ONLY

TABLE = "| Folder | may use |"

INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"')


def folder_of(path):
    """The entry of USES that a path belongs to, or its first folder if it belongs to none."""
    first, directory = path.split("/")[0], os.path.dirname(path)
    return directory if first == "server" or directory in USES else first


def allowed(folder):
    """Every folder that `folder` may include from, itself among them."""
    out = {folder}
    for used in USES[folder]:
        out |= allowed(used)
    return out


def wrong_edges(root):
    out = []
    for path, lines in sources.files(root):
        folder = folder_of(path)
        if folder not in USES and folder.startswith("server/"):
            out.append(f"{path}:1: {folder} is not among the folders of this check; add it, with what it may use")
        for number, line in enumerate(lines, 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            target = folder_of(match.group(1))
            if "/" not in match.group(1) and folder in USES:
                out.append(f'{path}:{number}: #include "{match.group(1)}" has no folder; write the path from the root')
            elif folder in USES and target not in allowed(folder):
                out.append(f'{path}:{number}: {folder} must not include "{match.group(1)}"; it may use '
                           f'{", ".join(sorted(allowed(folder)))}')
    return out


def wrong_rows(text):
    """What the table of docs/architecture.md says otherwise than USES."""
    table = text.partition(TABLE)[2].partition("\n\n")[0]
    rows = dict(re.findall(r"^\| `([a-z0-9_/]+)` \| ([^|]*) \|", table, re.M))
    out = []
    for folder, uses in USES.items():
        right = ", ".join(f"`{used}`" for used in uses) or "nothing"
        if rows.get(folder) != right:
            out.append(f"docs/architecture.md:1: the table has to say that `{folder}` may use {right}")
    out += [f"docs/architecture.md:1: the table has `{folder}`, which this check does not know"
            for folder in rows if folder not in USES]
    return out


def check_tree(files):
    """The complaints about a tree of these files: path -> text."""
    with tempfile.TemporaryDirectory() as root:
        for path, text in files.items():
            os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
            with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                file.write(text)
        return wrong_edges(root)


def self_test():
    right = {
        "rpc/server.cc": '#include "rpc/server.h"\n#include "io/op.h"\n#include <vector>\n',
        "nfs3/procs/read.cc": '#include "vfs/types.h"\n#include "nfs3/nfs3.x.h"\n',
        "server/server.cc": '#include "rdma/verbs.h"\n#include "nfs4/state/opens.h"\n#include "server/config/config.h"\n',
        "server/cli/main.cc": '#include "server/run/serve.h"\n#include "server/roles/nfs/nfs_role.h"\n#include "server/role.h"\n',
        "vfs/memory/names.cc": '#include "vfs/memory/storage.h"\n#include "vfs/types.h"\n',
        "tests/unit/io/op_test.cc": '#include "server/server.h"\n#include "vfs/memory/storage.h"\n',
    }
    assert check_tree(right) == [], check_tree(right)
    for path, include in (("base/log.h", "io/op.h"), ("io/op.h", "xdr/arena.h"), ("rpc/call.h", "vfs/types.h"),
                          ("vfs/posix/tree.h", "rpc/call.h"), ("nfs3/service.h", "nfs4/compound.h"), ("nfs/caller.h", "nfs3/service.h"),
                          ("nfs4/compound.h", "pnfs_mds/layout.h"), ("rdma/verbs.h", "nfs4/compound.h"),
                          ("rpc/server.h", "server/server.h"), ("tools/hash_files.h", "server/server.h"),
                          ("server/server.h", "server/run/serve.h"), ("server/config/config.h", "server/role.h"),
                          ("server/run/serve.h", "server/cli/command_line.h"), ("server/server.h", "server/roles/nfs/nfs_role.h"),
                          ("server/metrics/http.h", "server/other/other.h"),
                          ("vfs/posix/tree.h", "vfs/memory/storage.h"), ("rdma/verbs.h", "rdma/sim/fabric.h"), ("nfs4/compound.h", "vfs/memory/storage.h"),
                          ("server/run/serve.h", "vfs/memory/storage.h"), ("vfs/memory/storage.h", "nfs4/compound.h"),
                          ("store/chunks/index.h", "store/store.h"), ("store/store.h", "store/recipes/recipe.h"),
                          ("store/sealing/sealer.h", "store/content/window.h"),
                          ("io/op.h", "tests/unit/io/loop.h"),
                          ("io/op.h", "gate.h")):
        found = check_tree({**right, path: f'// A planted mistake.\n#  include "{include}"\n'})
        assert len(found) == 1 and found[0].startswith(f"{path}:2: "), (path, include, found)
    found = check_tree({**right, "server/other/other.h": ""})
    assert len(found) == 1 and found[0].startswith("server/other/other.h:1: server/other is not among"), found
    table = TABLE + "\n" + "".join(f"| `{folder}` | {', '.join(f'`{used}`' for used in uses) or 'nothing'} | x |\n"
                    for folder, uses in USES.items())
    assert wrong_rows(table + "\n| `not` | nothing |\n") == []
    for wrong in (table.replace("| `xdr` | `io` |", "| `xdr` | `base` |"), table.replace("| `xdr` | `io` | x |\n", ""),
                  table + "| `other` | nothing | x |\n"):
        assert len(wrong_rows(wrong)) == 1, wrong_rows(wrong)


if __name__ == "__main__":
    if sys.argv[1] == "--self-test":
        self_test()
        sys.exit(0)
    complaints = wrong_edges(sys.argv[1])
    with open(os.path.join(sys.argv[1], "docs/architecture.md"), encoding="utf-8") as document:
        complaints += wrong_rows(document.read())
    print("\n".join(complaints))
    sys.exit(1 if complaints else 0)
