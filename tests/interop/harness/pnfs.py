"""What workloads about pNFS share: a cluster, and where bytes went."""

import hashlib

from harness.client import METRICS, SHORT_LEASE_S, drop_caches, equal, expect, metric, sha256, until, write_file
from harness.mountstats import part_of

SERVERS = 4
UNIT = 64 * 1024


def configuration(lab, export="", cluster=""):
    """Of a metadata server with a striped export; `export` and `cluster`: more lines about these."""
    cluster = f'[pnfs]\nstripe_unit = "{UNIT // 1024}KiB"\nwidth = {SERVERS}\n{cluster}'
    config = lab.config(limits=f"lease_seconds = {SHORT_LEASE_S}")
    return config.replace("[[export]]", f'{cluster}[[export]]\ndata = "striped"\n{export}')


def serve(lab):
    """A metadata server of the export, with SERVERS data servers that it knows."""
    lab.serve(config=configuration(lab))
    start_servers(lab)


def start_servers(lab, count=SERVERS):
    for number in range(1, count + 1):
        lab.data_server(number)
    for number in range(1, count + 1):
        until(lambda: f"name=ds{number} " in lab.log(), f"data server {number} to be known")


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
