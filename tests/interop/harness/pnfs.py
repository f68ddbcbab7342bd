"""What workloads about pNFS share: a cluster, and where bytes went."""

import hashlib
import json

from harness.client import METRICS, SHORT_LEASE_S, drop_caches, equal, expect, metric, sha256, until, write_file
from harness.constants import DATA_PORT, PORT
from harness.mountstats import part_of

SERVERS = 4
UNIT = 64 * 1024

# A data server whose heartbeats are late by half a lease gets no part of new files, and serves nobody. Who tests neither
# that nor the end of a lease takes this one, so that a busy machine does not come to it.
LONG_LEASE_S = 90


def configuration(lab, export="", cluster="", lease_s=SHORT_LEASE_S):
    """Of a metadata server with a striped export; `export` and `cluster`: more lines about these."""
    cluster = f'[pnfs]\nstripe_unit = "{UNIT // 1024}KiB"\nwidth = {SERVERS}\n{cluster}'
    config = lab.config(limits=f"lease_seconds = {lease_s}")
    return config.replace("[[export]]", f'{cluster}[[export]]\ndata = "striped"\n{export}')


def serve(lab):
    """A metadata server of the export, with SERVERS data servers in contact with it."""
    lab.serve(config=configuration(lab))
    start_servers(lab)


def start_servers(lab, count=SERVERS, how="start"):
    for number in range(1, count + 1):
        lab.data_server(number, how)
    await_contact(lab, count)


def braid(lab, command):
    """What a command of an administrator prints about the metadata server."""
    return lab.host(f"/proc/{lab.server_pid()}/exe {command} --port {PORT}")


def data_server_says(lab, number, command, otherwise=""):
    """What a command of an administrator prints about that data server; `otherwise`: what the shell does when it fails."""
    return lab.host(f"/proc/{lab.server_pid()}/exe {command} --admin /run/braid/{DATA_PORT + number}.sock {otherwise}")


def data_server_report(lab, number):
    """What `braid status` tells of that data server."""
    return json.loads(data_server_says(lab, number, "status --json"))


def await_contact(lab, count=SERVERS):
    """Returns when the metadata server gives each of these data servers its part of a new file, and each serves it."""
    until(lambda: braid(lab, "data-servers").count("in contact") == count, "the data servers to be heard")
    until(lambda: all(data_server_report(lab, number)["data_server"]["contact"] for number in range(1, count + 1)),
          "the data servers to be in contact")


def serve_together(lab, count=SERVERS):
    """A metadata server of the export and that many data servers in one process."""
    lab.serve(more=f"--data-servers {count} --metrics {METRICS}")
    await_servers(count)


def await_servers(count=SERVERS):
    """Returns when the data servers of the metadata server's process may serve."""
    until(lambda: all(metric(f'braid_pnfs_contact{{role="ds{number}"}}') == 1 for number in range(1, count + 1)),
          "the data servers to be in contact")


def pattern(size, seed):
    """Bytes of which no two stripe units are alike."""
    out = bytearray()
    block = hashlib.sha256(seed.encode()).digest()
    while len(out) < size:
        block = hashlib.sha256(block).digest()
        out += block * 128
    return bytes(out[:size])


def events(at):
    """(reads, writes) that this mount sent by a layout."""
    line = next(line for line in part_of(at).splitlines() if line.split()[:1] == ["events:"])
    return tuple(int(word) for word in line.split()[-2:])


def in_band(operation):
    """How often the metadata server has executed that NFSv4 operation since its start."""
    return metric(f'braid_nfs4_operations_total{{operation="{operation}"}}')


def write_and_read(at, name, data):
    """A new file there, which goes straight to the data servers and comes from them."""
    write_file(f"{at}/{name}", data)
    drop_caches()
    equal(sha256(f"{at}/{name}"), hashlib.sha256(data).hexdigest(), f"what is read back of {name}")
    reads, writes = events(at)
    expect(reads > 0 and writes > 0, f"the client sent {reads} reads and {writes} writes by a layout")
    equal((in_band("READ"), in_band("WRITE")), (0, 0), "READ and WRITE at the metadata server")


def blocks_below(lab, directory):
    """Bytes on the disk in the files below that directory, on the server's side."""
    return int(lab.host(f"find {directory} -type f -printf '%b\\n' | awk '{{n += $1}} END {{print n * 512}}'"))


def stored(lab, number):
    """Bytes on the disk in the objects of that server."""
    return blocks_below(lab, lab.objects(number))


def await_removal(lab):
    """Returns when no data server has any byte."""
    until(lambda: all(stored(lab, number) == 0 for number in range(1, SERVERS + 1)), "the objects to go")
