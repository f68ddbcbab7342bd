"""What must be there before a client can be booted. Each missing thing is one sentence with its remedy."""

import glob
import os
import shutil
import subprocess

from harness.constants import SKIP

UML = "linux.uml"
UML_MODULES = "/usr/lib/uml/modules"
QEMU = "qemu-system-x86_64"
# What fetch-kernel makes.
KERNEL = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../build/interop-kernel"))

# The kinds of clients: harness/machine.py and harness/guest.py.
MACHINES = ("uml", "rdma")

# Status of a run whose client's machine, rather than its command, did nothing more.
STOOD_STILL = 126

PACKAGE_OF = {
    "uml": {
        UML: "user-mode-linux",
        "modprobe": "kmod",
        "busybox": "busybox-static",
        "mount.nfs": "nfs-common",
        "ip": "iproute2",
        "unshare": "util-linux",
        "cc": "gcc",
    },
    "rdma": {
        QEMU: "qemu-system-x86",
        "modprobe": "kmod",
        "mount.nfs": "nfs-common",
        "rdma": "iproute2",
        "/etc/libibverbs.d/rxe.driver": "ibverbs-providers",
    },
}


def missing(machine="uml"):
    """Returns the reasons why no client can be booted in this kind of machine; empty when one can."""
    reasons = []
    # Where mkfs, modprobe and ip are; not everybody's PATH has it.
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    if os.geteuid() != 0:
        reasons.append("must run as root (namespaces, mounts, a tap device): use sudo")
    packages = sorted({package for tool, package in PACKAGE_OF[machine].items()
                       if not shutil.which(tool) and not os.path.exists(tool)})
    if packages:
        reasons.append("missing Debian packages: apt-get install " + " ".join(packages))
    return reasons + (missing_for_uml(reasons) if machine == "uml" else missing_for_rdma())


def missing_for_rdma():
    if os.path.exists(KERNEL):
        return []
    return ["no kernel with RDMA: run tests/interop/fetch-kernel"]


def missing_for_uml(before):
    reasons = []
    if not before and not glob.glob(UML_MODULES + "/*/modules.dep"):
        reasons.append(f"no kernel modules in {UML_MODULES}: apt-get install --reinstall user-mode-linux")
    if not os.path.exists("/dev/net/tun"):
        reasons.append("no /dev/net/tun: load the tun module, or give the container --device /dev/net/tun")
    namespaces = ["unshare", "-n", "-m", "-p", "-f", "true"]
    if not before + reasons and subprocess.run(namespaces, check=False).returncode != 0:
        reasons.append("new namespaces are refused here: run outside of the container, or make it privileged")
    return reasons
