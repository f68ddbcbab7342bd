"""The server under test: started, stopped, killed and started again on the host side of the wire."""

import os
import re
import shlex
import signal
import socket
import struct
import subprocess
import time

from faults import control
from harness.constants import ADDRESS, PORT
from harness.exports import Unavailable

START_S = 300
STOP_S = 60

# Lines that a server built with sanitizers or failed assertions leaves in its log.
REPORT = re.compile(r"(ERROR: \w+Sanitizer|WARNING: ThreadSanitizer|runtime error:|[Aa]ssertion|check failed)")


# An ONC RPC call as one record: xid 1, RPC version 2, program NFS, version 3, procedure NULL, no credentials.
NULL_CALL = struct.pack(">11I", 0x80000000 | 40, 1, 0, 2, 100003, 3, 0, 0, 0, 0, 0)


def answers():
    """Whether a server answers NFSv3's NULL. That a connection is accepted would not do: the socket of a killed
    server may listen for a moment longer than its process exists."""
    try:
        with socket.create_connection((ADDRESS, PORT), timeout=1) as connection:
            connection.sendall(NULL_CALL)
            return len(connection.recv(4)) > 0
    except OSError:
        return False


def config_with_lease(options):
    """The text of a configuration that says what braid's command line does, and the lease, for which it has no option."""
    anonymous = f"anon_uid = {options['anon']}\nanon_gid = {options['anon']}" if options["squash"] != "none" else ""
    return f"""[limits]
lease_seconds = {options["lease_s"]}
[[export]]
path = "/"
directory = "{options["path"]}"
squash = "{options["squash"]}"
read_only = {str(options["read_only"]).lower()}
{anonymous}
"""


class ServerError(Exception):
    """The server did not start, or did not end, as it must."""


class Server:
    """Owns at most one server process. `options` are those of the last start and are reused by the next."""

    def __init__(self, command, base, log_path, rdma=False):
        self.command = command
        self.rdma = "1" if rdma else ""
        self.reads_config = "$CONFIG" in command
        self.base = base
        self.log_path = log_path
        self.process = None
        self.options = None

    def environment(self, options):
        state = os.path.join(self.base, "state")
        os.makedirs(state, exist_ok=True)
        config, text = "", options["config"]
        if not text and options.get("lease_s") and self.reads_config:
            text = config_with_lease(options)
        if text:
            config = os.path.join(state, "braid.toml")
            with open(config, "w", encoding="utf-8") as file:
                file.write(text)
        faults = control.environment(self.base, options["path"]) if options.get("faults") else {}
        return {**os.environ, **faults, "ADDRESS": ADDRESS, "PORT": str(PORT), "STATE": state, "EXPORT": options["path"],
                "SQUASH": options["squash"], "READ_ONLY": "1" if options["read_only"] else "",
                "ANON": str(options["anon"]), "CONFIG": config, "RDMA": self.rdma, "LISTEN": options.get("listen") or ADDRESS,
                "MORE": options.get("more") or ""}

    def start(self, options=None):
        if self.process is not None:
            raise ServerError("a server is already running")
        if options and options["config"] and not self.reads_config:
            raise Unavailable("a configuration file is for braid alone")
        self.options = options or self.options
        with open(self.log_path, "ab") as log:
            log.write(f"--- start {self.options}\n".encode())
            log.flush()
            limit = f"ulimit -n {self.options['open_files_max']}; " if self.options["open_files_max"] else ""
            self.process = subprocess.Popen(["bash", "-c", limit + "exec " + self.command], stdin=subprocess.DEVNULL,
                                            stdout=log, stderr=log, env=self.environment(self.options), cwd=self.base)
        self.await_port()

    def await_port(self):
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                status = self.process.returncode
                self.process = None
                raise ServerError(f"the server ended at its start with status {status}")
            if answers():
                return
            time.sleep(0.02)
        raise ServerError(f"nothing answers on {ADDRESS}:{PORT} after {START_S} s")

    def reload(self, config):
        self.options = {**self.options, "config": config}
        self.environment(self.options)
        self.process.send_signal(signal.SIGHUP)

    def stop(self):
        """SIGTERM; the server must end by itself, with status 0, within STOP_S."""
        process, self.process = self.process, None
        if process is None:
            raise ServerError("no server is running")
        process.send_signal(signal.SIGTERM)
        try:
            status = process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise ServerError(f"the server still ran {STOP_S} s after SIGTERM") from None
        if status != 0:
            raise ServerError(f"the server ended with status {status} after SIGTERM")

    def kill(self):
        process, self.process = self.process, None
        if process is None:
            raise ServerError("no server is running")
        process.kill()
        process.wait()

    def verdict(self):
        """Ends a running server and returns what was wrong with it, or None."""
        if self.process is not None:
            if self.process.poll() is not None:
                return f"the server ended by itself with status {self.process.returncode}"
            try:
                self.stop()
            except ServerError as error:
                return str(error)
        if os.path.exists(self.log_path):
            with open(self.log_path, encoding="utf-8", errors="replace") as log:
                for line in log:
                    if REPORT.search(line):
                        return "the server's log says: " + line.strip()
        return None


def braid_command(binary):
    """The command line that serves $EXPORT, or what $CONFIG says, with the braid at `binary`."""
    braid = shlex.quote(os.path.abspath(binary)) + ' serve --listen "$LISTEN" --port "$PORT" --state "$STATE" '
    anonymous = '$([ "$SQUASH" = none ] || echo --anonuid "$ANON" --anongid "$ANON")'
    directory = f'"$EXPORT" --squash "$SQUASH" {anonymous} ${{READ_ONLY:+--read-only}}'
    return f'{braid} $([ "$CONFIG" ] && echo --config "$CONFIG" || echo {directory}) ${{RDMA:+--rdma}} $MORE'
