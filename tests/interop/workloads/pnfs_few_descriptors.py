"""A client has layouts of more files than the metadata server may have descriptors: others open and write theirs all the same."""

from harness.client import Lab, drop_caches, equal, metric, read_file, step, write_file
from harness.layout_client import LayoutClient
from harness.pnfs import LONG_LEASE_S, configuration, events, pattern, start_servers

RUNS = ("ext4,4.2",)
TAKES_S = 10

DESCRIPTORS = 600
FILES = 1000

lab = Lab()
lab.export()
lab.serve(config=configuration(lab, lease_s=LONG_LEASE_S), open_files_max=DESCRIPTORS)
start_servers(lab)

step(f"{FILES} layouts with {DESCRIPTORS} descriptors")
client = LayoutClient("many")
for number in range(FILES):
    client.open(f"many-{number}")
    client.ask_for_layout()
equal(metric('braid_pnfs_layouts_granted_total{iomode="read-write"}'), FILES, "layouts granted")

step("another client writes by a layout of its own, and one of NFS 3 reads it")
mnt = lab.mount()
other = lab.mount(at="/run/v3", version="3")
data = pattern(300_000, "file")
write_file(f"{mnt}/file", data)
drop_caches()
for where in (mnt, other):
    equal(read_file(f"{where}/file"), data, f"the file at {where}")
equal(events(mnt)[1] > 0, True, "whether it wrote by a layout")

step("and so does the first one, by its last layout")
client.layoutget()
equal(client.write(0, b"some bytes"), 0, "status of its write")
drop_caches()
equal(read_file(f"{other}/many-{FILES - 1}"), b"some bytes", "the bytes of its file")
client.close()
