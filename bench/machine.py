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


class SlowMedium:
    """As long as this is entered, the block device below `path` takes no more than so many bytes a second from whom joins it
    and from the kernel's own threads. `directory` is made, and becomes the hierarchy of the controller blkio (cgroups, version 1):
    the second version has no limit for what the kernel writes on behalf of nobody."""
    RULE = "blkio.throttle.write_bps_device"

    def __init__(self, path, bytes_per_s, directory):
        device = os.stat(path).st_dev
        self.device = f"{os.major(device)}:{os.minor(device)}"
        self.bytes_per_s = bytes_per_s
        self.directory = directory

    def limit(self, bytes_per_s):
        with open(os.path.join(self.directory, self.RULE), "w", encoding="ascii") as file:
            file.write(f"{self.device} {bytes_per_s}")

    def __enter__(self):
        os.mkdir(self.directory)
        done = subprocess.run(["mount", "-t", "cgroup", "-o", "blkio", "cgroup", self.directory], check=False, capture_output=True, text=True)
        if done.returncode != 0 or not os.path.exists(os.path.join(self.directory, self.RULE)):
            raise MachineError("a slow medium takes the controller blkio of cgroups, version 1, which the kernel does not have here "
                               f"or uses otherwise {done.stderr.strip()}")
        self.limit(self.bytes_per_s)
        return self

    def __exit__(self, *_):
        self.limit(0)

    def join(self, pid):
        """Its threads, and what they start."""
        with open(os.path.join(self.directory, "cgroup.procs"), "w", encoding="ascii") as file:
            file.write(str(pid))


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
