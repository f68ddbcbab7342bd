"""A machine with RDMA: Debian's kernel in an emulator, with Soft-RoCE, for the client and the server together.

Its root is the host's /, read-only; the host sees of it what it writes to a shared directory. It has no network but a
device that leads nowhere, or to one other such machine, which RDMA and TCP both use.
"""

import argparse
import json
import os
import subprocess
import sys
import time

from harness.constants import ADDRESS
from harness.host import BROKEN, TIMED_OUT, save, tail
from harness.machine import CLIENT_ADDRESS, READY, quote
from harness.prerequisites import KERNEL, QEMU

BOOT_S = 90

# The first process once the host's files are there. Soft-RoCE needs a device that is not lo, and frames of more than
# 4096 bytes to have an MTU of 4096.
INIT = """#!/bin/bash
exec </dev/null
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8
mkdir -p /dev/shm
mount -t sysfs sysfs /sys
for place in run var/lib/nfs dev/shm; do mount -t tmpfs none /$place; done
mkdir -p /run/lock /run/rpc_pipefs /run/home /run/tmp /run/mnt /run/base; chmod 1777 /run/tmp /dev/shm
ln -s /proc/self/fd /dev/fd
printf '#!/bin/sh\\nexec modprobe -d {modules} "$@"\\n' >/run/modprobe; chmod 755 /run/modprobe
echo /run/modprobe >/proc/sys/kernel/modprobe
hostname client
/run/modprobe -a dummy rdma_rxe rdma_ucm rpcrdma nfsv3 nfsv4 loop
ip link set lo up; {wire}; ip addr add {address}/24 dev wire; ip link set wire up
rdma link add rxe0 type rxe netdev wire
echo "<4>{ready}" >/dev/kmsg
stty raw -echo -F /dev/ttyS1
export HOME=/run/home TMPDIR=/run/tmp PYTHONPATH={library} PYTHONDONTWRITEBYTECODE=1
cd /run/tmp
/usr/bin/python3 -m harness.host --base /run/base --settings {settings} >/dev/ttyS1 2>&1
echo $? >{base}/status.new; mv {base}/status.new {base}/status
echo o >/proc/sysrq-trigger; sleep 60
"""


# Where the device leads, and its address there: nowhere, or over a socket to another machine.
NOWHERE = "ip link add wire mtu 9000 type dummy"
TO_ANOTHER = "/run/modprobe virtio_net; ip link set eth0 name wire mtu 9000"
COUNTED_SHIFT = 1  # an instruction takes 2 ** 1 ns
ADDRESSES = {"listen": ADDRESS, "connect": CLIENT_ADDRESS}


def wire_of(link):
    """QEMU's arguments for the device."""
    if not link:
        return ["-nic", "none"]
    role, _, path = link.partition(":")
    mac = f"52:54:00:99:13:{ADDRESSES[role].rpartition('.')[2]:>02}"
    return ["-netdev", f"stream,id=wire,server={'on' if role == 'listen' else 'off'},addr.type=unix,addr.path={path}",
            "-device", f"virtio-net-pci,netdev=wire,mac={mac},host_mtu=9000,romfile="]


def processors_of(counted):
    """Two that run as fast as they can, or one whose time is what it executes, which knows nothing of this computer's
    other work. (With -icount QEMU 7.2 does not get as far as a second one.)"""
    if counted:
        return ["-accel", "tcg,thread=single,tb-size=512", "-smp", "1", "-icount", f"shift={COUNTED_SHIFT},sleep=off"]
    return ["-accel", "tcg,thread=multi,tb-size=512", "-smp", "2"]


def command_line(base, settings):
    append = ("console=ttyS0 panic=-1 loglevel=5 mitigations=off nokaslr tsc=reliable clocksource=tsc no_timer_check "
              f"random.trust_cpu=on base={base}")
    shares = [("host", "/", ",readonly=on"), ("base", base, "")]
    return ["setpriv", "--pdeathsig", "KILL", QEMU, "-M", "pc,hpet=off", *processors_of(settings["counted"]),
            "-cpu", "max,la57=off", "-m", str(settings["memory_mib"]), "-nographic", "-nodefaults",
            "-no-user-config", "-no-reboot", *wire_of(settings["link"]), "-monitor", "none",
            "-serial", f"file:{base}/console", "-serial", "stdio",
            "-kernel", f"{KERNEL}/vmlinux", "-initrd", f"{KERNEL}/initrd", "-append", append,
            *(word for tag, path, more in shares for word in (
                "-fsdev", f"local,id={tag},path={path},security_model=none,multidevs=remap{more}",
                "-device", f"virtio-9p-pci,fsdev={tag},mount_tag={tag}"))]


def write_init(base, settings):
    library = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    inside = {**settings, "save": f"{base}/save" if settings["save"] else None}
    with open(os.path.join(base, "init"), "w", encoding="utf-8") as script:
        link = settings["link"]
        address = ADDRESSES[link.partition(":")[0]] if link else ADDRESS
        script.write(INIT.format(base=base, modules=quote(KERNEL + "/modules"), address=address, ready=READY,
                                 wire=TO_ANOTHER if link else NOWHERE, library=quote(library),
                                 settings=quote(json.dumps(inside))))


def attend(machine, status_path, limit_s):
    """Waits until the machine has ended; returns the status that it left."""
    deadline = time.monotonic() + limit_s
    while machine.poll() is None and not os.path.exists(status_path):
        if time.monotonic() > deadline:
            print(f"lab: the machine still ran after {limit_s} s", flush=True)
            return TIMED_OUT
        time.sleep(0.05)
    if not os.path.exists(status_path):
        print("lab: the machine ended without a status", flush=True)
        return BROKEN
    with open(status_path, encoding="ascii") as status:
        return int(status.read())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--base", required=True)
    parser.add_argument("--settings", required=True)
    arguments = parser.parse_args()
    settings, base = json.loads(arguments.settings), arguments.base
    write_init(base, settings)
    machine = subprocess.Popen(command_line(base, settings), stdin=subprocess.DEVNULL,
                               env={**os.environ, "TMPDIR": base})
    status_path = os.path.join(base, "status")
    status = attend(machine, status_path, settings["limit_s"] + BOOT_S)
    machine.kill()
    machine.wait()
    if status in (BROKEN, TIMED_OUT) and not os.path.exists(status_path):
        tail("console", os.path.join(base, "console"), 40)
    if settings["save"]:
        save(f"{base}/save", settings["save"])
    return status


if __name__ == "__main__":
    sys.exit(main())
