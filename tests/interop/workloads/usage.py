"""Metrics of what is done in each export, and for which client."""

import errno
import os

from harness.client import METRICS, Lab, drop_caches, equal, expect, get, metric, read_file, refused, step, until, write_file

RUNS = ("tmpfs", "tmpfs,4.0", "tmpfs,4.2")

BYTES = 3 << 20
SERVER = f'[server]\nmetrics = "{METRICS}"\n'


def export(path, directory):
    return f'[[export]]\npath = "{path}"\ndirectory = "{lab.path}/{directory}"\nsquash = "none"\n'


def counted(what, name, **labels):
    """Of an export or a client; 0: it has no series."""
    texts = [f'{key}="{value}"' for key, value in labels.items()]
    for line in get(METRICS, "/metrics").splitlines():
        if line.startswith(f"braid_{what}_{name}_total{{") and all(text in line for text in texts):
            return int(float(line.rpartition(" ")[2]))
    return 0


lab = Lab()
lab.export()
lab.host(f"mkdir {lab.path}/a {lab.path}/b")
lab.serve(config=SERVER + export("/a", "a") + export("/b", "b"))
a, b = lab.mount("/a", at="/run/a"), lab.mount("/b", at="/run/b")

step("an export's own")
write_file(f"{a}/file", b"x" * BYTES)
drop_caches()
equal(len(read_file(f"{a}/file")), BYTES, "the bytes of the file")
equal(counted("export", "bytes", export="/a", direction="written"), BYTES, "bytes written to /a")
equal(counted("export", "bytes", export="/a", direction="read"), BYTES, "bytes read from /a")
for kind in ("read", "write", "look"):
    expect(counted("export", "operations", export="/a", kind=kind) > 0, f"no operation of {kind} in /a")
equal(counted("export", "bytes", export="/b", direction="written"), 0, "bytes written to /b")

step("names and errors")
os.mkdir(f"{b}/made")
equal(counted("export", "operations", export="/b", kind="change"), 1, "changes in /b")
before = counted("export", "errors", export="/b")
with refused(errno.ENOENT):
    os.stat(f"{b}/absent")
expect(counted("export", "errors", export="/b") > before, "an error that is not counted")
if lab.version != "3":
    expect(counted("export", "operations", export="/a", kind="state") > 0, "no open is counted")

step("the client is named")
until(lambda: 'client="10.99.13.2"' in get(METRICS, "/metrics"), "the name of the busiest client")
written = counted("client", "bytes", client="10.99.13.2", direction="written")
write_file(f"{b}/file", b"y" * BYTES)
equal(counted("client", "bytes", client="10.99.13.2", direction="written"), written + BYTES, "bytes that the client wrote")
total = written + BYTES + counted("client", "bytes", client="other", direction="written")
equal(total, 2 * BYTES, "bytes that were written by all clients")

step("a reload keeps the figures of what stays")
lab.reload(SERVER + export("/a", "a"))
until(lambda: " reloaded " in lab.log(), "the new exports")
equal(counted("export", "bytes", export="/a", direction="written"), BYTES, "bytes written to /a")
expect('export="/b"' not in "".join(line for line in get(METRICS, "/metrics").splitlines(True) if "braid_export_" in line),
       "figures of an export that is gone")
expect(metric('braid_exports') == 1, "how many exports there are")
