"""The server that is attacked: a process of its own on a directory in memory."""

import os
import re
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.request


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Server:
    """Exports "/" to 127.0.0.1 and 127.0.0.2, to nobody else."""

    def __init__(self, binary):
        self.folder = tempfile.mkdtemp(prefix="hostile-", dir="/dev/shm")
        os.mkdir(f"{self.folder}/data")
        self.log = open(f"{self.folder}/log", "w+b")
        self.metrics = f"127.0.0.1:{free_port()}"
        self.process = subprocess.Popen([binary, "serve", f"{self.folder}/data", "--port", "0", "--listen", "127.0.0.1",
                                         "--squash", "none", "--allow", "127.0.0.1", "--allow", "127.0.0.2",
                                         "--metrics", self.metrics, "--state", f"{self.folder}/state", "--admin", f"{self.folder}/admin"],
                                        stdout=self.log, stderr=subprocess.STDOUT)
        self.port = self._found(rb"serving port=(\d+)")

    def _text(self):
        with open(f"{self.folder}/log", "rb") as file:
            return file.read()

    def _found(self, pattern):
        while True:
            found = re.search(pattern, self._text())
            if found:
                return int(found[1])
            if self.process.poll() is not None:
                raise RuntimeError(f"the server did not start:\n{self._text().decode()}")
            time.sleep(0.02)

    @property
    def address(self):
        return "127.0.0.1", self.port

    def resident_bytes(self):
        with open(f"/proc/{self.process.pid}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def metric(self, name):
        """Without labels; 0 if this server has none of that name."""
        with urllib.request.urlopen(f"http://{self.metrics}/metrics") as page:
            found = re.search(rf"^{name} (\S+)$", page.read().decode(), re.MULTILINE)
        return float(found[1]) if found else 0.0

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def stop(self):
        """Its status, and its log if that is not 0."""
        self.process.terminate()
        try:
            status = self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            status = self.process.wait()
        text = self._text().decode(errors="replace")
        self.log.close()
        shutil.rmtree(self.folder)
        return status, text
