"""What bench/rdma_compare runs in the machine: braid, knfsd or another braid, a mount of each, and fio on both in turn."""

import glob
import json
import os
import socket
import struct
import subprocess
import sys
import time

from harness.client import Failure, Lab, expect, run, skip, step
from harness.mountstats import rdma_counts
from harness.prerequisites import KERNEL
from harness.constants import ADDRESS

KNFSD_PORT = 20050
OTHER_RDMA_PORT, OTHER_PORT = 20051, 12051  # of another braid
OTHER_START_S = 60
FILE_BYTES = 64 << 20
NFSD = "/proc/fs/nfsd"
CACHES = "/proc/net/rpc"
NEVER = 0x7FFFFFFF  # when an entry of a cache expires
# Of an export (Linux include/uapi/linux/nfsd/export.h): any port, no subtree check, with a number of its own, which makes
# it the root of NFSv4.
INSECURE, NO_SUBTREE_CHECK, FSID = 0x2, 0x400, 0x2000
TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def put(path, line):
    """One line in one write(2), as these files want it; what they refuse is not tried again."""
    with open(path, "wb", buffering=0) as file:
        file.write(line.encode("ascii") + b"\n")


class Knfsd:
    """The kernel's server. What rpc.mountd would answer it is told in advance, so nfs-kernel-server is not needed."""
    rdma_port = KNFSD_PORT

    def __init__(self, export, threads):
        if not glob.glob(f"{KERNEL}/modules/**/nfsd.ko*", recursive=True):
            skip("the kernel in build/ has no nfsd: run tests/interop/fetch-kernel --force")
        run("/run/modprobe", "nfsd")
        run("mount", "-t", "nfsd", "nfsd", NFSD)
        self.rpcbind = subprocess.Popen(["rpcbind", "-f"], stdin=subprocess.DEVNULL)
        self.tell_caches(export)
        put(f"{NFSD}/versions", "-3 +4 +4.1 +4.2")
        put(f"{NFSD}/nfsv4leasetime", "15")
        put(f"{NFSD}/nfsv4gracetime", "15")
        put(f"{NFSD}/threads", str(threads))
        put(f"{NFSD}/portlist", f"rdma {KNFSD_PORT}")
        # Refused if there is nothing to wait for.
        try:
            put(f"{NFSD}/v4_end_grace", "Y")
        except OSError:
            pass

    @staticmethod
    def tell_caches(export):
        """The client is in a domain, the domain has the export, the export has a number; see nfsd(7)."""
        number = struct.pack("=I", 0).hex()
        put(f"{CACHES}/auth.unix.ip/channel", f"nfsd {ADDRESS} {NEVER} all")
        put(f"{CACHES}/nfsd.export/channel", f"all {export} {NEVER} {INSECURE | NO_SUBTREE_CHECK | FSID} 65534 65534 0")
        put(f"{CACHES}/nfsd.fh/channel", f"all 1 \\x{number} {NEVER} {export}")

    def stop(self):
        put(f"{NFSD}/threads", "0")
        self.rpcbind.kill()
        self.rpcbind.wait()


class OtherBraid:
    """A second braid, of another version, which serves the same directory."""
    rdma_port = OTHER_RDMA_PORT

    def __init__(self, export, program):
        self.process = subprocess.Popen(
            [program, "serve", export, "--squash", "none", "--listen", ADDRESS, "--port", str(OTHER_PORT), "--rdma",
             str(OTHER_RDMA_PORT), "--state", "/run/other"], stdin=subprocess.DEVNULL)
        deadline = time.monotonic() + OTHER_START_S
        while True:
            expect(self.process.poll() is None and time.monotonic() < deadline, f"{program} does not serve")
            try:
                socket.create_connection((ADDRESS, OTHER_PORT)).close()
                return
            except OSError:
                time.sleep(0.1)

    def stop(self):
        self.process.terminate()
        expect(self.process.wait() == 0, f"the other braid ended with status {self.process.returncode}")


def keep_apart(server_pids):
    """The client's program on one processor, both servers on the other: they would be two machines.

    Where they share a processor each switch from fio's address space to braid's empties the emulator's table of addresses;
    knfsd has no address space. Which of both happens is the scheduler's mood otherwise.
    """
    os.sched_setaffinity(0, {0})
    servers = [int(thread) for pid in server_pids for thread in os.listdir(f"/proc/{pid}/task")]
    for comm in glob.glob("/proc/[0-9]*/comm"):
        with open(comm, encoding="ascii", errors="replace") as file:
            if file.read() == "nfsd\n":
                servers.append(int(comm.split("/")[2]))
    for thread in servers:
        os.sched_setaffinity(thread, {1})


def numbers_of(path):
    """What fio's hook kept: seconds since the start, ticks of all processors by kind, context switches."""
    with open(path, encoding="ascii") as file:
        lines = [line.split() for line in file]
    cpu = next(list(map(int, words[1:])) for words in lines if words[:1] == ["cpu"])
    switches = next(int(words[1]) for words in lines if words[:1] == ["ctxt"])
    user, nice, system, idle, wait, irq, softirq, steal = cpu[:8]
    ticks = {"user_s": user + nice, "system_s": system, "interrupt_s": irq + softirq, "idle_s": idle + wait,
             "busy_s": user + nice + system + irq + softirq + steal}
    return {"seconds": float(lines[0][0]), "switches": switches,
            **{name: value / TICKS_PER_S for name, value in ticks.items()}}


