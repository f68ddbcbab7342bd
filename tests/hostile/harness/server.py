"""The server that is attacked: a process of its own on a directory in memory, or on a disk that hangs."""

import os
import re
import resource
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.request


def reserved_port():
    """(a socket, its port): as long as the socket is open, nobody gets the port but who asks for it by its number, as the
    server does (SO_REUSEADDR on both; this one does not listen)."""
    one = socket.socket()
    one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    one.bind(("127.0.0.1", 0))
    return one, one.getsockname()[1]


CLIENTS = ("127.0.0.1", "127.0.0.2", "127.0.4.0/24")


class Server:
    """Exports "/" to 127.0.0.1, 127.0.0.2 and 127.0.4.0/24, to nobody else."""

    PLACE = "/dev/shm"
    DESCRIPTORS = None  # that it may have; None: as many as this process

    def __init__(self, binary):
        self.folder = tempfile.mkdtemp(prefix="hostile-", dir=self.PLACE)
        self.log = open(f"{self.folder}/log", "w+b")
        reservation, port = reserved_port()
        self.metrics = f"127.0.0.1:{port}"
        self.process = subprocess.Popen([binary, "serve", *self._served(), "--port", "0", "--listen", "127.0.0.1",
                                         "--metrics", self.metrics, "--state", f"{self.folder}/state", "--admin", f"{self.folder}/admin"],
                                        stdout=self.log, stderr=subprocess.STDOUT, env=self._environment(),
                                        preexec_fn=self._limit if self.DESCRIPTORS else None)
        with reservation:
            self.port = self._found(rb"serving port=(\d+)")

    def _limit(self):
        resource.setrlimit(resource.RLIMIT_NOFILE, (self.DESCRIPTORS, self.DESCRIPTORS))

    def _served(self):
        """The arguments that say what is exported."""
        os.mkdir(f"{self.folder}/data")
        return [f"{self.folder}/data", "--squash", "none", *(word for client in CLIENTS for word in ("--allow", client))]

    def _environment(self):
        return None

    def release(self):
        """Nothing hangs any more."""

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


class SmallServer(Server):
    """Takes 1,024 connections, a quarter of its descriptors."""

    DESCRIPTORS = 4096


class StallingServer(Server):
    """Exports /fine, and /stalled with STALLED files: their syncs do not end before release(). On a disk: on a file system in
    memory nothing waits for a medium."""

    PLACE = os.environ.get("BRAID_DISK", "/var/tmp")
    STALLED = 64

    def _served(self):
        for name in ("fine", "stalled"):
            os.mkdir(f"{self.folder}/{name}")
        for index in range(self.STALLED):
            with open(f"{self.folder}/stalled/{index}", "wb"):
                pass
        with open(f"{self.folder}/gate", "wb") as file:
            file.write(b"\1")
        clients = ", ".join(f'"{client}"' for client in CLIENTS)
        with open(f"{self.folder}/braid.toml", "w", encoding="ascii") as file:
            for name in ("fine", "stalled"):
                file.write(f'[[export]]\npath = "/{name}"\ndirectory = "{self.folder}/{name}"\nsquash = "none"\n'
                           f"clients = [{clients}]\n")
        return ["--config", f"{self.folder}/braid.toml"]

    def _environment(self):
        library = f"{self.folder}/stall.so"
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "stall.c")
        subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
        sanitizer = os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"
        return dict(os.environ, LD_PRELOAD=library, STALL_FOLDER=f"{self.folder}/stalled", STALL_GATE=f"{self.folder}/gate",
                    ASAN_OPTIONS=sanitizer)

    def release(self):
        with open(f"{self.folder}/gate", "r+b") as file:
            file.write(b"\0")
