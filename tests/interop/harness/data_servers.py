"""The data servers of a pNFS cluster, each a process beside the metadata server: started, stopped still, killed."""

import os
import signal
import socket
import subprocess
import time

from harness.constants import ADDRESS, DATA_PORT, RDMA_PORT
from harness.server import REPORT, START_S, STOP_S, ServerError


class DataServers:
    """By number, from 1; the objects of each stay when it ends. Their secret is that of the cluster."""

    def __init__(self, binary, base, metadata_port, rdma):
        self.binary = binary
        self.rdma = rdma
        self.base = base
        self.metadata_port = metadata_port
        self.processes = {}

    def directory(self, number):
        return os.path.join(self.base, "objects", str(number))

    def store(self, number):
        return os.path.join(self.base, "stores", str(number))

    def log_path(self, number):
        return os.path.join(self.base, f"data-server-{number}.log")

    def start(self, number, calls_by_rdma=False, has_store=False):
        if number in self.processes:
            raise ServerError(f"data server {number} is already running")
        os.makedirs(self.directory(number), exist_ok=True)
        os.makedirs(self.store(number), exist_ok=True)
        port = DATA_PORT + number
        with open(self.log_path(number), "ab") as log:
            self.processes[number] = subprocess.Popen(
                [self.binary, "data-server", self.directory(number),
                 "--mds", f"{ADDRESS}:{RDMA_PORT if calls_by_rdma else self.metadata_port}",
                 *(["--control-transport", "rdma"] if calls_by_rdma else []),
                 *(["--store", self.store(number)] if has_store else []),
                 "--secret", os.path.join(self.base, "state", "pnfs", "secret"), "--name", f"ds{number}",
                 "--state", os.path.join(self.base, f"state-of-ds{number}"),
                 "--listen", ADDRESS, "--port", str(port), "--advertise", ADDRESS,
                 *(["--rdma", str(RDMA_PORT + number)] if self.rdma else [])],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.base)
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline:
            if self.processes[number].poll() is not None:
                status = self.processes.pop(number).returncode
                raise ServerError(f"data server {number} ended at its start with status {status}")
            try:
                socket.create_connection((ADDRESS, port), timeout=1).close()
                return
            except OSError:
                time.sleep(0.02)
        raise ServerError(f"data server {number} does not listen after {START_S} s")

    def signal(self, number, name):
        """SIGSTOP and SIGCONT: silent for a while. SIGKILL and SIGTERM: gone when this returns."""
        process = self.processes[number]
        process.send_signal(getattr(signal, name))
        if name in ("SIGKILL", "SIGTERM"):
            del self.processes[number]
            status = process.wait(STOP_S)
            if name == "SIGTERM" and status != 0:
                raise ServerError(f"data server {number} ended with status {status} after SIGTERM")

    def log(self, number):
        with open(self.log_path(number), encoding="utf-8", errors="replace") as log:
            return log.read()

    def verdict(self):
        """Ends those that run and returns what was wrong with one, or None."""
        for number, process in sorted(self.processes.items()):
            if process.poll() is not None:
                return f"data server {number} ended by itself with status {process.returncode}"
        try:
            for number in list(self.processes):
                self.processes[number].send_signal(signal.SIGCONT)
                self.signal(number, "SIGTERM")
        except (ServerError, subprocess.TimeoutExpired) as error:
            return str(error)
        for name in sorted(os.listdir(self.base)):
            if name.startswith("data-server-"):
                with open(os.path.join(self.base, name), encoding="utf-8", errors="replace") as log:
                    for line in log:
                        if REPORT.search(line):
                            return f"{name} says: {line.strip()}"
        return None
