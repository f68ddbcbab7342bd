"""The client machine: a Linux kernel as a process (user-mode Linux) whose root is a read-only view of the host's."""

import glob
import os
import shutil
import signal
import subprocess
import time

from harness import prerequisites

CLIENT_ADDRESS = "10.99.13.2"

# How often a machine says that it lives, and the silence after which it counts as standing still: its kernel waits for
# no server to say so.
PULSE_S = 2
STILL_S = 40

# Without them its start takes five times as long: it tells a program that does not exist of each of 256 pseudo terminals
# of an old kind, and measures ways to compute the checksums of RAID 6.
QUICK = ("pty.legacy_count=0", "initcall_blacklist=raid6_select_algo")

# The kernel's messages before this line are those of its start.
READY = "lab: ready"

# Memory that a program has freed it keeps: what it gets anew is a page fault for each page.
KEPT_MEMORY = 256 << 20

# Starting a program is what takes long in this machine, since each of its page faults stops the process for the kernel.
# So these are applets of busybox, which finds itself in /proc once that is this machine's own.
INIT = """#!{busybox} sh
exec </dev/null
{busybox} mount -t proc proc /proc; mount -t sysfs sysfs /sys; mount -t tmpfs run /run
mkdir -p /run/lock /run/rpc_pipefs /run/home /run/tmp /run/mnt; chmod 1777 /run/tmp
ln -s /proc/self/fd /dev/fd; mkdir -p /dev/shm; mount -t tmpfs -o mode=1777 shm /dev/shm
echo {modprobe} >/proc/sys/kernel/modprobe
ip link set lo up; ip link set vec0 up; ip addr add {address}/24 dev vec0; {route}; hostname {name}
{load}
for module in {modules}; do {modprobe} $module; done
echo "<4>{ready}" >/dev/kmsg
stty raw -echo -F /dev/ttyS0
while sleep {pulse_s}; do echo >{pulse}; done &
export HOME=/run/home TMPDIR=/run/tmp PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8
export MALLOC_MMAP_THRESHOLD_={kept_memory} MALLOC_TRIM_THRESHOLD_={kept_memory}
export INTEROP_CONTROL={control} INTEROP_MACHINE={name} PYTHONPATH={library} PYTHONDONTWRITEBYTECODE=1
{environment}
cd /run/tmp
{command} >/dev/ttyS0 2>&1
echo $? >{status}.new; sync; mv {status}.new {status}
sleep infinity
"""


def quote(word):
    return "'" + str(word).replace("'", "'\\''") + "'"


class Wire:
    """A tap device between the server and one client, number 0 or one of the others; the namespace has no way out."""

    def __init__(self, number):
        self.device = f"wire{number or ''}"
        self.host_address = f"10.99.{13 + number}.1"
        self.client_address = f"10.99.{13 + number}.2"
        # The server is at the address of the first wire.
        self.route = f"ip route add default via {self.host_address}" if number else "true"
        for command in ("ip link set lo up", f"ip tuntap add dev {self.device} mode tap",
                        f"ip addr add {self.host_address}/24 dev {self.device}", f"ip link set {self.device} up"):
            subprocess.run(command.split(), check=True)


def make_root(base):
    """Binds / to BASE/root, read-only except for BASE itself: a script in the client cannot harm the host's files."""
    root = os.path.join(base, "root")
    os.makedirs(root)
    subprocess.run(["mount", "--rbind", "/", root], check=True)
    with open("/proc/self/mounts", encoding="utf-8") as mounts:
        points = [line.split()[1].encode().decode("unicode_escape") for line in mounts]
    for point in points:
        if (point == root or point.startswith(root + "/")) and point != root + base:
            subprocess.run(["mount", "-o", "remount,bind,ro", point], check=False, stderr=subprocess.DEVNULL)
    return root


