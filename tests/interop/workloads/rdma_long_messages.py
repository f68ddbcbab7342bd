"""RDMA: messages too long to be sent inline: listings of 10,000 names, long links, big ACLs and extended attributes."""

import os

from harness.client import Lab, drop_caches, equal, expect, run, step
from harness.mountstats import rdma_counts

MACHINE = "rdma"
RUNS = ("ext4",)
VERSIONS = ("4.2", "4.0", "3")
TAKES_S = 80
TIMEOUT_S = 300

NAMES = 10_000

lab = Lab()
# Links as long as a block, extended attributes in inodes of their own.
lab.export(mkfs=("-b", "4096", "-O", "ea_inode"))
lab.serve()
lab.host(f"mkdir {lab.path}/many; cd {lab.path}/many; seq -f name_of_a_file_%g {NAMES} | xargs touch")
wanted = sorted(f"name_of_a_file_{number + 1}" for number in range(NAMES))


def used(at, counter, before):
    """`counter` must have grown since `before`."""
    now = rdma_counts(at)[counter]
    expect(now > before[counter], f"{counter} did not grow: {now}")


for version in ("3", "4.0", "4.2"):
    step(f"NFSv{version}: a directory of {NAMES} names")
    mnt = lab.mount(version=version, proto="rdma")
    before = rdma_counts(mnt)
    equal(sorted(os.listdir(f"{mnt}/many")), wanted, "names")
    used(mnt, "reply_chunks", before)

    step("a link of 4,000 bytes")
    target = "/".join(["directory"] * 400)
    before = rdma_counts(mnt)
    os.symlink(target, f"{mnt}/link")
    used(mnt, "read_chunks", before)
    equal(os.readlink(f"{lab.path}/link"), target, "the link on the server")
    drop_caches()
    equal(os.readlink(f"{mnt}/link"), target, "the link")
    os.unlink(f"{mnt}/link")

    if version != "3":
        # Two entries of 24 bytes for each user; Linux offers 8 KiB for an ACL unless it knows that it is longer.
        step("an ACL of 150 users: a long reply and a long call")
        users = ",".join(f"u:{10_000 + number}:{'rwx'[number % 3]}" for number in range(150))
        lab.host(f"cd {lab.path}; touch one two; setfacl -m {users} one")
        before = rdma_counts(mnt)
        acl = os.getxattr(f"{mnt}/one", "system.nfs4_acl")
        expect(len(acl) > 4096, "the ACL is too short to show anything")
        used(mnt, "reply_chunks", before)
        os.setxattr(f"{mnt}/two", "system.nfs4_acl", acl)
        used(mnt, "long_calls", before)
        lab.host(f"cd {lab.path}; diff <(getfacl -c one) <(getfacl -c two)")
        lab.host(f"cd {lab.path}; rm one two")

    if version == "4.2":
        step("an extended attribute of 60,000 bytes")
        value = os.urandom(30_000).hex()
        before = rdma_counts(mnt)
        lab.host(f"touch {lab.path}/file")
        os.setxattr(f"{mnt}/file", "user.long", value.encode())
        used(mnt, "long_calls", before)
        equal(os.getxattr(f"{lab.path}/file", "user.long"), value.encode(), "the attribute on the server")
        drop_caches()
        # Not os.getxattr(): it asks with a short buffer first, and Linux then offers the server too small a chunk.
        got = run("getfattr", "--absolute-names", "--only-values", "-n", "user.long", f"{mnt}/file")
        equal(got, value, "the attribute")

    counts = rdma_counts(mnt)
    for name in ("bad_xids", "bad_replies"):
        equal(counts[name], 0, name)
    lab.unmount()
