"""What a workload uses inside the client: the host side by request, mounts, users, and expectations.

A workload is a program: it ends with status 0 only if every expectation held, since a failed one raises.

What few workloads need is imported where it is used: a client's machine takes a second for some modules.
"""

import contextlib
import errno
import json
import os
import subprocess
import sys
import time

from harness.constants import ADDRESS, PORT, RDMA_PORT, SKIP

ROOT = (0, 0, ())

# Where a server with a configuration of Lab.config() tells its figures.
METRICS = f"{ADDRESS}:9049"

# The shortest that braid takes.
SHORT_LEASE_S = 5
# The shortest that Linux can hold with NFSv4.0: it renews after 5 seconds if no call has (nfs4_schedule_state_renewal()).
# After a restart such clients wait for a whole lease, since they cannot say that they have reclaimed all they had.
SHORT_LEASE_V40_S = 8


class Failure(Exception):
    """An expectation did not hold."""


class HostError(Exception):
    """The host side could not do what was asked, e.g. the server did not start."""


def expect(condition, message):
    if not condition:
        raise Failure(message)


def equal(got, wanted, what):
    if got != wanted:
        raise Failure(f"{what}: got {got!r}, wanted {wanted!r}")


@contextlib.contextmanager
def refused(*numbers):
    """The body must raise OSError with one of these error numbers."""
    names = " or ".join(errno.errorcode[number] for number in numbers)
    try:
        yield
    except OSError as error:
        if error.errno not in numbers:
            raise Failure(f"got {errno.errorcode.get(error.errno, error.errno)}, wanted {names}") from error
        return
    raise Failure(f"succeeded, wanted {names}")


def skip(reason):
    print(f"skipped: {reason}", flush=True)
    sys.exit(SKIP)


def step(message):
    """Says what happens next; the last one printed is where a failed run stood."""
    print(f"  {message}", flush=True)


def until(condition, what, pause_s=0.02):
    """Returns as soon as condition() holds. How long that may take is the time limit of the test alone, which says then
    for what it has waited."""
    begin = time.monotonic()
    said = False
    while not condition():
        if not said and time.monotonic() - begin > 5:
            step(f"waiting: {what}")
            said = True
        time.sleep(pause_s)


def run(*argv, cwd=None):
    """Runs a program; its output is shown if it fails."""
    done = subprocess.run(argv, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="surrogateescape", check=False)
    if done.returncode != 0:
        raise Failure(f"{' '.join(argv)}: status {done.returncode}: {done.stdout[:2000]}")
    return done.stdout


def write_file(path, data, mode=0o644, flags=0):
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | flags, mode)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view):]
    finally:
        os.close(descriptor)


def read_file(path):
    with open(path, "rb") as file:
        return file.read()


def sha256(path):
    import hashlib
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def get(address, path):
    """The body of an HTTP answer."""
    import socket
    host, _, port = address.partition(":")
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n".encode())
        with connection.makefile("rb") as stream:
            head, _, body = stream.read().decode().partition("\r\n\r\n")
    expect(head.startswith("HTTP/1.1 200 "), f"the answer to GET {path}: {head}")
    return body


def metric(name):
    """A figure of the server, by its name with its labels, e.g. braid_rdma_refused_total{reason="device"}."""
    for line in get(METRICS, "/metrics").splitlines():
        if line.startswith(name + " "):
            return float(line.removeprefix(name))
    raise Failure(f"there is no metric {name}")


def drop_caches():
    """What is read next comes from the server."""
    os.sync()
    with open("/proc/sys/vm/drop_caches", "w", encoding="ascii") as file:
        file.write("3")


def start(function, *arguments):
    """Runs function(*arguments) in a child process; join() collects it."""
    sys.stdout.flush()
    child = os.fork()
    if child != 0:
        return child
    status = 1
    try:
        function(*arguments)
        status = 0
    except BaseException:
        import traceback
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def join(child, what="child"):
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    expect(status == 0, f"{what} ended with status {status}")


def as_user(user, function, *arguments, **named):
    """Calls the function as user = (uid, gid, supplementary groups); returns or raises what it did."""
    uid, gid, groups = user
    umask = os.umask(0)
    os.setgroups(groups)
    os.setegid(gid)
    os.seteuid(uid)
    try:
        return function(*arguments, **named)
    finally:
        os.seteuid(0)
        os.setegid(0)
        os.setgroups(())
        os.umask(umask)


