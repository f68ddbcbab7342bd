"""The client is the machine that we run on: a command in it, beside the server."""

import os
import subprocess


class Here:
    """Runs one command, as Machine does in a machine of its own. `output` is the read end of what it prints."""

    def __init__(self, base, command, environment):
        self.base = base
        self.output, writer = os.pipe()
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=writer, stderr=writer, cwd="/run/tmp",
            env={**os.environ, **environment, "INTEROP_CONTROL": os.path.join(base, "control")})
        os.close(writer)

    @property
    def console_path(self):
        """A file with the kernel's messages so far."""
        path = os.path.join(self.base, "console")
        with open(path, "wb") as console:
            subprocess.run(["dmesg"], stdout=console, check=False)
        return path

    def stands_still(self):
        return False

    def status(self):
        """The command's exit status once it has ended, else None."""
        status = self.process.poll()
        return 128 - status if status is not None and status < 0 else status
