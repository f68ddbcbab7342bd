"""RDMA: clients, and the metadata server itself, reach data servers by the transport that the configuration says; the bytes are the same."""

import hashlib
import json

from harness.client import Lab, equal, metric, sha256, step, until
from harness.constants import DATA_PORT
from harness.pnfs import SERVERS, configuration, pattern, serve, write_and_read

MACHINE = "rdma"
RUNS = ("tmpfs,4.2",)
TAKES_S = 60
TIMEOUT_S = 300

SIZE = 2 * 1024 * 1024

lab = Lab()


def connections():
    """Of clients to each data server: (by TCP and RDMA, by RDMA)."""
    def of(number):
        status = lab.host(f"/proc/{lab.server_pid()}/exe status --json --admin /run/braid/{DATA_PORT + number}.sock")
        report = json.loads(status)
        return report["connections"], report["rdma"]["connections"]
    return [of(number) for number in range(1, SERVERS + 1)]


def by_mount(proto, name, by_rdma):
    """A mount by `proto` whose bytes go straight to the data servers, by RDMA or not at all by RDMA."""
    mnt = lab.mount(proto=proto, at=f"/run/{name}")
    data = pattern(SIZE, name)
    write_and_read(mnt, name, data)
    for number, (_, rdma) in enumerate(connections(), 1):
        equal(rdma > 0, by_rdma, f"data server {number} is reached by RDMA")
    lab.unmount(mnt)
    return data


lab.export()
serve(lab)
step("who has mounted by TCP reaches data servers by TCP")
first = by_mount("tcp", "first", False)
step("who has mounted by RDMA, by RDMA")
second = by_mount("rdma", "second", True)
step("and both see the same")
mnt = lab.mount(version="3", proto="rdma")
for name, data in (("first", first), ("second", second)):
    equal(sha256(f"{mnt}/{name}"), hashlib.sha256(data).hexdigest(), f"{name} by NFS 3")
lab.unmount(mnt)

step("the configuration has it otherwise")
lab.stop()
lab.serve(config=configuration(lab, cluster='data_transport = ["tcp"]\n'))
by_mount("rdma", "third", False)

step("the metadata server itself goes there by RDMA, and one of them calls it by RDMA, also after it was killed")
lab.stop()
config = configuration(lab, cluster='control_transport = "rdma"\n')
lab.serve(config=config.replace("[server]\n", "[server]\nrdma = true\n"))
lab.data_server(1, "SIGKILL")
lab.data_server(1, "start by RDMA")
until(lambda: any("metadata_server_reached" in line and "by RDMA" in line for line in lab.data_server_log(1).splitlines()),
      "data server 1 to reach the metadata server by RDMA")
mnt = lab.mount(version="3", proto="tcp")
data = pattern(SIZE, "fourth")
with open(f"{mnt}/fourth", "wb") as file:
    file.write(data)
for number, (_, rdma) in enumerate(connections(), 1):
    equal(rdma > 0, True, f"data server {number} is called by RDMA")
equal(metric("braid_rdma_connections") > 0, True, "data server 1 calls by RDMA")
lab.unmount(mnt)
mnt = lab.mount(version="3", proto="tcp")
for name, content in (("first", first), ("second", second), ("fourth", data)):
    equal(sha256(f"{mnt}/{name}"), hashlib.sha256(content).hexdigest(), f"{name} by NFS 3")
lab.unmount(mnt)