class Lab:
    """The host side as seen from the client. One per workload."""

    def __init__(self):
        self.control = os.environ["INTEROP_CONTROL"]
        self.mount_options = os.environ.get("INTEROP_MOUNT_OPTIONS", "")
        self.variant = os.environ.get("INTEROP_VARIANT", "tmpfs")
        self.version = os.environ.get("INTEROP_NFS", "3")
        # How often servers are to be killed; 0: as often as the workload thinks.
        self.rounds = int(os.environ.get("INTEROP_ROUNDS", "0"))
        self.machine = os.environ.get("INTEROP_MACHINE", "client")
        self.sequence = 0
        self.path = None

    def request(self, operation, **arguments):
        self.sequence += 1
        stem = os.path.join(self.control, f"{self.machine}-{os.getpid()}-{self.sequence:06}")
        with open(stem + ".new", "w", encoding="utf-8") as file:
            json.dump({"op": operation, **arguments}, file)
            file.flush()
            os.fsync(file.fileno())
        os.rename(stem + ".new", stem + ".request")
        while not os.path.exists(stem + ".reply"):
            time.sleep(0.005)
        with open(stem + ".reply", encoding="utf-8") as file:
            reply = json.load(file)
        os.unlink(stem + ".reply")
        if "unavailable" in reply:
            skip(reply["unavailable"])
        if "error" in reply:
            raise HostError(f"{operation}: {reply['error']}")
        return reply["ok"]

    def export(self, kind=None, size_mib=128, name="data", mkfs=(), options=""):
        """Makes a file system on the host and returns its path there; serve() serves the one made last."""
        self.path = self.request("export", name=name, kind=kind or self.variant, size_mib=size_mib,
                                 mkfs_options=list(mkfs), mount_options=options)
        return self.path

    def serve(self, squash="none", read_only=False, anon=65534, config="", open_files_max=0, listen=None, lease_s=None,
              faults=False, more=""):
        """Serves the export as /, or what the text of a braid configuration file says; on ADDRESS, or on `listen`.
        Without `lease_s` the lease is the server's own, in runs with NFSv4.0 a short one. With `faults`, its system calls
        on the exported file system can fail on demand (faults/control.py). `more`: further options of braid serve."""
        if lease_s is None and self.version == "4.0":
            lease_s = SHORT_LEASE_V40_S
        self.request("start", options={"path": self.path, "squash": squash, "read_only": read_only, "anon": anon,
                                       "config": config, "open_files_max": open_files_max, "listen": listen,
                                       "lease_s": lease_s, "faults": faults, "more": more})

    def config(self, server="", limits=""):
        """The text of a configuration that serves the export as /, with metrics and more lines for these sections."""
        return (f'[server]\nmetrics = "{METRICS}"\n{server}\n[limits]\n{limits}\n'
                f'[[export]]\npath = "/"\ndirectory = "{self.path}"\nsquash = "none"\n')

    def reload(self, config):
        """A new text for the configuration file, and SIGHUP."""
        self.request("reload", config=config)

    def start(self):
        """Starts the server again as it was."""
        self.request("start", options=None)

    def stop(self):
        """SIGTERM; fails unless the server ends cleanly."""
        self.request("stop")

    def kill(self):
        self.request("kill")

    def power_cut(self, *names):
        """Kills the server and drops from these file systems (the one of export()) all that was never flushed."""
        self.request("power_cut", names=names or ("data",))

    def fail_disk(self, name="data"):
        """Every use of the exported file system that needs its disk fails with EIO."""
        self.request("fail_disk", name=name)

    def mount_again(self, name="data"):
        """Mounts the file system again on the host; the server must not run."""
        self.request("mount_again", name=name)

    def relay(self, procedures, every):
        """A port of the server whose connection breaks instead of the reply to every n-th call of these procedures."""
        return self.request("relay", procedures=sorted(procedures), every=every)

    def boot(self, name, *arguments):
        """Boots another client machine that runs this workload with these arguments. What they leave running goes on.
        One that has crashed is booted again under its name."""
        self.request("boot", name=name, command=["/usr/bin/python3", os.path.abspath(sys.argv[0]), *arguments],
                     environment={"INTEROP_NFS": self.version})

    def await_machine(self, name):
        """Returns when the workload in that machine has ended, with status 0."""
        until(lambda: self.request("machine_status", name=name) is not None, f"the workload in the machine {name}")
        equal(self.request("machine_status", name=name), 0, f"status of the workload in the machine {name}")

    def crash(self, name):
        """That machine ends without a word to anybody (SIGKILL of its kernel)."""
        self.request("crash", name=name)

    def log(self):
        """What the servers of this run have logged."""
        return self.request("log")

    def arm(self, call, error, nth):
        """From now on the nth such system call of the server fails (faults/control.py); serve() was told `faults`."""
        self.request("arm", call=call, error=error, nth=nth)

    def clear(self):
        """No system call fails any more. Returns how many did."""
        return self.request("clear")

    def data_server(self, number, action="start"):
        """Starts that data server of the cluster, or sends it a signal by its name (harness/data_servers.py)."""
        self.request("data_server", number=number, action=action)

    def data_server_log(self, number):
        return self.request("data_server_log", number=number)

    def objects(self, number):
        """The directory of that data server's objects, on the server's side."""
        return self.request("objects", number=number)

    def store_of(self, number):
        """The directory of that data server's store, on the server's side."""
        return self.request("store_of", number=number)

    def server_pid(self):
        return self.request("pid")

    def host(self, command):
        """Runs a shell command on the server's side and returns what it printed."""
        done = self.request("shell", command=command)
        if done["status"] != 0:
            raise HostError(f"{command}: status {done['status']}: {done['output']}")
        return done["output"]

    def mount(self, path="/", options="", at="/run/mnt", port=None, version=None, proto="tcp", server=ADDRESS):
        """Mounts `path` with this NFS version: without one, with that of the run (3, 4.0, 4.1 or 4.2).
        `proto` is "tcp", or "rdma" or "rdma6" in a machine that has them."""
        version = version or self.version
        os.makedirs(at, exist_ok=True)
        port = port or (PORT if proto == "tcp" else RDMA_PORT)
        base = f"vers={version},proto={proto},port={port},retry=0"
        if version == "3":
            base += f",mountport={PORT},mountproto={'tcp6' if proto.endswith('6') else 'tcp'},nolock"
        command = ("mount", "-t", "nfs", "-o", ",".join(o for o in (base, self.mount_options, options) if o),
                   f"{server}:{path}", at)
        while True:
            try:
                run(*command)
                return at
            except Failure as failure:
                # The server's side is asked for its address three times in as many seconds, and may be too busy.
                if "No route to host" not in str(failure):
                    raise
            step("waiting: for a route to the server")
            time.sleep(1)

    def unmount(self, at="/run/mnt"):
        run("umount", at)

    def ready(self, kind=None, size_mib=128, options="", **serve):
        """Export, serve and mount in one: what most workloads begin with."""
        self.export(kind, size_mib)
        self.serve(**serve)
        return self.mount(options=options)
