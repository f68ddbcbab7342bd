"""fio that writes and verifies over and over in a child process, while something else happens to its server."""

import os

from harness.client import Failure, join, read_file, run, start, until, write_file
from harness.mountstats import operations_sent

STOP, DONE = "/run/tmp/stop", "/run/tmp/rounds"


class FioRounds:
    """Rounds of fio with these options below `mnt`; it has to leave with 0 each time."""

    def __init__(self, mnt, options):
        self.mnt = mnt
        self.options = options
        self.seen = 0
        write_file(DONE, b"0")
        self.child = start(self.go_on)

    def go_on(self):
        """At least one whole round begins and ends after stop(): what was left behind is read, too."""
        number, last = 0, False
        while not last:
            last = os.path.exists(STOP)
            run("fio", f"--directory={self.mnt}", "--output=/run/tmp/fio", *self.options)
            number += 1
            write_file(DONE, str(number).encode())

    def await_calls(self, count):
        """Returns after so many READs and WRITEs since the last call of this."""
        until(lambda: self.calls() >= self.seen + count, f"{count} reads and writes")
        self.seen = self.calls()

    def calls(self):
        if os.waitpid(self.child, os.WNOHANG) != (0, 0):
            raise Failure("fio ended early")
        return sum(operations_sent(self.mnt, name) for name in ("READ", "WRITE"))

    def done(self):
        """How many rounds have ended."""
        return int(read_file(DONE))

    def stop(self):
        write_file(STOP, b"x")
        join(self.child, "fio")
