"""System calls of the server that fail, with every errno: what was acknowledged is on the disk after a power cut."""

import hashlib
import os
import random
import shlex

from faults.control import CALLS, EVERY, MEDIUM
from harness.client import Failure, Lab, expect, step, write_file

RUNS = ("ext4", "xfs,4.0", "ext4,4.2")
TAKES_S = 60
TIMEOUT_S = 300

# More than one WRITE, or Linux asks for no COMMIT; large ones, or their data does not go through a pipe.
WRITE = 256 << 10
PIECE = 2 * WRITE + (64 << 10)
COPIED = random.Random(1).randbytes(5 << 20)
FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
NOT_IN_NFS3 = ("setxattr", "pwrite", "copy_file_range")
# To be called again for ever is no answer that can be tried with every call.
AGAIN = ("EINTR", "EAGAIN", "ENOMEM", "ETIMEDOUT", "ENOBUFS")


def on_the_server(module, *arguments):
    words = " ".join(shlex.quote(word) for word in arguments)
    done = lab.request("shell", command=f"cd / && PYTHONPATH={FOLDER} python3 -B -m {module} {base} {lab.path} {words}")
    print(done["output"].strip() or ".", flush=True)
    return done["status"] == 0


def table_of_nfs3():
    """Each answer as it came: no kernel's client calls again, or writes again, by itself."""
    good = True
    for call in CALLS:
        if call in NOT_IN_NFS3:
            continue
        step(call)
        good = on_the_server("faults.table", "tell", call) and good
        lab.power_cut()
        good = on_the_server("faults.table", "check") and good
        lab.host(f"rm -rf {lab.path}/E*")
        lab.start()
    expect(good, "a rule is broken")


