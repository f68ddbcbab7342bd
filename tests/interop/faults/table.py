"""The table of system calls and errnos: what NFSv3 answers when one fails, and what is on the disk afterwards.

Runs on the server's side, with the server under the injector, in two parts, between which the power is cut:

  table.py BASE DIRECTORY tell CALL     for each errno, at the 1st, 2nd and every call: a file is written, and names made,
                                        moved and removed; what was acknowledged goes to BASE/acknowledged
  table.py BASE DIRECTORY check         whether all that is on the disk

There is one rule for data: what was written with FILE_SYNC or DATA_SYNC, or was followed by a COMMIT that said OK with the
verifier of the WRITE, is on the disk (RFC 1813, sections 3.3.7 and 3.3.21). A client that follows it, and writes again what
the rule does not cover, has all its bytes once the fault is over. There is one rule for names: an operation that said OK is
on the disk, and one that said JUKEBOX, which is to be called again, has had no effect.
"""

import concurrent.futures
import json
import os
import sys
import time

from faults import nfs3
from faults.control import CALLS, EVERY, SYNCS, Control
from harness.constants import ADDRESS, PORT

KIB = 1024
# Offset, bytes, stability; None: a COMMIT. The data of a large WRITE goes from the socket to the file through a pipe.
WRITES = ((0, 4 * KIB, nfs3.UNSTABLE), (64 * KIB, 256 * KIB, nfs3.UNSTABLE), None, (320 * KIB, 4 * KIB, nfs3.FILE_SYNC),
          (384 * KIB, 256 * KIB, nfs3.DATA_SYNC), (640 * KIB, 4 * KIB, nfs3.UNSTABLE), None)
SIZE = 1024 * KIB
CLIENTS = 10  # for the data, and for each change of names
ROUNDS_MAX = 10  # of writing again what may be lost


class Broken(Exception):
    """The server broke a rule."""


def require(condition, what):
    if not condition:
        raise Broken(what)


