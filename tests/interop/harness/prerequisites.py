"""What must be there before a client can be booted. Each missing thing is one sentence with its remedy."""

import glob
import os
import shutil
import subprocess

UML = "linux.uml"
UML_MODULES = "/usr/lib/uml/modules"

# Status of a test that cannot run here; CTest and Automake both use it.
SKIP = 77

PACKAGE_OF = {
    UML: "user-mode-linux",
    "modprobe": "kmod",
    "mount.nfs": "nfs-common",
    "ip": "iproute2",
    "unshare": "util-linux",
    "cc": "gcc",
}


def missing():
    """Returns the reasons why no client can be booted on this machine; empty when one can."""
    reasons = []
    # Where mkfs, modprobe and ip are; not everybody's PATH has it.
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    if os.geteuid() != 0:
        reasons.append("must run as root (namespaces, mounts, a tap device): use sudo")
    packages = sorted({package for tool, package in PACKAGE_OF.items() if not shutil.which(tool)})
    if packages:
        reasons.append("missing Debian packages: apt-get install " + " ".join(packages))
    elif not glob.glob(UML_MODULES + "/*/modules.dep"):
        reasons.append(f"no kernel modules in {UML_MODULES}: apt-get install --reinstall user-mode-linux")
    if not os.path.exists("/dev/net/tun"):
        reasons.append("no /dev/net/tun: load the tun module, or give the container --device /dev/net/tun")
    if not reasons and subprocess.run(["unshare", "-n", "-m", "-p", "-f", "true"], check=False).returncode != 0:
        reasons.append("new namespaces are refused here: run outside of the container, or make it privileged")
    return reasons
