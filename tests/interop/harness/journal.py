"""Crashes: writers that note what the server acknowledged, and the check that all of it is there after a crash.

Each writer runs in a child process of the client and notes a promise on a local file only after the system call that
carried it returned. Whatever was on its way at a crash may be there or not; whatever was noted must be.
"""

import contextlib
import json
import os
import random
import time

from harness.client import Failure, drop_caches, equal, expect, join, start, step

BLOCK_MAX = 12 * 1024
STOP = "/run/tmp/stop"


def block(writer, number, length):
    """Data that tells where it belongs."""
    return random.Random(f"{writer}/{number}").randbytes(length)


class Writer:
    """One writer: `name` is its directory on the mount and its journal; it runs until the file STOP exists."""

    def __init__(self, mnt, name):
        self.name = name
        self.directory = os.path.join(mnt, name)
        self.path = os.path.join("/run/tmp", name + ".journal")
        self.chance = random.Random(name)

    def note(self, *promise):
        with open(self.path, "a", encoding="utf-8") as journal:
            journal.write(json.dumps(promise) + "\n")

    def promises(self):
        with open(self.path, encoding="utf-8") as journal:
            return [json.loads(line) for line in journal]

    def count(self):
        """Promises so far."""
        if not os.path.exists(self.path):
            return 0
        with open(self.path, "rb") as journal:
            return journal.read().count(b"\n")

    def running(self):
        return not os.path.exists(STOP)

    def synced_blocks(self):
        """Every write is on stable storage when it returns (O_SYNC)."""
        descriptor = os.open(f"{self.directory}/data", os.O_WRONLY | os.O_CREAT | os.O_SYNC)
        number = offset = 0
        while self.running():
            length = self.chance.randrange(1, BLOCK_MAX)
            equal(os.pwrite(descriptor, block(self.name, number, length), offset), length, "bytes written")
            self.note("block", number, offset, length)
            number, offset = number + 1, offset + length

    def flushed_batches(self):
        """Several writes, then fsync: what COMMIT answers must cover all of them."""
        descriptor = os.open(f"{self.directory}/data", os.O_WRONLY | os.O_CREAT)
        number = offset = 0
        while self.running():
            batch = []
            for _ in range(16):
                length = self.chance.randrange(1, BLOCK_MAX)
                os.pwrite(descriptor, block(self.name, number, length), offset)
                batch.append(("block", number, offset, length))
                number, offset = number + 1, offset + length
            os.fsync(descriptor)
            for promise in batch:
                self.note(*promise)

    def names(self):
        """Create exclusively, write, rename, now and then remove: each is stable when answered (RFC 1813 4.8)."""
        number = 0
        while self.running():
            temporary, final = f"{self.directory}/new-{number}", f"{self.directory}/name-{number}"
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o640)
            os.write(descriptor, block(self.name, number, 100))
            os.fsync(descriptor)
            os.close(descriptor)
            try:
                os.rename(temporary, final)
            except FileNotFoundError:
                # Executed before the crash, its reply lost with the server.
                expect(os.path.exists(final), f"rename of {temporary} failed, and {final} is not there")
            self.note("name", number)
            if number % 3 == 0:
                try:
                    os.unlink(final)
                except FileNotFoundError:
                    expect(not os.path.exists(final), f"unlink of {final} failed, and it is there")
                self.note("gone", number)
            number += 1

    def directories(self):
        """Changes of directories alone: no flush of a file's data brings them to the disk by the way."""
        number = 0
        while self.running():
            path = f"{self.directory}/dir-{number}"
            with contextlib.suppress(FileExistsError):
                os.mkdir(path)
            self.note("dir", number, "made")
            with contextlib.suppress(FileExistsError):
                os.symlink(str(number), f"{path}/link")
            self.note("dir", number, "linked")
            with contextlib.suppress(FileNotFoundError):
                os.rename(f"{path}/link", f"{path}/renamed")
            self.note("dir", number, "renamed")
            if number % 2:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(f"{path}/renamed")
                with contextlib.suppress(FileNotFoundError):
                    os.rmdir(path)
                self.note("dir", number, "gone")
            number += 1

    def verify_directories(self, promises):
        last = {number: state for kind, number, *state in promises if kind == "dir"}
        # The last one may be further than what was noted.
        for number in sorted(last)[:-1]:
            path = f"{self.directory}/dir-{number}"
            if last[number] == ["gone"]:
                expect(not os.path.exists(path), f"{path} was removed and is back")
            else:
                equal(os.listdir(path), ["renamed"], path)
                equal(os.readlink(f"{path}/renamed"), str(number), path)

    def verify(self):
        """Checks every promise; returns how many there were."""
        promises = self.promises()
        blocks = [promise[1:] for promise in promises if promise[0] == "block"]
        if blocks:
            with open(f"{self.directory}/data", "rb") as file:
                for number, offset, length in blocks:
                    got = os.pread(file.fileno(), length, offset)
                    expect(got == block(self.name, number, length),
                           f"{self.name}: acknowledged block {number} at {offset}+{length} differs")
        present = {promise[1] for promise in promises if promise[0] == "name"}
        gone = {promise[1] for promise in promises if promise[0] == "gone"}
        for number in sorted(present):
            path = f"{self.directory}/name-{number}"
            if number in gone:
                expect(not os.path.exists(path), f"{path} was removed and is back")
            # The last one may have been removed without the removal having been noted.
            elif number % 3 != 0 or os.path.exists(path):
                with open(path, "rb") as file:
                    equal(file.read(), block(self.name, number, 100), path)
                equal(os.stat(path).st_mode & 0o777, 0o640, f"mode of {path}")
        self.verify_directories(promises)
        return len(promises)


def await_promises(writers, children, at_least=1):
    """Returns when every writer got another acknowledgement, and that many in all; fails when one has ended."""
    wanted = [max(writer.count() + 1, at_least) for writer in writers]
    while any(writer.count() < count for writer, count in zip(writers, wanted)):
        for writer, child in zip(writers, children):
            if os.waitpid(child, os.WNOHANG) != (0, 0):
                raise Failure(f"writer {writer.name} ended early")
        time.sleep(0.05)


ENOUGH = 20  # promises, to mean anything
DATA_AND_NAMES = (Writer.synced_blocks, Writer.flushed_batches, Writer.names)
DIRECTORIES = (Writer.directories,)


def survive(mnt, crash, work, rounds, crash_at_the_end):
    """Calls crash() that many times while one writer for each kind of work writes, then verifies every promise."""
    writers = [Writer(mnt, function.__name__) for function in work]
    for writer in writers:
        os.mkdir(writer.directory)
    children = [start(function, writer) for function, writer in zip(work, writers)]
    chance = random.Random(os.getpid())
    for round_ in range(rounds):
        await_promises(writers, children)
        # At any moment of what they do, which takes some milliseconds.
        time.sleep(chance.uniform(0, 0.2))
        step(f"crash {round_ + 1}")
        crash()
    await_promises(writers, children, at_least=ENOUGH)
    with open(STOP, "wb"):
        pass
    for child, writer in zip(children, writers):
        join(child, writer.name)
    if crash_at_the_end:
        step("last crash")
        crash()
    os.unlink(STOP)
    drop_caches()
    for writer in writers:
        count = writer.verify()
        step(f"{writer.name}: {count} promises kept")
