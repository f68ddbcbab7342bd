"""Replies lost with their connection: the repeated call gets the first one's answer and is not executed again."""

import os

from harness.client import Lab, drop_caches, equal, read_file, step, write_file

RUNS = ("ext4", "ext4,4.0", "ext4,4.2")
TAKES_S = 20
TIMEOUT_S = 240

# NFSv3 procedures that must not be executed twice (RFC 1813): SETATTR, CREATE, MKDIR, SYMLINK, MKNOD, REMOVE, RMDIR,
# RENAME, LINK; and WRITE, which may be.
NFS3_PROCEDURES = (2, 8, 9, 10, 11, 12, 13, 14, 15, 7)
# COMPOUND, whatever it does.
NFS4_PROCEDURES = (1,)
# Not a divisor of the number of calls in a round, so that each procedure gets its turn.
EVERY = 5
ROUNDS = 24

lab = Lab()
mnt = lab.ready()
lab.unmount()
lab.mount(options="noac", port=lab.relay(NFS3_PROCEDURES if lab.version == "3" else NFS4_PROCEDURES, EVERY))
step("every fifth change loses its reply")
for round_ in range(ROUNDS):
    base = f"{mnt}/{round_}"
    os.mkdir(base)
    write_file(f"{base}/file", f"{round_}".encode(), flags=os.O_EXCL)
    write_file(f"{base}/unchecked", b"data")
    with open(f"{base}/file", "ab") as file:
        file.write(b" appended")
    os.symlink("file", f"{base}/symlink")
    os.link(f"{base}/file", f"{base}/link")
    os.mkfifo(f"{base}/fifo")
    os.chmod(f"{base}/file", 0o600)
    os.rename(f"{base}/file", f"{base}/renamed")
    equal(sorted(os.listdir(base)), ["fifo", "link", "renamed", "symlink", "unchecked"], "names")
    equal(read_file(f"{base}/link"), f"{round_} appended".encode(), "data")
    equal(os.stat(f"{base}/renamed").st_nlink, 2, "links")
    for name in ("fifo", "link", "symlink", "unchecked", "renamed"):
        os.unlink(f"{base}/{name}")
    os.rmdir(base)
drop_caches()
equal([name for name in os.listdir(mnt) if name != "lost+found"], [], "what is left")
equal(lab.host(f"ls {lab.path}").split(), ["lost+found"], "what is left on the server")