class Run:
    """One run of fio in `directory`. The machine's counters are read by fio itself, so that its start is not counted."""

    def __init__(self, row, mount, directory, local, seconds, files):
        self.row = row
        self.mount = mount
        self.local = os.path.join(local, row["name"])
        self.files = files
        os.makedirs(self.local, exist_ok=True)
        where = os.path.join(mount, directory, row["name"])
        kind = (self.data_options(where, seconds) if row["bytes"] else self.create_options(where))
        self.command = ["fio", "--name=job", "--thread", "--output-format=json", "--output=out", "--fallocate=none",
                        "--exec_prerun=cat /proc/uptime /proc/stat", "--exec_postrun=cat /proc/uptime /proc/stat", *kind]

    def data_options(self, where, seconds):
        self.make_file(os.path.join(self.local, "file"))
        return [f"--filename={where}/file", "--ioengine=libaio", "--direct=1", f"--bs={self.row['bytes']}",
                f"--size={FILE_BYTES}", "--time_based", f"--runtime={seconds}", *self.row["fio"]]

    def create_options(self, where):
        return ["--ioengine=filecreate", "--create_on_open=1", f"--directory={where}", "--filesize=4k", "--bs=4k",
                "--rw=write", "--openfiles=1", f"--nrfiles={self.files}"]

    @staticmethod
    def make_file(path):
        """With every block in place; on the exported file system itself, which is fast."""
        if os.path.exists(path):
            return
        block = os.urandom(1 << 20)
        with open(path, "wb") as file:
            for _ in range(FILE_BYTES >> 20):
                file.write(block)

    def measure(self):
        calls = rdma_counts(self.mount)["sends"]
        run(*self.command)
        with open("out", encoding="ascii") as file:
            text = file.read()
        # Before the object fio says where it put what its hooks printed.
        job = json.loads(text[text.index("{"):])["jobs"][0]
        expect(job["error"] == 0, f"fio failed: {job['error']}")
        before, after = numbers_of("job.prerun.txt"), numbers_of("job.postrun.txt")
        sample = {name: after[name] - before[name] for name in before}
        sample["operations"] = job["read"]["total_ios"] + job["write"]["total_ios"] if self.row["bytes"] else self.files
        sample["calls"] = rdma_counts(self.mount)["sends"] - calls
        expect(sample["operations"] > 0, "fio did nothing")
        if not self.row["bytes"]:
            self.remove_files()
        return sample

    def remove_files(self):
        names = os.listdir(self.local)
        expect(len(names) == self.files, f"{len(names)} files were made, not {self.files}")
        for name in names:
            os.unlink(os.path.join(self.local, name))


def profiled(measure, title):
    """Records all processors by their clock while fio runs; the summary goes to the server's log, which is kept."""
    # The host's perf may not find its own binary in /tmp; everything of it stays here.
    with subprocess.Popen(["perf", "record", "-q", "-e", "cpu-clock", "-F", "500", "-a", "-g", "-o", "perf.data"],
                          stderr=subprocess.DEVNULL) as perf:
        time.sleep(2)
        sample = measure()
        perf.terminate()
    report = ""
    for keys in (["--sort", "comm"], ["--sort", "comm,dso,symbol", "--percent-limit", "0.4"]):
        report += run("perf", "report", "--stdio", "--no-children", "-g", "none", "-i", "perf.data", *keys)
    with open("/run/base/server.log", "a", encoding="utf-8") as log:
        log.write(f"--- profile {title}\n{report}\n")
    return sample


def main():
    settings = json.loads(os.environ["COMPARE"])
    lab = Lab()
    export = lab.export("tmpfs", 600)
    places = {name: os.path.join(export, name) for name in settings["servers"]}
    for place in places.values():
        os.mkdir(place)
    lab.serve()
    against = settings["against"]
    second = OtherBraid(export, against) if against else Knfsd(export, settings["threads"])
    mounts = {name: lab.mount("/", at=f"/run/{name}-mount", version=settings["nfs"], proto="rdma", port=port)
              for name, port in zip(places, (None, second.rdma_port))}
    if settings["placed"]:
        keep_apart([lab.server_pid(), *([second.process.pid] if against else [])])
    runs = {(row["name"], server): Run(row, mounts[server], server, places[server], settings["seconds"],
                                       settings["files"]) for row in settings["rows"] for server in mounts}
    results = {row["name"]: {server: [] for server in mounts} for row in settings["rows"]}
    # The first round is not counted: the emulator translates what it has not seen before.
    for turn in range(settings["rounds"] + 1):
        for row in settings["rows"]:
            for server in list(mounts) if turn % 2 else reversed(mounts):
                one = runs[row["name"], server]
                counts = turn > 0
                title = f"{row['name']} {server}"
                sample = profiled(one.measure, title) if settings["profile"] and counts else one.measure()
                step(f"round {turn} of {settings['rounds']}: {title}: {sample['operations'] / sample['seconds']:.0f}/s, "
                     f"{sample['busy_s'] / sample['operations'] * 1e6:.0f} us")
                if counts:
                    results[row["name"]][server].append(sample)
    for mount in mounts.values():
        lab.unmount(mount)
    second.stop()
    print("result " + json.dumps(results), flush=True)


if __name__ == "__main__":
    try:
        main()
    except Failure as failure:
        sys.exit(f"failed: {failure}")