class Written:
    """A file as a client sees it that keeps what may be lost."""

    def __init__(self, client, handle, name, jukebox_allowed):
        self.client, self.handle, self.name = client, handle, name
        self.jukebox_allowed = jukebox_allowed
        self.verifiers = {}  # what was written and may be lost: (offset, bytes) and the verifier, or None
        self.durable = {}

    def data(self, piece):
        seed = f"{self.name} {piece[0]} ".encode()
        return (seed * (piece[1] // len(seed) + 1))[:piece[1]]

    def write(self, piece, stable):
        """Returns the last status."""
        data, at = self.data(piece), 0
        self.verifiers[piece] = None
        verifiers = set()
        while at < len(data):
            status, count, committed, verifier = self.client.write(self.handle, piece[0] + at, data[at:], stable)
            require(status != nfs3.JUKEBOX or stable == nfs3.UNSTABLE or self.jukebox_allowed,
                    "a WRITE whose sync failed says JUKEBOX")
            if status != nfs3.OK:
                return status
            require(0 < count <= len(data) - at, f"a WRITE of {len(data) - at} bytes took {count}")
            require(committed >= stable, f"a WRITE with stability {stable} says {committed}")
            at += count
            verifiers.add(verifier if committed == nfs3.UNSTABLE else nfs3.FILE_SYNC)
        if verifiers == {nfs3.FILE_SYNC}:
            del self.verifiers[piece]
            self.durable[piece] = True
        elif len(verifiers) == 1:
            self.verifiers[piece] = verifiers.pop()
        return nfs3.OK

    def commit(self):
        status, verifier = self.client.commit(self.handle)
        require(status != nfs3.JUKEBOX or self.jukebox_allowed, "a COMMIT whose sync failed says JUKEBOX")
        if status != nfs3.OK:
            return status
        for piece in [piece for piece, held in self.verifiers.items() if held == verifier]:
            del self.verifiers[piece]
            self.durable[piece] = True
        return nfs3.OK

    def write_again(self):
        """As Linux does after a COMMIT with another verifier. No call fails any more."""
        for _ in range(ROUNDS_MAX):
            if not self.verifiers:
                return
            for piece in list(self.verifiers):
                self.write(piece, nfs3.UNSTABLE)
            self.commit()
        raise Broken(f"after {ROUNDS_MAX} rounds of WRITE and COMMIT without a fault {len(self.verifiers)} pieces may be lost")


class Names:
    """A directory: each change through NFS, and what is to be found on the disk after those that said OK."""

    def __init__(self, client, handle, path):
        self.client, self.handle, self.path = client, handle, path
        self.expected = {}  # name: whether it is there

    def there(self, name):
        return os.path.lexists(os.path.join(self.path, name))

    def change(self, what, call, appears, vanishes, client=None):
        names = (*appears, *vanishes)
        before = {name: self.there(name) for name in names}
        possible = all(before[name] for name in vanishes) and not any(before[name] for name in appears)
        status = call(client or self.client)
        after = {name: self.there(name) for name in names}
        wanted = {**{name: True for name in appears}, **{name: False for name in vanishes}}
        if status == nfs3.OK:
            require(after == wanted, f"{what} says OK and leaves {after}")
            self.expected.update(wanted)
            return
        for name in names:
            self.expected.pop(name, None)
        require(status != nfs3.JUKEBOX or after == before, f"{what} says JUKEBOX, and is done: {after}")
        # Were it called again inside the server, it would meet its own effect.
        require(after == before or not possible or status not in (nfs3.NOENT, nfs3.EXIST),
                f"{what} was done, and says {status}")

    def prepare(self):
        """The changes that there will be, none of which needs another: [(name, what to call, appears, vanishes)]."""
        here = self.handle
        for status, made in (self.client.create(here, "old"), self.client.create(here, "doomed"),
                             self.client.mkdir(here, "empty")):
            require(status == nfs3.OK and made, f"a name cannot be made without a fault: {status}")
        require(self.client.symlink(here, "symlink", "target") == nfs3.OK, "SYMLINK fails without a fault")
        file, symlink = (self.client.lookup(here, name)[1] for name in ("file", "symlink"))
        return (("CREATE", lambda client: client.create(here, "created")[0], ("created",), ()),
                ("MKDIR", lambda client: client.mkdir(here, "directory")[0], ("directory",), ()),
                ("SYMLINK", lambda client: client.symlink(here, "another", "target"), ("another",), ()),
                ("LINK", lambda client: client.link(file, here, "link"), ("link",), ()),
                ("RENAME", lambda client: client.rename(here, "old", "new"), ("new",), ("old",)),
                ("REMOVE", lambda client: client.remove(here, "doomed"), (), ("doomed",)),
                ("RMDIR", lambda client: client.rmdir(here, "empty"), (), ("empty",)),
                ("SETATTR of a size", lambda client: client.truncate(file, SIZE), (), ()),
                # What cannot be opened for a sync takes the file system's.
                ("SETATTR of a symlink", lambda client: client.give_away(symlink, 1), (), ()))


def write(written, patient):
    """Writes the file. Where every call fails, one that is told to call again later is told so for ever."""
    for item in WRITES:
        if item is None:
            status = written.commit()
        else:
            status = written.write(item[:2], item[2])
        if status == nfs3.JUKEBOX and not patient:
            return


def attempt(clients, control, directory, call, error, nth):
    """One row of the table. Returns what is to be found on the disk, and how often the call failed."""
    client = clients[0]
    name = f"{error}-{nth or 'every'}"
    status, here = client.mkdir(client.root, name)
    require(status == nfs3.OK, f"MKDIR without a fault says {status}")
    status, file = client.create(here, "file")
    require(status == nfs3.OK, f"CREATE without a fault says {status}")
    written = Written(client, file, name, jukebox_allowed=call not in (*SYNCS, "splice"))
    names = Names(client, here, os.path.join(directory, name))
    changes = names.prepare()
    control.arm(call, error, nth)
    if nth == EVERY:  # what is told to call again later waits long: all at once
        with concurrent.futures.ThreadPoolExecutor(len(clients)) as pool:
            tasks = [pool.submit(write, written, False)]
            tasks += [pool.submit(names.change, *change, its) for change, its in zip(changes, clients[1:], strict=True)]
            for task in tasks:
                task.result()
        failed = control.clear()
    else:
        write(written, True)
        failed = control.clear()
        for change in changes:
            control.arm(call, error, nth)
            names.change(*change)
            failed += control.clear()
    written.write_again()
    names.change("MKDIR without a fault", lambda client: client.mkdir(here, "last")[0], ("last",), ())
    require(names.expected.get("last"), "MKDIR without a fault fails")
    return {"name": name, "pieces": sorted(written.durable), "names": names.expected}, failed


def tell(base, directory, call):
    begin = time.monotonic()
    control = Control(base)
    clients = [nfs3.Client(ADDRESS, PORT) for _ in range(CLIENTS)]
    rows, failed, broken = [], {nth: 0 for nth in (1, 2, EVERY)}, []
    for error in CALLS[call][1]:
        for nth in failed:
            try:
                row, count = attempt(clients, control, directory, call, error, nth)
                rows.append(row)
                failed[nth] += count
            except (Broken, OSError) as reason:
                control.clear()
                broken.append(f"{call} fails with {error}, {f'call {nth}' if nth else 'every call'}: {reason}")
                if isinstance(reason, OSError):
                    time.sleep(0.2)
                    clients = [nfs3.Client(ADDRESS, PORT) for _ in range(CLIENTS)]
    with open(os.path.join(base, "acknowledged"), "w", encoding="utf-8") as file:
        json.dump(rows, file)
    print(f"{time.monotonic() - begin:.1f} s {call}: {len(CALLS[call][1])} errnos; failed {failed[1]} times as the 1st call, {failed[2]} as the 2nd, "
          f"{failed[EVERY]} where every one does")
    if failed[1] == 0 or failed[EVERY] == 0:
        broken.append(f"{call} is never called")
    return broken


def check(base, directory):
    """What of it is not on the disk."""
    with open(os.path.join(base, "acknowledged"), encoding="utf-8") as file:
        rows = json.load(file)
    lost = []
    for row in rows:
        here = os.path.join(directory, row["name"])
        written = Written(None, None, row["name"], True)
        with open(os.path.join(here, "file"), "rb") as file:
            for offset, count in row["pieces"]:
                file.seek(offset)
                if file.read(count) != written.data((offset, count)):
                    lost.append(f"{row['name']}: {count} acknowledged bytes at {offset} are lost")
        for name, there in row["names"].items():
            if os.path.lexists(os.path.join(here, name)) != there:
                lost.append(f"{row['name']}: {name} is {'lost' if there else 'back'}")
    return lost


def main():
    base, directory, what, *call = sys.argv[1:]
    broken = tell(base, directory, *call) if what == "tell" else check(base, directory)
    print("\n".join(broken))
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