def make_modprobe(base):
    """modprobe for the client's kernel, whose modules are not where the host's are; returns its path."""
    release = os.path.basename(glob.glob(prerequisites.UML_MODULES + "/*")[0])
    tree = os.path.join(base, "modules", "lib", "modules")
    os.makedirs(tree)
    os.symlink(os.path.join(prerequisites.UML_MODULES, release), os.path.join(tree, release))
    path = os.path.join(base, "modprobe")
    with open(path, "w", encoding="utf-8") as script:
        script.write(f'#!/bin/sh\nexec modprobe -d {quote(os.path.join(base, "modules"))} "$@"\n')
    os.chmod(path, 0o755)
    return path


def make_processor_state(base):
    """The library that lets the client's kernel run on processors with more registers than it knows; its path."""
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "processor_state.c")
    path = os.path.join(base, "processor_state.so")
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", path, source, "-ldl"], check=True)
    return path


def load_commands(base, modules):
    """The commands that load these modules with what they need, in the right order."""
    release = os.path.basename(glob.glob(prerequisites.UML_MODULES + "/*")[0])
    lines = []
    for module in modules:
        wanted = ["modprobe", "-d", os.path.join(base, "modules"), "-S", release, "--show-depends", module]
        done = subprocess.run(wanted, stdout=subprocess.PIPE, text=True, check=True)
        lines += [line.strip() for line in done.stdout.splitlines()]
    return "\n".join(dict.fromkeys(lines))


class Kernel:
    """What the machines of a run share: the root, modprobe and the library. Made once, in the directory of the run."""

    def __init__(self, base):
        self.base = base
        self.control = os.path.join(base, "control")
        self.root = make_root(base)
        self.modprobe = make_modprobe(base)
        # A client asks for Kerberos at its first mount with NFSv4: by then modprobe would take it a second.
        self.load = load_commands(base, ("nfsv3", "nfsv4", "rpcsec_gss_krb5"))
        self.processor_state = make_processor_state(base)


class Machine:
    """A booted client that runs one command. `output` is the read end of what that command prints; `directory`, in that
    of the run, has its own files."""

    def __init__(self, kernel, name, directory, wire, command, environment, memory_mib, modules=()):
        self.console_path = os.path.join(directory, "console")
        self.status_path = os.path.join(directory, "status")
        self.pulse_path = os.path.join(directory, "pulse")
        library = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        init = os.path.join(directory, "init")
        with open(init, "w", encoding="utf-8") as script:
            script.write(INIT.format(
                busybox=shutil.which("busybox"), modprobe=quote(kernel.modprobe), load=kernel.load, ready=READY,
                address=wire.client_address, route=wire.route, name=name, kept_memory=KEPT_MEMORY,
                modules=" ".join(modules), control=quote(kernel.control), status=quote(self.status_path),
                pulse=quote(self.pulse_path), pulse_s=PULSE_S,
                library=quote(library),
                environment="\n".join(f"export {name}={quote(value)}" for name, value in environment.items()),
                command=" ".join(quote(word) for word in command)))
        os.chmod(init, 0o755)
        self.output, serial = os.pipe()
        with open(self.console_path, "wb") as console:
            self.process = subprocess.Popen(
                [prerequisites.UML, f"mem={memory_mib}M", "root=/dev/root", "rootfstype=hostfs",
                 f"rootflags={kernel.root}", "rw", f"uml_dir={directory}/uml/", f"umid={name}",
                 f"vec0:transport=tap,ifname={wire.device},depth=128,gro=1", f"init={init}", "loglevel=6",
                 *QUICK, "con=null", "con0=null,fd:1", f"ssl0=null,fd:{serial}"],
                stdin=subprocess.DEVNULL, stdout=console, stderr=console, pass_fds=[serial],
                env={**os.environ, "TMPDIR": kernel.base, "LD_PRELOAD": kernel.processor_state}, cwd=directory,
                start_new_session=True)
        os.close(serial)

    def kill(self):
        """Without a word, with the processes of its programs, which would hold the wire."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def stands_still(self):
        """Whether it is the machine that does nothing, rather than its command."""
        return os.path.exists(self.pulse_path) and time.time() - os.path.getmtime(self.pulse_path) > STILL_S

    def status(self):
        """The command's exit status once it has ended, else None."""
        if not os.path.exists(self.status_path):
            return None
        with open(self.status_path, encoding="utf-8") as status:
            return int(status.read())
