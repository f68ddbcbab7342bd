"""Programs that share the processors with what is measured, and tell how fast they are.

Run as a program, with a kind and the path of a file of eight bytes, it is one of them: it does the same again and again, and
counts there how often it has done it.
"""

import mmap
import os
import subprocess
import sys
import time

import machine

ALONE_S = 5  # that they are watched before anything else runs
COUNT_BYTES = 8
SOURCE = b"""#include <map>
#include <string>
std::map<std::string, int> all;
int main() { return all[""]; }
"""


def compute():
    sum(number * number for number in range(20000))


def compile_source():
    subprocess.run(["c++", "-O1", "-x", "c++", "-c", "-o", "/dev/null", "-"], input=SOURCE, check=True)


KINDS = {"compute": compute, "compile": compile_source}


class Neighbours:
    """One for each processor, as long as this is entered. They are alone when it is made."""

    def __init__(self, kind, directory):
        self.paths = [os.path.join(directory, f"neighbour{number}") for number in range(os.cpu_count())]
        self.processes = []
        for path in self.paths:
            with open(path, "wb") as file:
                file.write(bytes(COUNT_BYTES))
            self.processes.append(subprocess.Popen([sys.executable, "-B", os.path.abspath(__file__), kind, path],
                                                   stdin=subprocess.DEVNULL))
        self.begin()
        time.sleep(ALONE_S)
        self.alone = self.rate()
        if self.alone == 0:
            self.end()
            raise machine.MachineError(f"programs that {kind} do not run here")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    def count(self):
        total = 0
        for path in self.paths:
            with open(path, "rb") as file:
                total += int.from_bytes(file.read(COUNT_BYTES), "little")
        return total

    def begin(self):
        self.begun, self.before = time.monotonic(), self.count()

    def rate(self):
        """What they have done since begin(), for each second."""
        return (self.count() - self.before) / (time.monotonic() - self.begun)

    def slower(self):
        """By what share of their rate alone they have been slower since begin()."""
        return 1 - self.rate() / self.alone

    def end(self):
        for process in self.processes:
            process.kill()
            process.wait()


def main():
    kind, path = sys.argv[1:]
    with open(path, "r+b") as file, mmap.mmap(file.fileno(), COUNT_BYTES) as counted:
        number = 0
        while True:
            KINDS[kind]()
            number += 1
            counted[:] = number.to_bytes(COUNT_BYTES, "little")


if __name__ == "__main__":
    main()
