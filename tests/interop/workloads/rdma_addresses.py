"""RDMA: IPv4, IPv6 and two devices at once; one connection too many is refused, with the reason; a port fails."""

import json
import os

from harness.client import Lab, equal, expect, metric, read_file, run, step, until, write_file
from harness.rdma_cm import Request
from harness.constants import ADDRESS, RDMA_PORT

MACHINE = "rdma"
RUNS = ("tmpfs",)
VERSIONS = ("3",)
TAKES_S = 60
TIMEOUT_S = 240

SECOND = "10.99.14.1"
V6 = "fd99:13::1"
CONNECTIONS_MAX = 6

run("ip", "addr", "add", f"{V6}/64", "dev", "wire", "nodad")
for command in (f"ip link add wire2 mtu 9000 type dummy; ip addr add {SECOND}/24 dev wire2; ip link set wire2 up",
                "rdma link add rxe1 type rxe netdev wire2"):
    run("bash", "-c", command)

lab = Lab()
lab.export()
lab.serve(listen="::", config=lab.config(limits=f"connections_max = {CONNECTIONS_MAX}\nopen_files_max = 1000"))


def until_refused():
    """Connections that the server still takes."""
    taken = []
    while True:
        request = Request(ADDRESS, RDMA_PORT)
        if not request.accepted:
            equal(request.words, b"connections_max", "the private data of the refusal")
            request.close()
            return taken
        taken.append(request)
        expect(len(taken) <= CONNECTIONS_MAX, "more connections than connections_max")


# NFSv3, since NFSv4 clients find out that the addresses are of one server and use one connection.
mounts = []
for name, server, proto in (("IPv4", ADDRESS, "rdma"), ("the second device", SECOND, "rdma"),
                            ("IPv6", f"[{V6}]", "rdma6")):
    step(name)
    before = metric("braid_rdma_accepted_total")
    at = lab.mount(version="3", proto=proto, server=server, at=f"/run/{len(mounts)}")
    data = os.urandom(600_000)
    write_file(f"{at}/file{len(mounts)}", data)
    equal(read_file(f"{lab.path}/file{len(mounts)}"), data, f"what came by {name}")
    equal(metric("braid_rdma_accepted_total"), before + 1, "connections")
    mounts.append(at)
status = lab.host("rdma resource show qp | grep -c 'comm braid' || true").strip()
expect(int(status) >= len(mounts), f"queue pairs of the server: {status}")

step("one too many")
refused = metric('braid_rdma_refused_total{reason="connections_max"}')
taken = []


def all_taken():
    taken.extend(until_refused())
    return len(taken) >= CONNECTIONS_MAX - len(mounts)


until(all_taken, "the end of the connections of MOUNT over TCP, which may live on for a moment")
equal(len(taken), CONNECTIONS_MAX - len(mounts), "connections until the refusal")
expect(metric('braid_rdma_refused_total{reason="connections_max"}') > refused, "the refusal was not counted")
for number, at in enumerate(mounts):
    expect(len(read_file(f"{at}/file{number}")) == 600_000, "a connection suffered")

step("when others have ended there is room again")
for request in taken:
    request.close()


def accepted_again():
    request = Request(SECOND, RDMA_PORT, b"what nobody understands")
    request.close()
    return request.accepted


until(accepted_again, "room for a connection where others have ended")
for at in mounts:
    lab.unmount(at)

step("a port that goes down and comes back")


def port_of_the_second():
    """As `braid status` has it: rxe1 is active unless it says otherwise."""
    devices = json.loads(lab.host(f"/proc/{lab.server_pid()}/exe status --json"))["rdma"]["devices"]
    return next(device for device in devices if device["device"] == "rxe1")["ports"]


equal(port_of_the_second(), [{"port": 1, "state": "active"}], "the ports before")
for state, event in (("down", "port_down"), ("up", "port_up")):
    counter = f'braid_rdma_device_events_total{{event="{event}"}}'
    before = metric(counter)
    run("ip", "link", "set", "wire2", state)
    until(lambda counter=counter, before=before: metric(counter) > before, f"the word of the port that went {state}")
    equal(port_of_the_second(), [{"port": 1, "state": "active" if state == "up" else "down"}], f"{state}: the port")
