"""A listing of thousands of entries while entries are removed and added: none is lost and none repeated."""

import os

from harness.client import Lab, drop_caches, equal, expect, join, start, step, write_file

RUNS = ("tmpfs", "ext4", "xfs", "btrfs", "tmpfs,4.2")
TAKES_S = 30
TIMEOUT_S = 300


def fill(directory, count):
    """Made on the server's side, which is faster; half of the names are long, so that entries differ in size."""
    lab.host(f"mkdir {lab.path}/{directory} && cd {lab.path}/{directory} && seq -f '%05.0f' {count} | "
             "awk '{ print (NR % 2) ? $0 : $0 \"-a-longer-name-that-takes-more-room-in-a-reply\" }' | xargs touch")
    return set(lab.host(f"ls -U {lab.path}/{directory}").split())


def exactly(seen, wanted, what):
    """Every wanted name once, and no other."""
    repeated = len(seen) - len(set(seen))
    lost, unknown = wanted - set(seen), set(seen) - wanted
    expect(not (repeated or lost or unknown),
           f"{what}: {repeated} repeated, {len(lost)} lost, {len(unknown)} unknown: {sorted(lost | unknown)[:5]}")


def remove_each_while_listing():
    step("remove every entry while listing")
    names = fill("all", many)
    seen = []
    with os.scandir(f"{mnt}/all") as entries:
        for entry in entries:
            seen.append(entry.name)
            os.unlink(entry.path)
    exactly(seen, names, "listing while removing all")
    equal(lab.host(f"ls -A {lab.path}/all"), "", "what is left on the server")
    os.rmdir(f"{mnt}/all")


def remove_behind_the_listing():
    step("remove what was listed already, in another process, in batches")
    names = fill("behind", many)
    seen = []
    with os.scandir(f"{mnt}/behind") as entries:
        for entry in entries:
            seen.append(entry.name)
            if len(seen) % 500 == 0:
                lab.host(f"cd {lab.path}/behind && rm " + " ".join(seen[-500:]))
    exactly(seen, names, "listing while the server's side removes")


def entries_that_stay():
    """Entries that exist from the beginning to the end are listed exactly once, whatever happens around them."""
    step("remove and add others while listing")
    names = fill("mixed", many // 2)
    removed = {name for name in names if int(name[:5]) % 3 == 0}

    def disturb():
        for number, name in enumerate(sorted(removed)):
            os.unlink(f"{mnt}/mixed/{name}")
            if number % 2 == 0:
                write_file(f"{mnt}/mixed/new-{number}", b"")

    for _ in range(3):
        child = start(disturb) if removed else None
        with os.scandir(f"{mnt}/mixed") as entries:
            seen = [entry.name for entry in entries]
        if child:
            join(child)
        stayed = [name for name in seen if not name.startswith("new-") and name not in removed]
        exactly(stayed, names - removed, "entries that stay")
        if removed:
            names -= removed
            removed = set()
    drop_caches()
    exactly(os.listdir(f"{mnt}/mixed"), set(lab.host(f"ls -U {lab.path}/mixed").split()), "listing at the end")


def tree_removal():
    step("rm -r")
    fill("tree/", 1)
    for number in range(20):
        fill(f"tree/{number}", 300)
    os.system(f"rm -r {mnt}/tree")
    equal(lab.host(f"ls -A {lab.path} | grep -v lost+found || true").split(), ["behind", "mixed"], "what rm -r left")


lab = Lab()
mnt = lab.ready(size_mib=256)
# Many replies of READDIR either way. The cookies of ext4 are hashes of names: the more, the nearer to each other.
many = 10_000 if lab.variant == "ext4" else 4_000
remove_each_while_listing()
remove_behind_the_listing()
entries_that_stay()
tree_removal()
