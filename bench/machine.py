"""What benchmarks of servers need of this machine: namespaces of their own, an ext4 in a file, ports that are waited for."""

import os
import socket
import subprocess
import sys
import tempfile
import time

START_S = 30  # that a server may take until its port answers


class MachineError(Exception):
    """Something that a run needs is missing or failed."""


def enter_namespaces(script, mark):
    """Returns in mount, process and network namespaces of the run's own: the script is run once more, with `mark` in its
    environment, and the caller ends as that does."""
    if mark not in os.environ:
        inside = subprocess.run(["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc",
                                 "--propagation", "private", sys.executable, os.path.abspath(script), *sys.argv[1:]],
                                env={**os.environ, mark: "1"}, check=False)
        sys.exit(inside.returncode)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", "/run"], check=True)


def mount_ext4(path, size_bytes, directory):
    """A new ext4 at `path`, which is made; its bytes are in a file without a name in `directory`."""
    with tempfile.NamedTemporaryFile(prefix="braid-bench.", dir=directory) as image:
        image.truncate(size_bytes)
        subprocess.run(["mkfs.ext4", "-q", "-F", image.name], check=True)
        os.mkdir(path)
        # The loop device keeps the file.
        subprocess.run(["mount", "-o", "loop", image.name, path], check=True)


def await_port(address, port, process, log=None):
    """Returns when the process listens there. `log`: the path of what it has said, for the error."""
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise MachineError(f"a server ended at its start with status {process.returncode}{last_words(log)}")
        try:
            socket.create_connection((address, port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.05)
    raise MachineError(f"nothing listens on port {port}{last_words(log)}")


def last_words(log):
    if log is None:
        return ""
    with open(log, encoding="utf-8", errors="replace") as file:
        return f": {file.read()[-2000:]}"
