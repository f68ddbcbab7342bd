"""An export with a store, and what its server says of that."""

import hashlib

from harness.client import METRICS, equal, metric


class Store:
    """Serves the export of `lab` with a store of the server that seals at once, in place of the server that runs now; with
    `keys`, these lines in [[store]], too; in `directory`, or beside the export. To be mounted again."""

    def __init__(self, lab, keys="", directory=None):
        self.lab = lab
        self.braid = lab.host(f"readlink /proc/{lab.server_pid()}/exe").strip()
        self.directory = directory or lab.path + "-store"
        self.admin = lab.path + "-admin"
        lab.unmount()
        lab.stop()
        lab.host(f"{self.braid} store seal {lab.path} --store {self.directory}")
        self.config = (f'[server]\nmetrics = "{METRICS}"\nadmin_socket = "{self.admin}"\n'
                       f'[[store]]\nname = "s"\ndirectory = "{self.directory}"\nseal_seconds = 0\n{keys}\n'
                       f'[[export]]\npath = "/"\ndirectory = "{lab.path}"\nsquash = "none"\nstore = "s"\n')
        lab.serve(config=self.config)

    def figure(self, name):
        """Of the metric braid_store_NAME."""
        return metric(f'braid_store_{name}{{store="s"}}')

    def command(self, words, otherwise=""):
        """What `braid store WORDS` of the server prints; `otherwise`: what the shell does when it fails."""
        return self.lab.host(f"{self.braid} store {words} --admin {self.admin} {otherwise}")

    def stored_kib(self):
        """What the containers take. One may go meanwhile."""
        return int(self.lab.host(f"du -sk {self.directory}/containers 2>/dev/null || :").split()[0])

    def end(self, wanted):
        """Checks every byte of the store while no server has it, has the tree unsealed, and compares its files, on the
        server's side, with these by name. The export is no longer mounted."""
        self.lab.unmount()
        self.lab.stop()
        self.lab.host(f"{self.braid} check {self.directory} --deep")
        self.lab.start()
        self.command(f"unseal {self.lab.path}")
        for name, data in wanted.items():
            host_sum = self.lab.host(f"sha256sum {self.lab.path}/{name}").split()[0]
            equal(host_sum, hashlib.sha256(bytes(data)).hexdigest(), f"sum of {name} on the server's side")


class SealingAndCollecting:
    """As long as this is entered all files of a store's export are sealed, rested or not, and its garbage is collected, over
    and over, on the server's side. The server may end meanwhile, and come back."""

    def __init__(self, store):
        self.host = store.lab.host
        self.stop, self.ended = (f"{store.lab.path}-{name}" for name in ("stop", "ended"))
        command = f"{store.braid} store %s --admin {store.admin}"
        self.once = f"{command % f'seal {store.lab.path}'}; {command % 'gc'}; sleep 0.1"

    def __enter__(self):
        self.host(f"(while [ ! -e {self.stop} ]; do {self.once}; done; touch {self.ended}) >/dev/null 2>&1 &")

    def __exit__(self, *_):
        self.host(f"touch {self.stop}; while [ ! -e {self.ended} ]; do sleep 0.1; done; rm {self.stop} {self.ended}")
