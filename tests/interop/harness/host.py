"""The host side of one run: process 1 of its namespaces. Boots the client, answers its requests, ends with it."""

import argparse
import fcntl
import json
import os
import struct
import subprocess
import sys
import threading
import time

from faults.control import Control
from harness import exports
from harness.constants import PORT, SKIP
from harness.data_servers import DataServers
from harness.here import Here
from harness.machine import READY, Kernel, Machine, Wire
from harness.prerequisites import STOOD_STILL
from harness.relay import LossyRelay
from harness.server import Server, ServerError

TIMED_OUT = 124
BROKEN = 125

# Directories a server or its helpers write to: private to the run, so that parallel runs do not meet.
PRIVATE = ("/run", "/var/lib/nfs")

# FS_IOC_SHUTDOWN (ext4, XFS) with the flag that drops what no flush has written.
SHUTDOWN = 0x8004587D
NO_LOG_FLUSH = 2

# Memory of the client machines besides the first.
OTHER_MEMORY_MIB = 192


class Host:
    """Answers the client's requests, one JSON file each: {"op": NAME, ...} in, {"ok": ...} or {"error": ...} out."""

    def __init__(self, base, server, data_servers):
        self.base = base
        self.data_servers = data_servers
        self.control = os.path.join(base, "control")
        self.server = server
        self.exports = {}
        self.kernel = None
        self.wires = {}
        self.machines = {}
        os.makedirs(self.control)
        os.makedirs(os.path.join(base, "export"))

    def op_export(self, name, kind, size_mib, mkfs_options, mount_options):
        self.exports[name] = exports.Export(self.base, name, kind, size_mib, mkfs_options, mount_options)
        return self.exports[name].path

    def op_start(self, options):
        self.server.start(options)

    def op_reload(self, config):
        self.server.reload(config)

    def op_stop(self):
        self.server.stop()

    def op_kill(self):
        self.server.kill()

    def op_log(self):
        with open(self.server.log_path, encoding="utf-8", errors="replace") as log:
            return log.read()

    def op_pid(self):
        return self.server.process.pid if self.server.process else None

    def op_shell(self, command):
        done = subprocess.run(["bash", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              stdin=subprocess.DEVNULL, check=False)
        return {"status": done.returncode, "output": done.stdout.decode("utf-8", "surrogateescape")}

    def op_data_server(self, number, action):
        """Starts it, as one that calls the metadata server by TCP or RDMA, or has a store, or sends it a signal."""
        if action in ("start", "start by RDMA", "start with a store"):
            self.data_servers.start(number, action == "start by RDMA", action == "start with a store")
        else:
            self.data_servers.signal(number, action)

    def op_data_server_log(self, number):
        return self.data_servers.log(number)

    def op_objects(self, number):
        """The directory of its objects."""
        return os.path.join(self.data_servers.directory(number), "objects")

    def op_store_of(self, number):
        """The directory of its store."""
        return self.data_servers.store(number)

    def op_arm(self, call, error, nth):
        """That system call of the server fails from now on (faults/control.py)."""
        Control(self.base).arm(call, error, nth)

    def op_clear(self):
        return Control(self.base).clear()

    def op_relay(self, procedures, every):
        """Starts a relay that loses replies; returns the port to mount through."""
        return LossyRelay(set(procedures), every).port

    def boot(self, name, directory, settings):
        """A client machine; one of the same name as an earlier one is that one, booted again."""
        if name not in self.wires:
            self.wires[name] = Wire(len(self.wires))
        machine = Machine(self.kernel, name, directory, self.wires[name], settings["command"], settings["environment"],
                          settings["memory_mib"], settings["modules"])
        threading.Thread(target=copy_output, args=(machine.output,), daemon=True).start()
        return machine

    def op_boot(self, name, command, environment):
        """Boots another client machine for a command."""
        if self.kernel is None:
            raise exports.Unavailable("there is one machine with RDMA")
        directory = os.path.join(self.base, name)
        os.makedirs(directory, exist_ok=True)
        self.machines[name] = self.boot(name, directory, {
            "command": command, "environment": environment, "memory_mib": OTHER_MEMORY_MIB, "modules": ()})

    def op_machine_status(self, name):
        """The status of its command; that of a machine that ended by itself is BROKEN."""
        machine = self.machines[name]
        status = machine.status()
        return BROKEN if status is None and machine.process.poll() is not None else status

    def op_crash(self, name):
        """The machine disappears without a word."""
        machine = self.machines.pop(name)
        machine.kill()
        os.unlink(machine.status_path)

    def op_fail_disk(self, name):
        """From now on the file system answers EIO, and what it had not flushed is lost."""
        directory = os.open(self.exports[name].path, os.O_RDONLY)
        try:
            fcntl.ioctl(directory, SHUTDOWN, struct.pack("I", NO_LOG_FLUSH))
        finally:
            os.close(directory)

    def op_mount_again(self, name):
        """Mounts what the disk has; nobody may use the file system at this moment."""
        self.exports[name].unmount()
        self.exports[name].mount()

    def op_power_cut(self, names):
        """kill -9, then these file systems lose all that was never flushed, as at a power cut, and are mounted again."""
        if self.server.process:
            self.server.kill()
        for name in names:
            self.op_fail_disk(name)
        for name in names:
            self.op_mount_again(name)

    def answer(self, path):
        with open(path, encoding="utf-8") as request_file:
            request = json.load(request_file)
        operation = getattr(self, "op_" + request.pop("op"))
        try:
            reply = {"ok": operation(**request)}
        except exports.Unavailable as error:
            reply = {"unavailable": str(error)}
        except (ServerError, OSError, subprocess.SubprocessError) as error:
            reply = {"error": f"{type(error).__name__}: {error}"}
        reply_path = path.removesuffix(".request") + ".reply"
        with open(reply_path + ".new", "w", encoding="utf-8") as reply_file:
            json.dump(reply, reply_file)
        os.rename(reply_path + ".new", reply_path)
        os.unlink(path)

    def poll(self):
        for name in sorted(os.listdir(self.control)):
            if name.endswith(".request"):
                self.answer(os.path.join(self.control, name))


def copy_output(source):
    """Copies the client's output to ours until the client is gone."""
    while True:
        try:
            data = os.read(source, 65536)
        except OSError:
            return
        if not data:
            return
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()


def tail(title, path, lines, after=None):
    """Prints the last lines of a log, of the part that follows the mark `after`."""
    if not os.path.exists(path):
        return
    with open(path, encoding="utf-8", errors="replace") as log:
        text = log.read()
    last = (text.partition(after)[2] if after and after in text else text).splitlines()[-lines:]
    print(f"----- {title} (last {len(last)} lines)")
    print("\n".join(last), flush=True)


def attend(host, machine, limit_s):
    """Serves requests until the client's command ends; returns its status."""
    deadline = time.monotonic() + limit_s
    while time.monotonic() < deadline:
        host.poll()
        ended = machine.process.poll() is not None
        status = machine.status()
        if status is not None:
            return status
        if ended:
            print("lab: the client machine ended without a status", flush=True)
            return BROKEN
        time.sleep(0.005)
    print(f"lab: time limit of {limit_s} s", flush=True)
    if machine.stands_still():
        print("lab: the client machine itself stands still, not only its command", flush=True)
        return STOOD_STILL
    return TIMED_OUT


def boot(host, settings):
    """The client with its command. One with RDMA is where we are already (harness/guest.py)."""
    if settings["machine"] == "rdma":
        machine = Here(host.base, settings["command"], settings["environment"])
        threading.Thread(target=copy_output, args=(machine.output,), daemon=True).start()
        return machine
    for path in PRIVATE:
        if os.path.isdir(path):
            subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=755", "interop", path], check=True)
    host.kernel = Kernel(host.base)
    return host.boot("client", host.base, settings)


def save(base, target):
    """Copies the logs to a directory outside of the run."""
    os.makedirs(target, exist_ok=True)
    for name in sorted(os.listdir(base)):
        if name in ("server.log", "console") or name.startswith("data-server-"):
            subprocess.run(["cp", os.path.join(base, name), target], check=False)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--base", required=True)
    parser.add_argument("--settings", required=True)
    arguments = parser.parse_args()
    settings = json.loads(arguments.settings)
    base = arguments.base
    subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=755", "interop", base], check=True)
    if settings["save"]:
        os.makedirs(settings["save"], exist_ok=True)
    server = Server(settings["server"], base, os.path.join(base, "server.log"), settings["machine"] == "rdma")
    data_servers = DataServers(settings["binary"], base, PORT, settings["machine"] == "rdma")
    host = Host(base, server, data_servers)
    machine = boot(host, settings)
    status = attend(host, machine, settings["limit_s"])
    time.sleep(0.05)
    machine.process.kill()
    complaint = data_servers.verdict() or server.verdict()
    if complaint and status in (0, SKIP):
        print("lab: " + complaint, flush=True)
        status = BROKEN
    if status not in (0, SKIP):
        tail("server log", server.log_path, 60)
        for name in sorted(os.listdir(base)):
            if name.startswith("data-server-"):
                tail(name, os.path.join(base, name), 30)
        tail("client kernel", machine.console_path, 30, READY)
    if settings["save"]:
        save(base, settings["save"])
    return status


if __name__ == "__main__":
    sys.exit(main())
