"""RDMA: clients, and the metadata server itself, reach data servers by the transport that the configuration says; the bytes are the same."""

import hashlib
import json

from harness.client import Lab, equal, metric, sha256, step, until
from harness.pnfs import (
    LONG_LEASE_S, SERVERS, await_contact, braid, configuration, data_server_report, pattern, start_servers, write_and_read)

MACHINE = "rdma"
RUNS = ("tmpfs,4.2",)
TAKES_S = 60
TIMEOUT_S = 300

SIZE = 2 * 1024 * 1024

lab = Lab()


def serve(cluster="", server=""):
    """The metadata server with these lines of its configuration, in contact with the data servers."""
    config = configuration(lab, cluster=cluster, lease_s=LONG_LEASE_S)
    lab.serve(config=config.replace("[server]\n", f"[server]\n{server}"))


def expect_reached(name, by_rdma, what):
    """The file is on all data servers, and somebody has a connection to each of them by RDMA, or nobody to any."""
    where = json.loads(braid(lab, f"location --json {lab.path}/{name}"))["servers"]
    equal(sorted(server["name"] for server in where), [f"ds{number}" for number in range(1, SERVERS + 1)],
          f"the data servers that {name} is on")
    found = [data_server_report(lab, number)["rdma"]["connections"] for number in range(1, SERVERS + 1)]
    if [connections > 0 for connections in found] != [by_rdma] * SERVERS:
        with open("/proc/fs/nfsfs/servers", encoding="ascii") as file:
            step(f"the servers of the client:\n{file.read()}and what it is told of them: {braid(lab, 'data-servers --json')}")
    equal([connections > 0 for connections in found], [by_rdma] * SERVERS, f"{what}: RDMA connections {found}")


def by_mount(proto, name, by_rdma):
    """A mount by `proto` whose bytes go straight to the data servers, by RDMA or not at all by RDMA."""
    mnt = lab.mount(proto=proto, at=f"/run/{name}")
    data = pattern(SIZE, name)
    write_and_read(mnt, name, data)
    expect_reached(name, by_rdma, "whether data servers are reached by RDMA")
    lab.unmount(mnt)
    return data


lab.export()
serve()
start_servers(lab)
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
serve('data_transport = ["tcp"]\n')
await_contact(lab)
by_mount("rdma", "third", False)

step("the metadata server itself goes there by RDMA, and one of them calls it by RDMA, also after it was killed")
lab.stop()
serve('control_transport = "rdma"\n', "rdma = true\n")
lab.data_server(1, "SIGKILL")
lab.data_server(1, "start by RDMA")
until(lambda: any("metadata_server_reached" in line and "by RDMA" in line for line in lab.data_server_log(1).splitlines()),
      "data server 1 to reach the metadata server by RDMA")
await_contact(lab)
mnt = lab.mount(version="3", proto="tcp")
data = pattern(SIZE, "fourth")
with open(f"{mnt}/fourth", "wb") as file:
    file.write(data)
expect_reached("fourth", True, "whether data servers are called by RDMA")
equal(metric("braid_rdma_connections") > 0, True, "data server 1 calls by RDMA")
lab.unmount(mnt)
mnt = lab.mount(version="3", proto="tcp")
for name, content in (("first", first), ("second", second), ("fourth", data)):
    equal(sha256(f"{mnt}/{name}"), hashlib.sha256(content).hexdigest(), f"{name} by NFS 3")
lab.unmount(mnt)