class File:
    """One that is written in two pieces; a piece is acknowledged by the fsync() after it."""

    def __init__(self, name, flags=0):
        self.name = name
        self.descriptor = os.open(f"{mnt}/{name}", os.O_RDWR | os.O_CREAT | flags, 0o644)

    def sha256(self):
        return hashlib.sha256(self.data(0) + self.data(1)).hexdigest()

    def data(self, number):
        seed = f"{self.name} {number} ".encode()
        return (seed * (PIECE // len(seed) + 1))[:PIECE]

    def write(self, number):
        """Returns whether it is acknowledged."""
        try:
            os.pwrite(self.descriptor, self.data(number), number * PIECE)
            os.fsync(self.descriptor)
        except OSError:
            return False
        return True

    def close(self):
        try:
            os.close(self.descriptor)
        except OSError:
            pass  # it says again what a write has said


def written_by_linux():
    """Linux writes again what a changed verifier tells it to: where fsync() returns 0, the bytes are on the disk."""
    files = []
    for call in ("fsync", "fdatasync", "pwritev2", "splice"):
        step(f"{call} fails, and Linux writes")
        failed = 0
        for error in CALLS[call][1]:
            again = call in ("pwritev2", "splice") and error in AGAIN
            for nth in (1, 2) if again else (1, 2, EVERY):
                file = File(f"{call}-{error}-{nth or 'EVERY'}", os.O_SYNC if nth == 2 else 0)
                lab.arm(call, error, nth)
                missing = [number for number in range(2) if not file.write(number)]
                failed += lab.clear()
                for number in missing:
                    # The error of a write may be told by the next one.
                    expect(file.write(number) or file.write(number), f"{file.name}: no write succeeds any more")
                file.close()
                files.append(file)
        expect(failed > 0 or call == "fdatasync", f"{call} was never called")
    return files


def changed_by_linux():
    """Returns (names that are there, names that are not there)."""
    there, gone = set(), set()
    for call in ("openat", "mkdirat", "renameat", "unlinkat", "fsync"):
        step(f"{call} fails, and Linux changes names")
        failed = 0
        for error in MEDIUM:
            stem = f"{call}-{error}"
            with open(f"{mnt}/{stem}-old", "w", encoding="ascii"), open(f"{mnt}/{stem}-doomed", "w", encoding="ascii"):
                pass
            # One at a time meets the fault; the others follow undisturbed.
            changes = (
                (lambda name: os.close(os.open(f"{name}-file", os.O_CREAT | os.O_EXCL | os.O_WRONLY)), ("file",), ()),
                (lambda name: os.mkdir(f"{name}-directory"), ("directory",), ()),
                (lambda name: os.rename(f"{name}-old", f"{name}-new"), ("new",), ("old",)),
                (lambda name: os.unlink(f"{name}-doomed"), (), ("doomed",)))
            for change, appear, vanish in changes:
                lab.arm(call, error, 1)
                try:
                    change(f"{mnt}/{stem}")
                    there.update(f"{stem}-{name}" for name in appear)
                    gone.update(f"{stem}-{name}" for name in vanish)
                except (FileExistsError, FileNotFoundError) as reason:
                    raise Failure(f"{stem}: {reason}: the server met its own effect") from reason
                except OSError:
                    pass
                failed += lab.clear()
        expect(failed > 0, f"{call} was never called")
    return there, gone


def marked_by_linux():
    """Returns the attributes that are acknowledged: {(file, attribute)}."""
    marked = set()
    failed = {1: 0, 2: 0, EVERY: 0}
    step("setxattr fails, and Linux sets two attributes")
    for error in CALLS["setxattr"][1]:
        for nth in failed:
            if nth == EVERY and error in AGAIN:
                continue
            name = f"setxattr-{error}-of-{nth or 'EVERY'}"
            with open(f"{mnt}/{name}", "w", encoding="ascii"):
                pass
            lab.arm("setxattr", error, nth)
            for attribute in ("user.one", "user.two"):
                try:
                    os.setxattr(f"{mnt}/{name}", attribute, b"value")
                    marked.add((name, attribute))
                except OSError:
                    pass
            failed[nth] += lab.clear()
    expect(all(failed.values()), f"setxattr failed so often as the 1st, the 2nd and every call: {failed}")
    return marked


def copied_by_linux():
    """COPY within a file system is copy_file_range(2) of the server, one to another is pwrite(2). Returns the copies that an
    fsync() has acknowledged: {file: bytes of the source}."""
    other = lab.mount("/other", at="/run/other")
    copies = {}
    for call, source in (("copy_file_range", f"{mnt}/source"), ("pwrite", f"{other}/source")):
        step(f"{call} fails, and Linux copies")
        write_file(source, COPIED)
        failed = {1: 0, 2: 0, EVERY: 0}
        for error in CALLS[call][1]:
            for nth in failed:
                if nth == EVERY and error in AGAIN:
                    continue
                # The server copies 4 MiB by a call of copy_file_range(2), and 256 KiB by one of pwrite(2).
                size = len(COPIED) if nth == 2 and call == "copy_file_range" else 1 << 20
                name = f"{call}-{error}-of-{nth or 'EVERY'}-copy"
                with open(source, "rb") as reader, open(f"{mnt}/{name}", "wb") as writer:
                    lab.arm(call, error, nth)
                    done = copied(reader, writer, 0, size)
                    failed[nth] += lab.clear()
                    while done < size:
                        more = copied(reader, writer, done, size)
                        expect(more > done, f"{name}: no copy succeeds any more, after {done} bytes")
                        done = more
                    os.fsync(writer.fileno())
                copies[name] = size
        expect(all(failed.values()), f"{call} failed so often as the 1st, the 2nd and every call: {failed}")
    return copies


def copied(reader, writer, begin, end):
    """How far what is copied and synced reaches."""
    try:
        count = os.copy_file_range(reader.fileno(), writer.fileno(), end - begin, begin, begin)
        os.fsync(writer.fileno())
        return begin + count
    except OSError:
        return begin


def with_linux():
    files = written_by_linux()
    there, gone = changed_by_linux()
    marked = marked_by_linux() if lab.version == "4.2" else set()
    copies = copied_by_linux() if lab.version == "4.2" else {}
    lab.power_cut()
    if copies:
        sums = dict(reversed(line.split()) for line in lab.host(f"cd {lab.path} && sha256sum *-copy").splitlines())
        wrong = [name for name, size in copies.items()
                 if sums.get(name) != hashlib.sha256(memoryview(COPIED)[:size]).hexdigest()]
        expect(not wrong, f"acknowledged copies are lost: {wrong}")
    found = dict(reversed(line.split()) for line in lab.host(f"cd {lab.path} && sha256sum *-EVERY *-[12]").splitlines())
    lost = [file.name for file in files if found.get(file.name) != file.sha256()]
    expect(not lost, f"acknowledged bytes are lost: {lost}")
    names = set(lab.host(f"ls {lab.path}").split())
    expect(there <= names, f"lost: {there - names}")
    expect(not gone & names, f"back: {gone & names}")
    look = "import os; print(*(n + ':' + a for n in os.listdir() for a in os.listxattr(n, follow_symlinks=False)))"
    found = {tuple(word.split(":")) for word in lab.host(f'cd {lab.path} && python3 -c "{look}"').split()}
    expect(marked <= found, f"lost attributes: {marked - found}")


lab = Lab()
base = os.path.dirname(lab.control)
lab.export(size_mib=512)
if lab.version == "4.2":
    apart = os.path.join(base, "apart")
    lab.host(f"mkdir {apart} && mount -t tmpfs none {apart}")
    lab.serve(faults=True, config=lab.config() + f'[[export]]\npath = "/other"\ndirectory = "{apart}"\nsquash = "none"\n')
else:
    lab.serve(faults=True)
if lab.version == "3":
    table_of_nfs3()
else:
    mnt = lab.mount(options=f"wsize={WRITE}")
    with_linux()
